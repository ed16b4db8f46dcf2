"""The turns that somebody holds a lease of, in memory: whose key opens what, who watches, and what came last.

A mirror of the store, changed on the event loop after the commit.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from .vendor import wire

__all__ = ["LiveTurn", "LiveTurns", "length_of"]

_PROGRESS_EVENTS: Final = 500
_PROGRESS_BYTES: Final = 256 * 1024


@dataclass(slots=True)
class LiveTurn:
    """One lease; `watchers` are the numbers of the people who see the turn, `digest` the turn key's SHA-256."""

    id: int
    mail: int
    thread: int
    agent: int
    lease: int
    expires: int
    mode: wire.Tier
    workspace: str | None
    digest: bytes
    watchers: tuple[int, ...]
    output_stored: int = 0
    output: int | None = None
    progress: "deque[tuple[int, wire.ProgressEvent]]" = field(default_factory=deque)
    progress_bytes: int = 0

    def keep(self, events: tuple[wire.ProgressEvent, ...]) -> None:
        """Add progress; the oldest goes when there is too much."""
        for event in events:
            size = 100 + 4 * length_of(event)
            self.progress.append((size, event))
            self.progress_bytes += size
        while len(self.progress) > _PROGRESS_EVENTS or self.progress_bytes > _PROGRESS_BYTES:
            size, _ = self.progress.popleft()
            self.progress_bytes -= size


def length_of(event: wire.ProgressEvent) -> int:
    """How many characters the texts of an event have together."""
    return len(event.text) + len(event.at) + len(event.tool or "") + len(event.call_id or "")


class LiveTurns:
    """All leases that are running, by turn and by key."""

    def __init__(self) -> None:
        self._by_id: dict[int, LiveTurn] = {}
        self._by_digest: dict[bytes, LiveTurn] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[LiveTurn]:
        return iter(tuple(self._by_id.values()))

    def get(self, turn: int) -> LiveTurn | None:
        """The lease of the turn, if somebody holds one."""
        return self._by_id.get(turn)

    def of_digest(self, digest: bytes) -> LiveTurn | None:
        """The lease whose turn key has this SHA-256."""
        return self._by_digest.get(digest)

    def put(self, turn: LiveTurn) -> None:
        """A lease was given, in the place of an earlier one."""
        self.end(turn.id)
        self._by_id[turn.id] = turn
        self._by_digest[turn.digest] = turn

    def end(self, turn: int) -> LiveTurn | None:
        """The lease has ended and its key with it; returns what was known."""
        live = self._by_id.pop(turn, None)
        if live is not None:
            self._by_digest.pop(live.digest, None)
        return live
