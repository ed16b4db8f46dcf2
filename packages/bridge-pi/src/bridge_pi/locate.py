"""Finds pi and a Node that can run it, and looks whether it has a model."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .vendor import process
from .vendor.discovery import Found, Missing, find_command, is_program, list_folder, parse_version
from .vendor.node_probe import NoNode, find_node, probe_version
from .vendor.settings import Settings, user_home
from .vendor.turn import Finding
from .vendor.wire import Failure

__all__ = ["FLOOR", "NODE_FLOOR", "Installation", "Look", "agent_folder", "keys", "look"]

FLOOR = (1, 0)
NODE_FLOOR = (22, 19)
OWN_ENV = {"PI_OFFLINE": "1", "PI_TELEMETRY": "0", "PI_SKIP_VERSION_CHECK": "1"}
INSTALL = (
    "Install it (npm install -g @earendil-works/pi-coding-agent), or set AGENTMAIL_PI_COMMAND to `node /path/cli.js`."
)
SCRIPT_IN_SHIM = re.compile(r'"\$basedir/([^"]+\.[cm]?js)"')
LIMIT_S = 20.0
SPOKEN = ("--mode", "rpc", "--session-id", "--session-dir", "--tools", "--no-approve", "--no-extensions", "--no-mcp")


@dataclass(frozen=True, slots=True)
class Installation:
    """How to start pi: `command` (absolute), what it needs to see of the disk, folders for PATH."""

    command: tuple[str, ...]
    programs: tuple[Path, ...]
    path: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Look:
    """What was found: `installation` None when pi can't be started, `failure` when a turn can't run."""

    findings: tuple[Finding, ...]
    installation: Installation | None = None
    version: str | None = None
    failure: Failure | None = None


def agent_folder(settings: Settings) -> Path:
    """The folder of the user's own pi configuration."""
    moved = settings.environ.get("PI_CODING_AGENT_DIR", "").strip()
    home = user_home(settings.environ)
    if moved:
        return home / moved[2:] if moved.startswith("~/") else Path(moved).absolute()
    return home / ".pi" / "agent"


def keys(settings: Settings) -> Mapping[str, str]:
    """The variables for pi that ``AGENTMAIL_PI_ENV`` names, with their values (those that are set)."""
    names = re.split(r"[\s,]+", settings.environ.get("AGENTMAIL_PI_ENV", ""))
    return {name: value for name in names if name and (value := settings.environ.get(name))}


async def look(settings: Settings) -> Look:
    """Look at everything. Never raises for what is missing; starts Node and pi for moments, calls no model."""
    environ, home = settings.environ, user_home(settings.environ)
    found = find_command(
        ["pi"],
        environ=environ,
        home=home,
        list_folder=list_folder,
        is_program=is_program,
        command=settings.command,
    )
    if isinstance(found, Missing):
        return _none(Finding(False, "pi", found.why, INSTALL), Failure("cli_missing", f"{found.why}.", INSTALL))
    script, node_named = _script(found)
    if script is None and _is_text(found.path):
        told = f"{found.path} is a script that the bridge can't look into"
        return _none(Finding(False, "pi", told, INSTALL), Failure("cli_missing", f"{told}.", INSTALL))
    findings = [Finding(True, "pi", str(script or found.path))]
    path: tuple[Path, ...] = ()
    if script is None:
        command: tuple[str, ...] = (str(found.path.resolve()), *found.argv[1:])
        programs: tuple[Path, ...] = (_beside(found.path.resolve()),)
    else:
        node = await find_node(environ, home, at_least=NODE_FLOOR, command=node_named)
        if isinstance(node, NoNode):
            mend = "Install Node.js 22.19 or newer, or name one in AGENTMAIL_PI_COMMAND: `/path/node /path/cli.js`."
            finding = Finding(False, "Node.js", node.why, mend)
            return _none(finding, Failure("runtime_too_old", f"{node.why}.", mend), findings)
        findings.append(Finding(True, "Node.js", f"{node.version} at {node.path}"))
        command = (str(node.path), str(script))
        programs = (node.path, _package(script))
        path = (node.path.parent,)
    version, options = await asyncio.gather(
        probe_version([*command, "--version"], environ, home), _help(command, environ, home)
    )
    if isinstance(version, Missing):
        mend = "Run it by hand to see why; reinstall it if need be."
        return _none(Finding(False, "pi's version", version.why, mend), Failure("crashed", version.why, mend), findings)
    if (parse_version(version) or ()) < FLOOR:
        mend = "Update pi to 1.0 or newer."
        finding = Finding(False, "pi's version", f"{version} is older than 1.0", mend)
        return _none(finding, Failure("bad_option", f"pi {version} is older than 1.0.", mend), findings)
    lacking = [word for word in SPOKEN if word not in options]
    if lacking:
        told = f"{found.path} is not the coding agent pi, or another line of it: it knows no {', '.join(lacking)}"
        return _none(
            Finding(False, "pi's version", told, INSTALL), Failure("bad_option", f"{told}.", INSTALL), findings
        )
    findings.append(Finding(True, "pi's version", version))
    search = _search_tool(settings, home)
    if isinstance(search, Path):
        programs, path = (*programs, search), (*path, search.parent)
    else:
        findings.append(search)
    installation = Installation(command, tuple(dict.fromkeys(programs)), tuple(dict.fromkeys(path)))
    models = await _models(installation, settings, home)
    failure = None if models.ok else Failure("not_signed_in", models.found, models.mend)
    return Look((*findings, models), installation, version, failure)


