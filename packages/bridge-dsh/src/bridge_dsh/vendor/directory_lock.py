"""One turn per directory over all bridges of this machine, by locks of the operating system on the directories.

Two bridges may share a workspace, or one's may lie in the other's. A turn locks its directory for itself, and shares
the locks on all that contain it: so nobody works in it, above it or below it at the same time. The locks are on the
directories themselves and go with the process: there is no lock file that could be left behind (takopi#254,
mcp_agent_mail#123). A file system or a system without such locks gives no protection, and no refusal.
"""

import contextlib
import os
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["DirectoryLock", "lock_directory"]


class DirectoryLock:
    """The lock on a directory, held until `release`, the end of a ``with`` block, or the end of the process."""

    def __init__(self, descriptors: tuple[int, ...]):
        self._descriptors = descriptors

    def release(self) -> None:
        """Give the directory free."""
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def lock_directory(path: Path) -> DirectoryLock | None:
    """Lock the directory with the real path `path`, without waiting; None when another turn works there.

    Within one process every lock counts as another's too.
    """
    descriptors: list[int] = []
    try:
        # The root of the file system is no workspace: others may have their own use for its lock.
        for folder in (path, *path.parents[:-1]):
            descriptor = _lock(folder, alone=folder == path)
            if descriptor is not None:
                descriptors.append(descriptor)
    except BlockingIOError:
        DirectoryLock(tuple(descriptors)).release()
        return None
    return DirectoryLock(tuple(descriptors))


def _lock(folder: Path, *, alone: bool) -> int | None:
    """An open descriptor that holds the lock; None where there can be none. Raises `BlockingIOError` if it is taken."""
    try:
        import fcntl
    except ImportError:
        return None
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError:
        with contextlib.suppress(OSError):
            os.close(descriptor)
        return None
    return descriptor
