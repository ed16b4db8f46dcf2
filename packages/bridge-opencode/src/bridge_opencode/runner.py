"""The runner of the bridge for opencode: what the driver knows of this agent.

One ``opencode serve`` per turn, in the turn's cage. It was chosen over ``opencode acp`` (no port to guard, a cleaner
end) and ``opencode run`` (an answer cut at 64 KiB, opencode#29330; minutes without a word, opencode#40330), because a
tier holds firmer there: rules are given with the session and looked at last, so that no file changes them, a question
of a sub-agent is seen (over ACP it never arrives, opencode#37902), a provider that is tried again is seen too, and the
answer to the prompt is this turn's and no other's. No server outlives its turn or is shared by two.
"""

import json
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from . import logins
from .agent_turn import AgentTurn, Plan, Times
from .locate import Installation, keys, look, own_files
from .outcome import Ended, told
from .turn_mode import rules, unproven
from .vendor import process
from .vendor.cage import Cage, CageError, HomeFile, Needs
from .vendor.settings import Settings
from .vendor.turn import Emit, Finding, Outcome, Readiness, Status, StopSignal, TurnRequest
from .vendor.wire import Enforcement, Failure, Tier

__all__ = ["OpencodeRunner"]

SERVE = ("serve", "--hostname", "127.0.0.1", "--port", "0")
DATA = ".local/share/opencode"
# It changes nothing of itself, sends nothing anywhere, and keeps no second copy of the workspace.
OWN_CONFIG = {"autoupdate": False, "share": "disabled", "snapshot": False}
OWN_ENV = {
    "OPENCODE_CONFIG_CONTENT": json.dumps(OWN_CONFIG),
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_SHARE": "1",
    "OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER": "1",
}
# Below full, no file of the workspace sets up agents, rules, servers or skills (opencode#7136).
NO_PROJECT = {
    "OPENCODE_DISABLE_CLAUDE_CODE": "1",
    "OPENCODE_DISABLE_EXTERNAL_SKILLS": "1",
    "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
}
AGENT = "build"
NO_NETWORK = Failure(
    "bad_option",
    "opencode can't work in a network of its own yet: the bridge talks to it over this machine's loopback.",
    "Set AGENTMAIL_NETWORK=open for bridge-opencode, or write to another agent.",
)