def _none(finding: Finding, failure: Failure, before: list[Finding] | None = None) -> Look:
    return Look((*(before or ()), finding), failure=failure)


def _script(found: Found) -> tuple[Path | None, str | None]:
    """The script for Node behind what was found, and the Node that was named with it."""
    for word in found.argv[1:]:
        if word.endswith((".js", ".mjs", ".cjs")):
            return Path(word).absolute(), str(found.path)
    real = found.path.resolve()
    if real.suffix in (".js", ".mjs", ".cjs"):
        return real, None
    head = _head(real)
    if head.startswith("#!") and "node" in head.split("\n", 1)[0]:
        return real, None
    shim = SCRIPT_IN_SHIM.search(head) if head.startswith("#!") else None
    target = (found.path.parent / shim[1]).resolve() if shim else None
    return (target, None) if target is not None and target.is_file() else (None, None)


def _beside(binary: Path) -> Path:
    """What a compiled pi needs to be seen: its folder if that is one of its own."""
    return binary.parent if (binary.parent / "package.json").is_file() else binary


async def _help(command: tuple[str, ...], environ: Mapping[str, str], home: Path) -> str:
    """What pi says about its options; empty if it says nothing."""
    env = {"PATH": environ.get("PATH", ""), "HOME": str(home), **OWN_ENV}
    try:
        return (await process.capture([*command, "--help"], cwd=Path("/"), env=env, timeout=LIMIT_S)).stdout
    except process.ProcessError:
        return ""


def _head(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(8192).decode("utf-8", "replace")
    except OSError:
        return ""


def _is_text(path: Path) -> bool:
    return _head(path).startswith("#!")


def _package(script: Path) -> Path:
    """The folder that a turn must see for `script` to run: all that npm or pnpm put beside it."""
    real = script.resolve()
    for place in reversed(real.parents):
        if place.name == "node_modules":
            return place
    return next((place for place in real.parents if (place / "package.json").is_file()), real.parent)


def _search_tool(settings: Settings, home: Path) -> Path | Finding:
    """ripgrep, without which pi's ``grep`` fails (it would fetch one, which a turn can't keep)."""
    own = agent_folder(settings) / "bin" / "rg"
    found = find_command(
        ["rg"], environ=settings.environ, home=home, list_folder=list_folder, is_program=is_program, places=(own,)
    )
    if isinstance(found, Found):
        return found.path.resolve()
    return Finding(False, "ripgrep", "rg was not found: pi's grep tool will fail", "Install ripgrep.")


async def _models(installation: Installation, settings: Settings, home: Path) -> Finding:
    """Whether pi has a model to work with, asked as a turn would."""
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), **OWN_ENV, **keys(settings)}
    if settings.environ.get("PI_CODING_AGENT_DIR"):
        env["PI_CODING_AGENT_DIR"] = str(agent_folder(settings))
    mend = "Sign in (start pi, then /login), or set a provider's key and name its variable in AGENTMAIL_PI_ENV."
    argv = [*installation.command, "--no-extensions", "--no-approve", "--list-models"]
    try:
        said = await process.capture(argv, cwd=Path("/"), env=env, timeout=LIMIT_S)
    except process.ProcessError as error:
        return Finding(False, "pi's models", error.message, mend)
    if said.returncode != 0:
        told = (said.stderr or said.stdout).strip().splitlines()[-1:]
        return Finding(False, "pi's models", f"pi could not list them: {' '.join(told)}", mend)
    lines = [line for line in said.stdout.splitlines() if line.strip()]
    if len(lines) < 2 or not lines[0].startswith("provider"):
        return Finding(False, "pi's models", "pi has no model it may use: no login and no key", mend)
    return Finding(True, "pi's models", f"{len(lines) - 1}, among them {'/'.join(lines[1].split()[:2])}")
