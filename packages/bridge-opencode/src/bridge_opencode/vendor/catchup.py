"""What was missed while away, and what comes in now: every queued turn once, the oldest first. Pure.

Two sources say that a turn waits: the event stream, which may repeat itself, and the list of queued turns, which is
read at the start and after each reset, in pages that may be older than the events beside them. The list finds what came
while nobody listened (hermes-agent#80925); what reached its end is not offered again because an old page or a repeated
event still shows it (hermes-agent#60637). The ledger has the last word in any case: a turn offered in vain is refused.
"""

import heapq
from collections.abc import Mapping, Sequence

from .bounded import BoundedDict
from .wire import FINAL_STATES, Turn

__all__ = ["Catchup"]


class Catchup:
    """The turns to be tried. Ids are compared as text: they are UUIDv7, so that the oldest is the smallest.

    `needs_list` says that the list of queued turns must be read: at first, and after `reset` or `lost`. `cursor` is the
    id of the last event taken in, for ``Last-Event-ID``. At most `remembered` ended turns are kept in mind.
    """

    def __init__(self, remembered: int = 10_000) -> None:
        self.cursor: str | None = None
        self.needs_list = True
        self._listing = 0
        self._waiting: list[str] = []
        self._known: set[str] = set()
        self._in_hand: set[str] = set()
        self._said_queued: set[str] = set()
        self._listed_in_hand: set[str] = set()
        self._remembered = remembered
        # With the number of the reading that was the last to begin before the turn ended: a later one knows better.
        self._ended: BoundedDict[str, int] = BoundedDict(remembered)

    @property
    def waiting(self) -> int:
        """How many turns wait to be tried."""
        return len(self._known)

    def event(self, event_id: str | None, type: str, data: Mapping[str, object]) -> bool:  # noqa: A002 - SSE's word
        """Take in an event of the stream; false when it was there before and must be ignored altogether.

        `event_id` is None for events that are not stored. ``new_mail``, ``turn_state`` and ``reset`` matter here; all
        others only move the cursor.
        """
        if type == "reset":
            self.reset()
            self.cursor = event_id
            return True
        if event_id is not None:
            if self._is_old(event_id):
                return False
            self.cursor = event_id
        turn_id = data.get("turn_id")
        if isinstance(turn_id, str) and turn_id:
            if type == "new_mail" and turn_id not in self._ended and turn_id not in self._in_hand:
                self._wait(turn_id)
            elif type == "turn_state":
                self._changed(turn_id, data.get("state"))
        return True

    def begin_list(self) -> int:
        """Begin to read the list of queued turns, in place of an earlier reading; the answer goes with each page."""
        self._listing += 1
        return self._listing

    def offer_page(self, listing: int, turns: Sequence[Turn], last: bool) -> None:
        """Take in a page of the list; `last`: none follows. Pages of a reading that ended early don't count."""
        if listing != self._listing:
            return
        for turn in turns:
            if turn.state != "queued":
                continue
            if turn.id in self._in_hand:
                self._listed_in_hand.add(turn.id)
            elif self._ended.get(turn.id, -1) < listing:
                self._ended.pop(turn.id)
                self._wait(turn.id)
        if last:
            self.needs_list = False

    def next(self) -> str | None:
        """The oldest waiting turn, in hand from now until `settle`; None when none waits."""
        while self._waiting:
            turn_id = heapq.heappop(self._waiting)
            if turn_id in self._known:
                self._known.discard(turn_id)
                self._in_hand.add(turn_id)
                return turn_id
        return None

    def settle(self, turn_id: str, final: bool) -> None:
        """The turn is out of hand: it reached a final state (`final`), or is in the queue again or somebody else's.

        If an event said meanwhile that it is queued, it waits again. If a list said so, it does unless it reached its
        end: the list may be older than that.
        """
        self._in_hand.discard(turn_id)
        queued = turn_id in self._said_queued or (turn_id in self._listed_in_hand and not final)
        self._said_queued.discard(turn_id)
        self._listed_in_hand.discard(turn_id)
        if queued:
            self._wait(turn_id)
        elif final:
            self._ended[turn_id] = self._listing

    def lost(self) -> None:
        """Events may have been missed: the list must be read. What is known stays."""
        self.needs_list = True
        self._listing += 1

    def reset(self) -> None:
        """The gateway can't go on from the cursor: forget what waits and what ended, and read the list."""
        self.lost()
        self.cursor = None
        self._waiting.clear()
        self._known.clear()
        self._ended = BoundedDict(self._remembered)

    def _is_old(self, event_id: str) -> bool:
        if self.cursor is None:
            return False
        if event_id.isdecimal() and self.cursor.isdecimal():
            return int(event_id) <= int(self.cursor)
        return event_id == self.cursor

    def _changed(self, turn_id: str, state: object) -> None:
        if state == "queued":
            self._ended.pop(turn_id)
            if turn_id in self._in_hand:
                self._said_queued.add(turn_id)
            else:
                self._wait(turn_id)
        elif state in FINAL_STATES:
            self._known.discard(turn_id)
            self._said_queued.discard(turn_id)
            self._ended[turn_id] = self._listing

    def _wait(self, turn_id: str) -> None:
        if turn_id not in self._known:
            self._known.add(turn_id)
            heapq.heappush(self._waiting, turn_id)
