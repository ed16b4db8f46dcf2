"""Files and folders that only their owner can read."""

import os
from pathlib import Path
from typing import BinaryIO

__all__ = ["make_private", "open_private", "private_folder", "sync_folder", "write_private"]


def private_folder(path: Path) -> None:
    """Make `path` with its parents where needed, and close it to everybody else (0700)."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.chmod(0o700)


def make_private(path: Path) -> None:
    """Make an empty file unless there is one, and close it to everybody else (0600)."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    path.chmod(0o600)


def open_private(path: Path) -> BinaryIO:
    """A new file to write to, closed to everybody else (0600). Raises `FileExistsError`."""
    return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o600), "wb")


def write_private(path: Path, text: str) -> None:
    """Replace `path` by a 0600 file that holds `text`, on disk when this returns."""
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    with open_private(new) as file:
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Put the names in the folder `path` on disk, where the system can (Windows has no such call)."""
    if os.name != "nt":
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
