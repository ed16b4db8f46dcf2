"""One owner per state folder, by a lock of the operating system.

The lock goes with the process, however that ends. What the lock file says is for messages only: whether the process
named there still runs, or another has got its number since, changes nothing (takopi#254, mcp_agent_mail#123).
"""

import contextlib
import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["StateLock", "StateLocked"]

_NAME = "lock"
_LONGEST_NOTE = 200
# A byte far behind the note: Windows lets nobody read a locked one.
_LOCKED_BYTE = 1 << 30


class StateLocked(Exception):  # noqa: N818 - it says what is, as FileExistsError does
    """Another process owns the folder. `holder` is what that process wrote about itself, or empty."""

    def __init__(self, folder: Path, holder: str):
        who = f" by {holder}" if holder else ""
        super().__init__(f"{folder} is in use{who}. Stop that process first, or choose another folder")
        self.folder = folder
        self.holder = holder


class StateLock:
    """The lock on a folder, held until `release`, the end of a ``with`` block, or the end of the process.

    Child programs don't inherit it.
    """

    def __init__(self, folder: Path, descriptor: int):
        self.folder = folder
        self._descriptor: int | None = descriptor

    @classmethod
    def acquire(cls, folder: Path, who: str) -> Self:
        """Lock `folder`, making it (mode 0700) if it is missing, without waiting.

        `who` says in a few words who holds it (``bridge-zcode, process 4711``). Raises `StateLocked` when another
        process, or another lock object of this one, holds it, and `OSError` when the folder can't be used.
        """
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / _NAME
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                if not _lock(descriptor):
                    raise StateLocked(folder, _note(descriptor))
                if _is_at(descriptor, path):
                    os.ftruncate(descriptor, 0)
                    os.lseek(descriptor, 0, os.SEEK_SET)
                    os.write(descriptor, who.encode("utf-8", "replace")[:_LONGEST_NOTE])
                    return cls(folder, descriptor)
            except BaseException:
                os.close(descriptor)
                raise
            # Somebody removed the file between opening and locking it: what was locked is nobody's any more.
            os.close(descriptor)

    def release(self) -> None:
        """Give the folder free. The file stays: removing it would let two others lock two files of the same name."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _note(descriptor: int) -> str:
    with contextlib.suppress(OSError):
        os.lseek(descriptor, 0, os.SEEK_SET)
        text = os.read(descriptor, _LONGEST_NOTE).decode("utf-8", "replace")
        return "".join(character for character in text if character.isprintable()).strip()
    return ""


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> bool:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
