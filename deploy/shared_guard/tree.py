"""What stands in a folder, read without following a symlink and without trusting sizes or time stamps."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = ["Entry", "scan", "symlink_on_the_way"]

# What tools leave behind where they run; git ignores these too.
_CACHES = frozenset({"__pycache__", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache"})
# A symlink that replaces the file between the look and the open must not be followed either.
_READ_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a folder.

    ``data`` is the whole content of a regular file that can be read, else empty. ``detail`` is where a symlink points
    to, or why a file or directory can't be read.
    """

    form: Literal["file", "directory", "symlink", "other", "unreadable"]
    data: bytes = b""
    executable: bool = False
    detail: str = ""


def scan(folder: Path) -> dict[str, Entry]:
    """Every entry below ``folder`` by its path relative to it (``tests/test_wire.py``), sorted.

    Names are those the directory lists, so a rename by case shows on a case-insensitive disk too. Left out are the
    cache folders of tools, and an empty ``py.typed``, which marks a whole package and not a part of it. Raises OSError
    if ``folder`` itself can't be listed.
    """
    found: dict[str, Entry] = {}
    _scan_into(found, os.fspath(folder), "")
    return dict(sorted(found.items()))


def _scan_into(found: dict[str, Entry], folder: str, prefix: str) -> None:
    with os.scandir(folder) as listing:
        items = list(listing)
    for item in items:
        name = prefix + item.name
        info = item.stat(follow_symlinks=False)
        if stat.S_ISDIR(info.st_mode):
            if item.name in _CACHES:
                continue
            found[name] = Entry("directory")
            try:
                _scan_into(found, item.path, name + "/")
            except OSError as error:
                found[name] = Entry("unreadable", detail=error.strerror or str(error))
        elif not (item.name == "py.typed" and stat.S_ISREG(info.st_mode) and info.st_size == 0):
            found[name] = _entry(item.path, info)


def _entry(path: str, info: os.stat_result) -> Entry:
    if stat.S_ISLNK(info.st_mode):
        return Entry("symlink", detail=str(Path(path).readlink()))
    if not stat.S_ISREG(info.st_mode):
        return Entry("other")
    try:
        with os.fdopen(os.open(path, _READ_FLAGS), "rb") as file:
            data = file.read()
    except OSError as error:
        return Entry("unreadable", detail=error.strerror or str(error))
    return Entry("file", data, executable=bool(info.st_mode & 0o111))


def symlink_on_the_way(root: Path, relative: str) -> str | None:
    """The first part of ``relative`` below ``root`` that is a symlink, or None: a copy has to be there itself."""
    path = root
    for part in relative.split("/"):
        path /= part
        if path.is_symlink():
            return path.relative_to(root).as_posix()
    return None
