"""One owner per data folder, by a lock of the operating system.

The lock ends with the process, however it ends, so nothing stale can block a start (mcp_agent_mail#123, takopi#254).
On POSIX the folder itself is locked: there is no lock file that somebody could delete and so let a second owner in.
What `holder` says is for people only; nobody decides by it.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["DataFolderInUseError", "lock_data_folder", "write_address"]

HOLDER = "holder"
ADDRESS = "address"


class DataFolderInUseError(Exception):
    """Another process owns the data folder; the message names it on one line."""


def _holder(data: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        text = " ".join((data / HOLDER).read_text("utf-8")[:200].split())
        if text:
            return text
    return "another process"


def _replace(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, "utf-8")
    temporary.replace(path)


@contextmanager
def lock_data_folder(data: Path) -> Iterator[None]:
    """Own `data` (an existing folder) until the context ends.

    Raises DataFolderInUseError at once when it is owned, OSError when it can't be locked at all.
    """
    if sys.platform == "win32":
        import msvcrt

        handle = os.open(data / "lock", os.O_RDWR | os.O_CREAT)

        def take() -> None:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

    else:
        import fcntl

        handle = os.open(data, os.O_RDONLY | os.O_DIRECTORY)

        def take() -> None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    try:
        try:
            take()
        except (BlockingIOError, PermissionError):
            raise DataFolderInUseError(
                f"the data folder {data} is in use by {_holder(data)}; stop it or use another --data folder"
            ) from None
        _replace(data / HOLDER, f"process {os.getpid()}\n")
        try:
            yield
        finally:
            with suppress(OSError):
                (data / ADDRESS).unlink(missing_ok=True)
                (data / HOLDER).unlink(missing_ok=True)
    finally:
        os.close(handle)


def write_address(data: Path, url: str) -> None:
    """Tell local clients where this gateway listens: ``<data>/address``, one line, replaced whole."""
    _replace(data / HOLDER, f"process {os.getpid()} at {url}\n")
    _replace(data / ADDRESS, url + "\n")
