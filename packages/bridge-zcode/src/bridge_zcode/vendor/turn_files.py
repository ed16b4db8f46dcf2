"""A turn's own folder: attachments laid in, files for the answer taken out, and the folder's end.

After a turn its folder is treated as hostile: an agent may have left links, pipes, devices or hard links to files
elsewhere in ``out``. Nothing is followed and nothing is opened that could block; only plain files with a single name
are taken, at most `MOST_FILES` of them.
"""

import contextlib
import mimetypes
import os
import shutil
import stat
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from .attachment_ids import distinct_names
from .plain_text import one_line
from .wire import Attachment

__all__ = ["Found", "TurnFolder", "lay_in", "look_out", "make_folder", "media_type", "open_plain", "remove_folder"]

MOST_FILES = 20
LARGEST_FILE = 25 * 1024 * 1024
LARGEST_TOTAL = 100 * 1024 * 1024
MOST_NAMES = 2000
NOT_FOLLOWED = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
Fetch = Callable[[str, Path, int], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class TurnFolder:
    """The folder of one turn: `inbox` holds the attachments read-only, `outbox` takes files for the answer."""

    path: Path

    @property
    def inbox(self) -> Path:
        return self.path / "in"

    @property
    def outbox(self) -> Path:
        return self.path / "out"


@dataclass(frozen=True, slots=True)
class Found:
    """What a turn left in its outbox: names of `files` to attach, and a line on each thing that is `left` behind."""

    files: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def make_folder(path: Path) -> TurnFolder:
    """A fresh folder for a turn at `path`, for this user only; what lay there before is removed. Raises `OSError`."""
    remove_folder(path)
    folder = TurnFolder(path)
    for part in (path, folder.inbox, folder.outbox):
        part.mkdir(mode=0o700, parents=part is path)
    return folder


async def lay_in(folder: TurnFolder, attachments: Sequence[Attachment], fetch: Fetch) -> tuple[Path, ...]:
    """Put the attachments into the inbox, under safe and distinct names, and make it read-only; their paths.

    `fetch` writes the attachment with an id to a path; the third argument is its size in bytes. Raises what it raises.
    """
    paths = tuple(folder.inbox / name for name in distinct_names([attachment.name for attachment in attachments]))
    for attachment, path in zip(attachments, paths, strict=True):
        await fetch(attachment.id, path, attachment.size)
        path.chmod(0o400)
    folder.inbox.chmod(0o500)
    return paths


def look_out(folder: TurnFolder) -> Found:
    """What is in the outbox now, by name. Never raises for what an agent did to it."""
    files: list[str] = []
    left: list[str] = []
    total = 0
    try:
        with _outbox(folder) as (at, descriptor):
            with os.scandir(descriptor if descriptor is not None else at) as entries:
                names = sorted(entry.name for entry in islice(entries, MOST_NAMES))
            for name in names:
                why, size = _judge(at, name, descriptor)
                if not why and len(files) == MOST_FILES:
                    why = f"only {MOST_FILES} files are attached"
                elif not why and total + size > LARGEST_TOTAL:
                    why = f"more than {LARGEST_TOTAL // 1024**2} MiB in all"
                if why:
                    left.append(f"{one_line(name, 80)} ({why})")
                else:
                    files.append(name)
                    total += size
    except FileNotFoundError:
        return Found()
    except OSError as error:
        return Found((), (f"out ({error.strerror or error})",))
    return Found(tuple(files), tuple(left))


def _judge(at: str, name: str, descriptor: int | None) -> tuple[str, int]:
    """Why the entry is not attached (empty: it is), and its size in bytes."""
    try:
        status = os.lstat(at + name, dir_fd=descriptor)
        name.encode()
    except (OSError, UnicodeEncodeError):
        return "it can't be read", 0
    if stat.S_ISDIR(status.st_mode):
        return "a folder", 0
    if not stat.S_ISREG(status.st_mode):
        return "no plain file", 0
    if status.st_nlink != 1:
        return "the file has another name elsewhere", 0
    if status.st_size > LARGEST_FILE:
        return f"larger than {LARGEST_FILE // 1024**2} MiB", 0
    return "", status.st_size


@contextmanager
def _outbox(folder: TurnFolder) -> Iterator[tuple[str, int | None]]:
    """The outbox, reached without following a link: what to put before a name, and the directory it is relative to."""
    if os.open not in os.supports_dir_fd:
        yield f"{folder.outbox}{os.sep}", None
        return
    flags = os.O_RDONLY | NOT_FOLLOWED | getattr(os, "O_DIRECTORY", 0)
    outer = os.open(folder.path, flags)
    try:
        inner = os.open(folder.outbox.name, flags, dir_fd=outer)
    finally:
        os.close(outer)
    try:
        yield "", inner
    finally:
        os.close(inner)


@contextmanager
def open_plain(folder: TurnFolder, name: str) -> Iterator[BinaryIO]:
    """The outbox file `name` for reading. Raises `OSError` if it is no plain file with a single name any more."""
    with _outbox(folder) as (at, descriptor):
        opened = os.open(at + name, os.O_RDONLY | NOT_FOLLOWED | getattr(os, "O_BINARY", 0), dir_fd=descriptor)
    with os.fdopen(opened, "rb") as file:
        status = os.fstat(opened)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_size > LARGEST_FILE:
            raise OSError(f"{one_line(name, 80)} is no plain file any more")
        yield file


def media_type(name: str) -> str:
    """The media type to send the file `name` with: a guess by its ending, never one that a browser would run."""
    guess = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return "text/plain" if "html" in guess or "javascript" in guess or "xml" in guess else guess


def remove_folder(path: Path) -> None:
    """Remove `path` and all below it, also what an agent made unreadable. Links are removed, not followed."""
    if path.is_symlink() or not path.is_dir():
        with contextlib.suppress(OSError):
            path.unlink()
        return
    for folder, folders, _ in os.walk(path):
        for name in (".", *folders):
            below = Path(folder, name)
            if not below.is_symlink():
                with contextlib.suppress(OSError):
                    below.chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)
