"""What a workspace holds that ZCode obeys before any tool is asked: ``.env`` and project configuration.

Read before each turn, because the files may have come with the last one. Files of the person's own (in the home
directory itself) are not the workspace's and are left alone.
"""

import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Obeyed", "dotenv_names", "look"]

LARGEST_FILE = 1 << 20
MOST_NAMES = 2_000
MOST_PARENTS = 64
# In ZCode's project configuration these can't start a program or move a request. Hooks need trust that a person
# recorded; permission rules have no effect in the modes that are used here.
_HARMLESS_KEYS = frozenset({"$schema", "permission", "hooks", "locale"})
# Each name that dotenv could take, and more: a run of its key characters before `=` or `:`.
_NAME = re.compile(r"([A-Za-z0-9_.\-]+)[\s\ufeff]*[=:]")


@dataclass(frozen=True, slots=True)
class Obeyed:
    """What was found.

    `names`: what the nearest ``.env`` may set. `dangers`: one line per thing that starts programs or moves requests,
    naming its file; a turn in `plan` or `workspace` can't be kept in its tier with one of them.
    """

    names: tuple[str, ...] = ()
    dangers: tuple[str, ...] = ()


def look(workspace: Path, home: Path) -> Obeyed:
    """Look at `workspace` (a real path) and upwards. Never raises: what can't be read is a danger."""
    names, dangers = _dotenv(workspace)
    return Obeyed(names, (*dangers, *_project_configuration(workspace, home)))


def _upwards(folder: Path) -> Iterator[Path]:
    yield folder
    yield from list(folder.parents)[:MOST_PARENTS]


def _read(path: Path) -> str | None:
    """The text of a plain file of fair size, None if it is not to be had. A pipe does not block it."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_FILE:
                return None
            return file.read(LARGEST_FILE).decode("utf-8", "replace")
    except OSError:
        return None


def _dotenv(workspace: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    for folder in _upwards(workspace):
        path = folder / ".env"
        if path.is_file():
            text = _read(path)
            names = () if text is None else dotenv_names(text)
            if text is None or len(names) > MOST_NAMES:
                return (), (f"{path} can't be read, is larger than 1 MiB or sets more than {MOST_NAMES} names",)
            return names, ()
    return (), ()


def dotenv_names(text: str) -> tuple[str, ...]:
    """At least every name that dotenv would take from `text`; each once, in order."""
    return tuple(dict.fromkeys(found.group(1) for found in _NAME.finditer(text)))


def _project_configuration(workspace: Path, home: Path) -> Iterator[str]:
    for folder in _upwards(workspace):
        if folder != home or folder == workspace:
            yield from _dangers_in(folder)
        if (folder / ".git").exists():
            return


def _dangers_in(folder: Path) -> Iterator[str]:
    for path in (folder / "zcode.json", folder / ".zcode" / "config.json"):
        if path.is_symlink() or path.exists():
            configuration = _object(path)
            if configuration is None:
                yield f"{path} can't be read as JSON"
            elif keys := sorted(set(configuration) - _HARMLESS_KEYS):
                yield f"{path} sets {', '.join(keys[:5])}"
    path = folder / ".agents" / "mcp.json"
    if path.is_symlink() or path.exists():
        configuration = _object(path)
        if configuration is None:
            yield f"{path} can't be read as JSON"
        elif configuration.get("mcpServers") or configuration.get("mcp"):
            yield f"{path} starts MCP servers"


def _object(path: Path) -> dict[str, object] | None:
    text = _read(path)
    if text is None:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