class OpencodeRunner:
    """`now` is the epoch in seconds, `password` makes the word that the server of one turn wants to hear."""

    name = "opencode"
    can_ask = True
    parallel_turns = 2

    def __init__(
        self,
        settings: Settings,
        *,
        times: Times | None = None,
        now: Callable[[], float] = time.time,
        password: Callable[[], str] = lambda: secrets.token_urlsafe(32),
    ):
        self._settings = settings
        self._times = times or Times()
        self._now = now
        self._password = password
        self._cage = Cage(settings)
        self._installation: Installation | None = None

    async def check(self) -> Readiness:
        """Find opencode and its set-up, and prove the sandbox around it."""
        found = await look(self._settings)
        self._installation = found.installation
        needs = self._needs(found.installation, "plan") if found.installation is not None else Needs()
        seen: dict[Tier, Enforcement] = dict(await self._cage.prove(needs))
        why = seen["plan"].why
        if not self._cage.proven:
            seen = {tier: unproven(tier, why) for tier in seen}
        mend = "Install bubblewrap, or allow unprivileged user namespaces on this machine."
        findings = [*found.findings, *self._login_findings(), Finding(self._cage.proven, "sandbox", why, mend)]
        failure = found.failure
        if self._settings.network != "open":
            findings.append(Finding(False, "network", NO_NETWORK.message, NO_NETWORK.next_step))
            failure = failure or NO_NETWORK
        ready = found.installation is not None and failure is None
        return Readiness(ready, tuple(findings), seen, found.version, failure)

    async def run(self, request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        """Run the turn; every process of it is gone when this returns."""
        if self._installation is None:
            readiness = await self.check()
            if self._installation is None:
                return Outcome(failure=readiness.failure)
        found = self._installation
        hidden = tuple(keys(self._settings).values())
        try:
            self._data(request).mkdir(mode=0o700, parents=True, exist_ok=True)
            ended = await self._server(found, request, emit, stop, hidden)
            if ended.silent and stop.reason is None:
                # Now and then it hangs at its start, and not the next time (opencode#38723).
                emit(Status("opencode did not come up, starting it once more"))
                ended = await self._server(found, request, emit, stop, hidden)
        except CageError as error:
            return Outcome(failure=error.failure)
        except process.ProcessError as error:
            return Outcome(failure=error.failure)
        except OSError as error:
            why = f"The turn's folders can't be written: {error.strerror or error}."
            return Outcome(failure=Failure("bridge_error", why, "Look at the bridge's state folder."))
        outcome = told(ended, hidden)
        return replace(outcome, note="\n".join(filter(None, (outcome.note, *self._cage.after(request)))))

    async def _server(
        self, found: Installation, request: TurnRequest, emit: Emit, stop: StopSignal, hidden: tuple[str, ...]
    ) -> Ended:
        """One server from its start until nothing of it is left."""
        environ = self._settings.environ
        password = self._password()
        plan = Plan(
            rules(
                request.tier,
                sandboxed=self._cage.proven,
                places=self._places(request),
                ask=self._settings.ask_tools,
                instead=self._settings.disallowed_tools,
            ),
            environ.get("AGENTMAIL_OPENCODE_AGENT", "").strip() or AGENT,
            environ.get("AGENTMAIL_OPENCODE_MODEL", "").strip(),
            password,
        )
        with self._login(request) as (login, extra):
            needs = self._needs(found, request.tier, request, login, {**extra, "OPENCODE_SERVER_PASSWORD": password})
            launch = self._cage.launch(request, (*found.command, *SERVE), needs)
            child = await process.start(launch.argv, cwd=launch.cwd, env=launch.env, line_limit=1 << 20)
            turn = AgentTurn(request, plan, emit, stop, self._times, now=self._now, secrets=(*hidden, password))
            return await turn.ended(child)

    def _confined(self, tier: Tier) -> bool:
        return self._cage.proven and tier != "full"

    def _data(self, request: TurnRequest) -> Path:
        """opencode's data of this session alone: two of them on one database lock each other out (opencode#33320)."""
        return request.session_dir / "data" / "opencode"

    def _places(self, request: TurnRequest) -> tuple[str, ...]:
        """Folders outside of the workspace that a turn works with: attachments, long outputs, scratch."""
        if not self._confined(request.tier):
            return str(request.turn_dir), str(self._data(request) / "tool-output")
        scratch = () if request.tier == "plan" else ("/tmp",)  # noqa: S108 - the turn's own file system
        return str(request.turn_dir), f"/tmp/home/{DATA}/tool-output", *scratch  # noqa: S108 - likewise

    def _needs(
        self,
        found: Installation,
        tier: Tier,
        request: TurnRequest | None = None,
        login: Path | None = None,
        extra: dict[str, str] | None = None,
    ) -> Needs:
        own = own_files(self._settings)
        env = {**OWN_ENV, **keys(self._settings), **(extra or {})}
        if tier != "full":
            env |= NO_PROJECT
        config = self._settings.environ.get("OPENCODE_CONFIG", "").strip()
        files = [HomeFile(path, f".config/opencode/{path.name}") for path in own.configs]
        files += [HomeFile(own.config / "AGENTS.md", ".config/opencode/AGENTS.md")]
        files += [HomeFile(own.models, ".cache/opencode/models.json")]
        state: tuple[tuple[Path, str], ...] = ()
        if request is not None and self._confined(tier):
            state = ((self._data(request), DATA),)
            if config:
                files.append(HomeFile(Path(config).absolute(), ".config/opencode-extra.json"))
                env["OPENCODE_CONFIG"] = "/tmp/home/.config/opencode-extra.json"  # noqa: S108 - as above
            if login is not None:
                files.append(HomeFile(login, f"{DATA}/auth.json"))
        elif request is not None:
            env |= {name: value for name in ("OPENCODE_CONFIG", "XDG_CONFIG_HOME") if (value := self._environ(name))}
            env["XDG_DATA_HOME"] = str(self._data(request).parent)
        return Needs(found.programs, tuple(files), state, path=found.path, env=env)

    def _environ(self, name: str) -> str:
        return self._settings.environ.get(name, "").strip()

    @contextmanager
    def _login(self, request: TurnRequest) -> Iterator[tuple[Path | None, dict[str, str]]]:
        """The logins of a turn while it runs: a file for a confined one, a variable where its data lies elsewhere."""
        text = self._auth_text()
        try:
            shown = logins.read(text, self._now() * 1000).shown if text is not None else None
        except ValueError:
            shown = None
        if shown is None:
            yield None, {}
            return
        if not self._confined(request.tier):
            yield None, {"OPENCODE_AUTH_CONTENT": shown}
            return
        folder = self._settings.state_dir / "logins"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / f"{request.turn_id}.json"
        path.unlink(missing_ok=True)
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(shown)
            yield path, {}
        finally:
            path.unlink(missing_ok=True)

    def _auth_text(self) -> str | None:
        try:
            return own_files(self._settings).auth.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None

    def _login_findings(self) -> Iterator[Finding]:
        text = self._auth_text()
        try:
            known = logins.read(text, self._now() * 1000) if text else None
        except ValueError:
            mend = "Sign in anew: opencode auth login."
            yield Finding(False, "opencode's logins", "auth.json can't be read", mend)
            return
        if known is None or not known.subscriptions:
            return
        if known.expired:
            over = ", ".join(known.expired)
            mend = "Start opencode once on this machine to renew it. A key in AGENTMAIL_OPENCODE_ENV does not run out."
            yield Finding(False, "opencode's logins", f"the subscription login of {over} has run out", mend)
        else:
            names = ", ".join(known.subscriptions)
            told = f"{names} (a subscription; only opencode itself, outside of mail, renews it)"
            yield Finding(True, "opencode's logins", told)
