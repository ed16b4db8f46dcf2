"""Has this turn been taken up already? A memory on disk that survives restarts, with a bounded size.

It only drops what comes twice (cc-connect#733): the ledger decides what is worked on, so that an entry pushed out by
newer ones can't bring an old mail back (hermes-agent#60637). An entry is (turn, attempt, lease). The lease belongs to
it because a released turn and a retried dead letter come again under an attempt number that was used before; the
ledger's fencing number never comes again.

The file holds one JSON array a line. Its folder must be held by a `StateLock`.
"""

import contextlib
import os
from pathlib import Path
from typing import Self

import msgspec

from .bounded import BoundedSet
from .durable_file import replace_file, sync_folder

__all__ = ["RelayDedup"]

_Entry = tuple[str, int, int]


class RelayDedup:
    """The turns that were taken up, in `path`. Made by `open`; `skipped` counts the lines that could not be read then.

    Keeps at least the last `limit` entries, and the file below twice as many lines.
    """

    def __init__(self, path: Path, limit: int, entries: BoundedSet[_Entry], skipped: int, lines: int):
        self.path = path
        self.skipped = skipped
        self._limit = limit
        self._entries = entries
        self._lines = lines
        self._size = 0
        self._descriptor = -1

    @classmethod
    def open(cls, path: Path, limit: int = 4096) -> Self:
        """Read `path`, or begin it. What can't be read is skipped and taken out of the file. Raises `OSError`."""
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            data = b""
        entries: BoundedSet[_Entry] = BoundedSet(limit)
        skipped = 0
        lines = data.split(b"\n")
        for line in lines:
            try:
                entries.add(msgspec.json.decode(line, type=_Entry))
            except (msgspec.MsgspecError, ValueError):
                skipped += bool(line)
        # A last line without its end was torn by a crash; even where it can be read, the next one must not continue it.
        torn = bool(lines[-1])
        dedup = cls(path, limit, entries, skipped, len(lines) - 1)
        if skipped or torn or len(lines) > 2 * limit or not data:
            dedup._rewrite()
        else:
            dedup._append_to(len(data))
        return dedup

    def taken(self, turn_id: str, attempt: int, lease: int) -> bool:
        """Whether this was taken up before."""
        return (turn_id, attempt, lease) in self._entries

    def take(self, turn_id: str, attempt: int, lease: int) -> bool:
        """Take this up: true the first time, and then it is on disk; false ever after.

        Raises `OSError` when it can't be written; it is not taken up then.
        """
        entry = (turn_id, attempt, lease)
        if entry in self._entries:
            return False
        line = msgspec.json.encode(entry) + b"\n"
        try:
            if os.write(self._descriptor, line) != len(line):
                raise OSError(28, "the disk is full", str(self.path))
            os.fsync(self._descriptor)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            raise
        self._size += len(line)
        self._lines += 1
        self._entries.add(entry)
        if self._lines >= 2 * self._limit:
            self._rewrite()
        return True

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _rewrite(self) -> None:
        """Replace the file by one that holds what is remembered, and nothing else."""
        data = b"".join(msgspec.json.encode(entry) + b"\n" for entry in self._entries)
        replace_file(self.path, data)
        self._lines = len(self._entries)
        self._append_to(len(data))

    def _append_to(self, size: int) -> None:
        self.close()
        self._descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        self._size = size
        sync_folder(self.path.parent)
