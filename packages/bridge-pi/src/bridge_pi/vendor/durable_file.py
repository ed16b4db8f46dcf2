"""Files that are whole or not there at all, whatever is killed when."""

import contextlib
import os
import tempfile
from pathlib import Path

__all__ = ["replace_file", "sync_folder"]


def replace_file(path: Path, data: bytes) -> None:
    """Put `data` at `path` (mode 0600): after a crash at any point the file is the old one or the new one.

    When this returns, the new one survives a power loss. Raises `OSError`, and then the old one is untouched.
    """
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:60]}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make creations, renames and removals in `folder` survive a power loss (on Windows the system sees to that)."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
