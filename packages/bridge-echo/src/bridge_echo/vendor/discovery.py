"""What is there: which agents exist and can take work, and where an agent's program is on this machine.

Everything here is decided from values: the file system is asked through two functions that are passed in.
"""

import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .addressing import normal_name
from .wire import Agent

__all__ = [
    "Found",
    "Missing",
    "child_path",
    "find_agent",
    "find_command",
    "is_program",
    "list_folder",
    "online",
    "parse_version",
    "search_path",
    "version_text",
]

VERSION = re.compile(r"(?<![\w.])v?(\d+(?:\.\d+)+)((?:-[0-9A-Za-z.-]*[0-9A-Za-z])?)")
SYSTEM_FOLDERS = (
    "/usr/local/bin",
    "/opt/homebrew/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "/usr/bin",
    "/bin",
    "/snap/bin",
)
HOME_FOLDERS = (
    ".local/bin",
    "bin",
    ".npm-global/bin",
    ".npm/bin",
    ".bun/bin",
    ".deno/bin",
    ".cargo/bin",
    ".local/share/pnpm",
    ".volta/bin",
    ".asdf/shims",
    ".local/share/mise/shims",
    ".pyenv/shims",
)
MOVED = ("PNPM_HOME", "BUN_INSTALL", "VOLTA_HOME", "ASDF_DATA_DIR", "PYENV_ROOT")
# (variable that moves it, default below home, folder of the versions, folder of programs below one)
VERSION_MANAGERS = (
    ("NVM_DIR", ".nvm", "versions/node", "bin"),
    ("FNM_DIR", ".local/share/fnm", "node-versions", "installation/bin"),
    ("N_PREFIX", "n", "n/versions/node", "bin"),
)


@dataclass(frozen=True, slots=True)
class Found:
    """A program: how to start it, its file, and which rule found it."""

    argv: tuple[str, ...]
    path: Path
    origin: Literal["setting", "place", "path", "folder"]


@dataclass(frozen=True, slots=True)
class Missing:
    """No program: why, in words, and where it was looked for."""

    why: str
    looked: tuple[str, ...]


ListFolder = Callable[[Path], Sequence[str]]
IsProgram = Callable[[Path], bool]


def online(agents: Iterable[Agent]) -> tuple[Agent, ...]:
    """The agents that can take a mail to work on now: online, ready, neither paused nor disabled."""
    return tuple(agent for agent in agents if agent.online and agent.ready and not (agent.paused or agent.disabled))


def find_agent(agents: Iterable[Agent], name: str) -> Agent | None:
    """The agent of that name, however it is written. Raises AddressError for what can't be a name."""
    wanted = normal_name(name)
    return next((agent for agent in agents if agent.name == wanted), None)


def parse_version(text: str) -> tuple[int, ...] | None:
    """The first version number in what a program printed (``v20.19.2``, ``zcode 0.16.9 (build 7)``), as numbers.

    A pre-release's name is left out: (0, 2, 1) for ``0.2.1-rc.2``. None if there is none.
    """
    match = VERSION.search(text)
    return None if match is None else tuple(int(number[:9]) for number in match[1].split("."))


def version_text(text: str) -> str | None:
    """The first version in what a program printed, with a pre-release's name: ``0.2.1-rc.2``."""
    match = VERSION.search(text)
    return None if match is None else match[1] + match[2]


def search_path(environ: Mapping[str, str], home: Path, list_folder: ListFolder) -> tuple[tuple[Path, bool], ...]:
    """Where programs are looked for, in order, each with whether it stands in PATH.

    After PATH come the folders in which people install programs, since a service's PATH is short (kandev#996: systemd
    knows neither ``~/.local/bin`` nor a Node that nvm installed). Entries of PATH that are relative are left out: they
    would mean the workspace.
    """
    in_path = [Path(entry) for entry in environ.get("PATH", "").split(os.pathsep) if Path(entry).is_absolute()]
    moved = [Path(environ[name]) for name in MOVED if environ.get(name)]
    usual = [home / name for name in HOME_FOLDERS]
    usual += [path for folder in moved for path in (folder, folder / "bin", folder / "shims")]
    for variable, default, versions, programs in VERSION_MANAGERS:
        folder = Path(environ.get(variable) or home / default) / versions
        newest_first = sorted(list_folder(folder), key=lambda name: parse_version(name) or (), reverse=True)
        usual += [folder / name / programs for name in newest_first]
    usual += map(Path, SYSTEM_FOLDERS)
    return tuple((path, path in in_path) for path in dict.fromkeys([*in_path, *usual]))


def child_path(environ: Mapping[str, str], home: Path, list_folder: ListFolder, *first: Path) -> str:
    """A PATH for an agent's process: `first`, then PATH, then those usual folders that exist.

    It lets the agent's own tools be found when the bridge runs as a service.
    """
    known = search_path(environ, home, list_folder)
    folders = [*first, *(path for path, in_path in known if in_path or list_folder(path))]
    return os.pathsep.join(dict.fromkeys(str(path) for path in folders if os.pathsep not in str(path)))


def find_command(
    names: Sequence[str],
    *,
    environ: Mapping[str, str],
    home: Path,
    list_folder: ListFolder,
    is_program: IsProgram,
    command: str | None = None,
    places: Sequence[Path] = (),
    fits: Callable[[Path], bool] = lambda _: True,
) -> Found | Missing:
    """Find an agent's program.

    `command` is the explicit setting (a shell-like line): it alone counts if given. Else the install `places` (files),
    then each of `names` in PATH, then in the usual folders. `fits` turns down a file that only has the name.
    """
    folders = search_path(environ, home, list_folder)
    if command is not None and command.strip():
        return _explicit(command, home, [path for path, _ in folders], is_program)
    for place in places:
        if is_program(place) and fits(place):
            return Found((str(place),), place, "place")
    for folder, in_path in folders:
        for name in names:
            path = folder / name
            if is_program(path) and fits(path):
                return Found((str(path),), path, "path" if in_path else "folder")
    looked = tuple(str(path) for path in [*places, *(folder for folder, _ in folders)])
    return Missing(f"{' or '.join(names)} was not found on this machine", looked)


def _explicit(command: str, home: Path, folders: Sequence[Path], is_program: IsProgram) -> Found | Missing:
    try:
        words = shlex.split(command)
    except ValueError as error:
        return Missing(f"the command that is set can't be read ({error}): check its quotes", ())
    first = words[0]
    if first.startswith("~/"):
        first = str(home / first[2:])
    candidates = [Path(first)] if "/" in first else [folder / first for folder in folders]
    for path in candidates:
        if path.is_absolute() and is_program(path):
            return Found((str(path), *words[1:]), path, "setting")
    why = f"the command that is set, {words[0]}, is not a program on this machine"
    if "/" in first and not Path(first).is_absolute():
        why = f"the command that is set, {words[0]}, must be a full path or a name"
    return Missing(why, tuple(map(str, candidates)))


def list_folder(folder: Path) -> Sequence[str]:
    """The names in a folder of this machine; none if it can't be read."""
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return ()


def is_program(path: Path) -> bool:
    """Whether a file of this machine may be run by this user, or is a script for Node."""
    try:
        return path.is_file() and (os.access(path, os.X_OK) or path.suffix in (".cjs", ".mjs", ".js"))
    except OSError:
        return False
