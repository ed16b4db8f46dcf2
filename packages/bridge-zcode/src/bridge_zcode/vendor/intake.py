"""Which turns wait for this bridge, and which of them may be taken up next. Pure.

Per thread one after the other, per directory one at a time, across directories in parallel: a turn that has to wait
for either is not claimed yet.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .bounded import BoundedDict
from .catchup import Catchup
from .wire import Turn
from .workspace import overlaps

__all__ = ["Intake", "Ticket", "Working"]

MOST_HELD = 256
MOST_REMEMBERED = 4096
_TURN_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


@dataclass(slots=True)
class Ticket:
    """A turn that waits. `directory`: where it would run, as far as that was `looked` up; `due`: not before then."""

    turn_id: str
    thread_id: str | None = None
    workspace: str | None = None
    directory: Path | None = None
    looked: bool = False
    due: float = 0.0


@dataclass(frozen=True, slots=True)
class Working:
    """A turn under way, as far as its thread and directory are known."""

    thread_id: str | None
    directory: Path | None


class Intake:
    """Takes in events and lists, gives out the next turn to claim. Times are seconds of the caller's clock."""

    def __init__(self, catchup: Catchup | None = None):
        self.catchup = Catchup() if catchup is None else catchup
        self._held: list[Ticket] = []
        self._known: BoundedDict[str, tuple[str | None, str | None]] = BoundedDict(MOST_REMEMBERED)

    @property
    def waiting(self) -> int:
        """How many turns wait."""
        return self.catchup.waiting + len(self._held)

    def event(self, event_id: str | None, kind: str, data: Mapping[str, object]) -> bool:
        """An event of the stream; false when it is doubled or unfit, and to be ignored."""
        turn_id, thread_id = data.get("turn_id"), data.get("thread_id")
        if turn_id is not None and not (isinstance(turn_id, str) and _TURN_ID.fullmatch(turn_id)):
            return False
        fresh = self.catchup.event(event_id, kind, data)
        if fresh and isinstance(turn_id, str) and isinstance(thread_id, str):
            self._known[turn_id] = (thread_id, None)
        return fresh

    def page(self, listing: int, turns: Sequence[Turn], *, last: bool) -> None:
        """A page of the list of queued turns that began as `listing`."""
        fit = [turn for turn in turns if _TURN_ID.fullmatch(turn.id)]
        for turn in fit:
            self._known[turn.id] = (turn.thread_id, turn.workspace)
        self.catchup.offer_page(listing, fit, last)

    def next(self, working: Iterable[Working], now: float) -> Ticket | None:
        """The oldest turn that may be taken up beside those under way, or None; it stays held until `take`.

        While it is not known yet where a turn under way works, none is given out.
        """
        while len(self._held) < MOST_HELD and (turn_id := self.catchup.next()) is not None:
            thread_id, workspace = self._known.get(turn_id, (None, None))
            self._held.append(Ticket(turn_id, thread_id, workspace))
        under_way = list(working)
        if any(one.directory is None for one in under_way):
            return None
        return next((ticket for ticket in self._held if ticket.due <= now and _free(ticket, under_way)), None)

    def take(self, ticket: Ticket) -> None:
        """The turn is taken up now."""
        self._held.remove(ticket)

    def put_back(self, ticket: Ticket, *, directory: Path | None = None, due: float = 0.0) -> None:
        """The turn waits after all, for its `directory` or until `due`; it keeps its place before younger ones."""
        if directory is not None:
            ticket.directory, ticket.looked = directory, True
        ticket.due = due
        self._held.insert(0, ticket)

    def settle(self, turn_id: str, *, final: bool) -> None:
        """The turn is no longer in hand; `final`: it has ended."""
        self.catchup.settle(turn_id, final)

    def next_due(self, now: float) -> float | None:
        """Seconds until a turn that waits for its time may be tried, or None."""
        return min((ticket.due - now for ticket in self._held if ticket.due > now), default=None)


def _free(ticket: Ticket, under_way: Iterable[Working]) -> bool:
    for one in under_way:
        if ticket.thread_id is not None and ticket.thread_id == one.thread_id:
            return False
        if ticket.directory is not None and one.directory is not None and overlaps(ticket.directory, one.directory):
            return False
    return True
