"""``--check``: everything a turn needs, found or missing, and how to mend it. Works with no gateway and no key."""

import os
import sys
from collections.abc import Iterator
from typing import TextIO

from .gateway_client import GatewayClient
from .gateway_errors import GatewayError
from .permission_mode import TIERS
from .readiness import observe
from .settings import Settings, data_home, key_file, user_home
from .turn import Finding, Readiness, Runner
from .workspace import WorkspaceError, WorkspaceSettingsError, workspaces

__all__ = ["report"]

CHECK_S = 60.0
GATEWAY_S = 3.0


async def report(
    settings: Settings, runner: Runner, version: str, *, foreign_code: bool, stream: TextIO | None = None
) -> int:
    """Print what was found; 0 when a turn could run here, else 1.

    The key, the gateway and the user are told too but don't decide: they may come later than the agent.
    """
    out = stream or sys.stdout
    readiness = await observe(runner, CHECK_S)
    own = [*_places(settings)]
    around = [*_user(settings, foreign_code=foreign_code), *await _connection(settings)]
    print(f"bridge-{settings.agent} {version}, agent {settings.agent_name}", file=out)
    for finding in (*readiness.findings, *own):
        print(_line("ok" if finding.ok else "missing", finding), file=out)
    for finding in around:
        print(_line("ok" if finding.ok else "later", finding), file=out)
    print(f"tiers (cap of this bridge: {settings.max_mode})", file=out)
    for line in _tiers(readiness):
        print(line, file=out)
    fit = readiness.ready and all(finding.ok for finding in own)
    print("ready: turns can run" if fit else "not ready: mail gets a failure reply that says what is missing", file=out)
    return 0 if fit else 1


def _line(word: str, finding: Finding) -> str:
    mend = f"\n           -> {finding.mend}" if finding.mend and not finding.ok else ""
    return f"  {word:8} {finding.what}: {finding.found}{mend}"


def _tiers(readiness: Readiness) -> Iterator[str]:
    for tier in TIERS:
        seen = readiness.enforcement.get(tier)
        if seen is not None:
            yield f"  {tier:10} {seen.level:9} {seen.why}"
        elif tier == "full":
            yield f"  {tier:10} {'-':9} whatever the user of this bridge may do"
        else:
            yield f"  {tier:10} {'advisory':9} nothing was seen to enforce it"


def _places(settings: Settings) -> Iterator[Finding]:
    try:
        places = workspaces(
            settings.workspaces,
            home=user_home(settings.environ),
            state_dir=settings.state_dir,
            private=(data_home(settings.environ),),
        )
    except WorkspaceSettingsError as error:
        yield Finding(False, "workspaces", str(error), "Correct AGENTMAIL_WORKSPACES")
        return
    for alias, path in places.roots:
        if path.is_relative_to(settings.state_dir.resolve() / "workspaces"):
            yield Finding(True, f"workspace {alias}", f"{path} (made at start)")
            continue
        try:
            places.resolve(alias)
        except WorkspaceError as error:
            yield Finding(False, f"workspace {alias}", error.message, f"Make the directory {path}")
        else:
            yield Finding(True, f"workspace {alias}", str(path))


def _user(settings: Settings, *, foreign_code: bool) -> Iterator[Finding]:
    if not foreign_code or not hasattr(os, "geteuid") or os.geteuid() != 0:
        return
    if settings.allow_root:
        yield Finding(True, "user", "root, allowed by --allow-root: what the tiers can't prevent, root can do")
    else:
        yield Finding(False, "user", "root: the bridge will not start", "Use another user, or --allow-root")


async def _connection(settings: Settings) -> tuple[Finding, ...]:
    """The key and the gateway, with one try."""
    key = Finding(True, "key", "given") if settings.credential is not None else _no_key(settings)
    url = settings.gateway_url
    try:
        client = GatewayClient(url, settings.credential, timeout=GATEWAY_S, attempts=1)
    except ValueError as error:
        return key, Finding(False, "gateway", str(error), "Correct AGENTMAIL_GATEWAY_URL or the key")
    async with client:
        try:
            if settings.credential is None:
                await client.health()
                return key, Finding(True, "gateway", f"answers at {url}")
            who = await client.whoami()
        except GatewayError as error:
            return key, Finding(False, "gateway", str(error))
    if (who.kind, who.name) != ("agent", settings.agent_name):
        found = f"{url} knows this key as the {who.kind} {who.name}, not as the agent {settings.agent_name}"
        return key, Finding(False, "gateway", found, "Set AGENTMAIL_AGENT_NAME, or use the right key")
    return key, Finding(True, "gateway", f"{url} knows this bridge as {who.name}")


def _no_key(settings: Settings) -> Finding:
    name = settings.agent_name
    found = f"none in AGENTMAIL_AGENT_KEY, AGENTMAIL_AGENT_KEY_FILE or {key_file(settings.environ, name)}"
    return Finding(False, "key", found, f"`agentmail agent add {name}` prints one")
