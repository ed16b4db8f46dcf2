"""Finds opencode, and what a turn needs of the user's own set-up of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .vendor.discovery import Found, Missing, find_command, is_program, list_folder, parse_version
from .vendor.node_probe import probe_version
from .vendor.settings import Settings, user_home
from .vendor.turn import Finding
from .vendor.wire import Failure

__all__ = ["Installation", "Look", "OwnFiles", "keys", "look", "misfit", "own_files"]

FLOOR = (1, 18)
NEXT_MAJOR = 2
INSTALL = "Install it: npm install -g opencode-ai, or set AGENTMAIL_OPENCODE_COMMAND"
# The platform's program, in a package of its own beside or below the one that npm was asked for.
PLATFORM_PROGRAM = "opencode-*/bin/opencode"
VERSION_S = 30.0


@dataclass(frozen=True, slots=True)
class Installation:
    """How to start opencode: `command` (absolute), what it needs to see of the disk, folders for PATH."""

    command: tuple[str, ...]
    programs: tuple[Path, ...]
    path: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Look:
    """What was found: `installation` None when opencode can't be started, `failure` when a turn can't run."""

    findings: tuple[Finding, ...]
    installation: Installation | None = None
    version: str | None = None
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class OwnFiles:
    """Where the user's own opencode keeps its configuration, its logins and its list of models."""

    config: Path
    auth: Path
    models: Path

    @property
    def configs(self) -> tuple[Path, ...]:
        """The files of the configuration, as far as they are there."""
        names = ("config.json", "opencode.json", "opencode.jsonc")
        return tuple(path for name in names if (path := self.config / name).is_file())


def own_files(settings: Settings) -> OwnFiles:
    """The places, by the environment where it moves them."""
    environ, home = settings.environ, user_home(settings.environ)

    def base(variable: str, default: str) -> Path:
        return Path(environ.get(variable) or home / default).absolute() / "opencode"

    return OwnFiles(
        base("XDG_CONFIG_HOME", ".config"),
        base("XDG_DATA_HOME", ".local/share") / "auth.json",
        base("XDG_CACHE_HOME", ".cache") / "models.json",
    )


def keys(settings: Settings) -> Mapping[str, str]:
    """The variables for opencode that ``AGENTMAIL_OPENCODE_ENV`` names, with their values (those that are set)."""
    names = re.split(r"[\s,]+", settings.environ.get("AGENTMAIL_OPENCODE_ENV", ""))
    return {name: value for name in names if name and (value := settings.environ.get(name))}


def misfit(version: str) -> str:
    """Why this version of opencode can't be driven; empty when it can. Version 2 has another server and other rules."""
    numbers = parse_version(version)
    if numbers is None:
        return f"its version {version!r} can't be read"
    if numbers[0] >= NEXT_MAJOR:
        return f"version {version} is of the second generation, which has another interface: use the newest 1.x"
    if numbers < FLOOR:
        return f"version {version} is older than {'.'.join(map(str, FLOOR))}: update it"
    return ""


async def look(settings: Settings) -> Look:
    """Look at everything. Never raises for what is missing; starts opencode for its version only, calls no model."""
    environ, home = settings.environ, user_home(settings.environ)
    found = find_command(
        ["opencode"],
        environ=environ,
        home=home,
        list_folder=list_folder,
        is_program=is_program,
        command=settings.command,
        places=(home / ".opencode" / "bin" / "opencode",),
    )
    if isinstance(found, Missing):
        missing = Failure("cli_missing", f"opencode was not found: {found.why}.", f"{INSTALL}.")
        return Look((Finding(False, "opencode", found.why, INSTALL),), failure=missing)
    program = _program(found.path)
    # Even for its version it makes folders in its home, so it gets one.
    trial = settings.state_dir / "opencode"
    trial.mkdir(mode=0o700, parents=True, exist_ok=True)
    version = await probe_version([str(program), *found.argv[1:], "--version"], environ, trial, limit_s=VERSION_S)
    if isinstance(version, Missing):
        broken = Failure("cli_missing", f"opencode does not start: {version.why}.", f"{INSTALL}.")
        return Look((Finding(False, "opencode", version.why, INSTALL),), failure=broken)
    why = misfit(version)
    if why:
        old = Failure("bad_option", f"This opencode does not fit the bridge: {why}.", f"{INSTALL}.")
        return Look((Finding(False, "opencode", f"{program}: {why}", INSTALL),), version=version, failure=old)
    findings = [Finding(True, "opencode", f"{program}, version {version}")]
    programs: tuple[Path, ...] = (program,)
    path: tuple[Path, ...] = ()
    search = find_command(["rg"], environ=environ, home=home, list_folder=list_folder, is_program=is_program)
    if isinstance(search, Found):
        real = search.path.resolve()
        programs, path = (program, real), (real.parent,)
    else:
        told = "rg was not found: opencode's grep and glob tools will fail where it can't fetch one"
        findings.append(Finding(False, "ripgrep", told, "Install ripgrep."))
    login = _login(settings)
    failure = None if login.ok else Failure("not_signed_in", f"{login.found}.", login.mend)
    installation = Installation((str(program), *found.argv[1:]), programs, path)
    return Look((*findings, login), installation, version, failure)


def _program(path: Path) -> Path:
    """The program itself: npm leaves a script before it, which Node would run, or a stub where scripts were off."""
    real = path.resolve()
    if not _is_script(real):
        return real
    for folder in real.parents:
        for place in (folder, folder / "node_modules"):
            for file in sorted(place.glob(PLATFORM_PROGRAM)):
                if is_program(file) and not _is_script(file):
                    return file.resolve()
    return real


def _is_script(path: Path) -> bool:
    """Whether `path` is text of the size of a script: the program has more than 100 MB."""
    try:
        return path.stat().st_size < 1 << 20
    except OSError:
        return False


def _login(settings: Settings) -> Finding:
    """Whether anybody has set opencode up at all; whether that works is seen when the model is asked."""
    own = own_files(settings)
    named = settings.environ.get("AGENTMAIL_OPENCODE_MODEL", "").strip()
    found = [str(path) for path in (own.auth, *own.configs) if path.is_file()] + list(keys(settings))
    if found or named:
        return Finding(True, "opencode's provider", ", ".join(found) or f"the model {named}")
    mend = "Sign in (opencode auth login), set a provider up in opencode.json, or name a key in AGENTMAIL_OPENCODE_ENV"
    return Finding(False, "opencode's provider", "opencode has no login, no configuration and no key", mend)
