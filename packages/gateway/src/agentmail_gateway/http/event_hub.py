"""Who listens to events, and what waits to be written to them.

Promises: an event that is stored reaches every subscriber it is addressed to once and in id order, from the cursor the
subscriber came with; a subscriber that doesn't read is disconnected and resumes by cursor; what waits for one
subscriber is bounded. While a subscriber catches up nothing is queued for it: it reads on from the store until there
is nothing newer, and only then goes live.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

from ..principal import Principal
from .event_text import Frame, comment, frame

__all__ = ["EndReason", "Hub", "Subscriber"]

MAX_WAITING = 1_000
MAX_WAITING_BYTES = 512 * 1024
PING_SLOTS = 12
STALLED_PINGS = 4
EndReason = Literal["closing", "gone", "revoked", "slow"]


class Subscriber:
    """One open stream. Its stream takes frames out; the hub puts them in and never waits."""

    __slots__ = (
        "_bytes",
        "_frames",
        "_waker",
        "abort",
        "end_reason",
        "live",
        "missed",
        "position",
        "stalled",
        "valid",
        "who",
    )

    def __init__(
        self, who: Principal, position: int, *, live: bool, valid: Callable[[], bool], abort: Callable[[], object]
    ) -> None:
        self.who = who
        self.position = position  # the highest stored event that was handed over
        self.live = live
        self.missed = 0  # the newest stored event that passed by while catching up
        self.valid = valid
        self.abort = abort
        self.stalled = 0
        self.end_reason: EndReason | None = None
        self._frames: list[Frame] = []
        self._bytes = 0
        self._waker: asyncio.Future[None] | None = None

    @property
    def waiting(self) -> int:
        """Frames that were not taken yet."""
        return len(self._frames)

    def offer(self, item: Frame) -> None:
        """Queue a frame, or end the subscription when too much waits already."""
        if self.end_reason is not None:
            return
        if item.id:
            if not self.live:
                self.missed = item.id
                return
            if item.id <= self.position:
                return
            self.position = item.id
        if len(self._frames) >= MAX_WAITING or self._bytes + len(item.data) > MAX_WAITING_BYTES:
            self.end("slow")
            return
        self._frames.append(item)
        self._bytes += len(item.data)
        self._wake()

    def end(self, reason: EndReason) -> None:
        """End the stream; a slow reader's connection is cut, since nothing more fits through it."""
        if self.end_reason is None:
            self.end_reason = reason
            self._wake()
            if reason == "slow":
                self._frames.clear()
                self.abort()

    def go_live(self, position: int) -> None:
        """From now on events after `position` are queued."""
        self.position = position
        self.live = True

    def take(self) -> list[Frame]:
        """All frames that wait, oldest first."""
        frames, self._frames, self._bytes, self.stalled = self._frames, [], 0, 0
        return frames

    async def wait(self) -> None:
        """Return when a frame waits or the stream is to end."""
        if not self._frames and self.end_reason is None:
            self._waker = asyncio.get_running_loop().create_future()
            await self._waker

    def _wake(self) -> None:
        if self._waker is not None and not self._waker.done():
            self._waker.set_result(None)


class Hub:
    """Subscribers by the name of their principal.

    `last_id` gives the newest committed event id; `pushed` is told which turns reached their agent.
    """

    def __init__(self, last_id: Callable[[], int], pushed: Callable[[list[str]], Awaitable[None]]) -> None:
        self._last_id = last_id
        self._pushed = pushed
        self._by_name: dict[str, set[Subscriber]] = {}
        self._slots: list[dict[Subscriber, None]] = [{} for _ in range(PING_SLOTS)]
        self._slot_of: dict[Subscriber, int] = {}
        self._turn = 0
        self._published = 0
        self.closing = False
        self.ping_steps = PING_SLOTS
        self.ended: dict[EndReason, int] = {"closing": 0, "gone": 0, "revoked": 0, "slow": 0}

    def __len__(self) -> int:
        return len(self._slot_of)

    @property
    def cursor(self) -> int:
        """The newest stored event that any subscriber can have been handed."""
        return max(self._published, self._last_id())

    @property
    def waiting(self) -> int:
        """Frames that wait, over all subscribers."""
        return sum(subscriber.waiting for subscriber in self._slot_of)

    def add(self, subscriber: Subscriber) -> None:
        """Let a subscriber hear what is published from now on."""
        slot = min(range(PING_SLOTS), key=lambda number: len(self._slots[number]))
        self._slots[slot][subscriber] = None
        self._slot_of[subscriber] = slot
        self._by_name.setdefault(subscriber.who.name, set()).add(subscriber)
        if self.closing:
            subscriber.end("closing")

    def remove(self, subscriber: Subscriber) -> None:
        """Forget a subscriber whose connection ended; twice does nothing."""
        slot = self._slot_of.pop(subscriber, None)
        if slot is None:
            return
        del self._slots[slot][subscriber]
        if subscriber.end_reason is not None:
            self.ended[subscriber.end_reason] += 1
        same_name = self._by_name[subscriber.who.name]
        same_name.discard(subscriber)
        if not same_name:
            del self._by_name[subscriber.who.name]

    def publish(self, event_id: int, to: str, kind: str, data: Mapping[str, object]) -> None:
        """Hand a committed event to the subscribers of `to`; ids come in ascending order."""
        self._published = max(self._published, event_id)
        subscribers = self._by_name.get(to)
        if subscribers:
            item = frame(event_id, kind, data)
            for subscriber in subscribers:
                subscriber.offer(item)

    def publish_live(self, to: str | None, kind: str, data: Mapping[str, object]) -> None:
        """Hand over an event that is not stored; `to` None means everybody."""
        item = None
        for subscriber in self._slot_of if to is None else self._by_name.get(to, ()):
            item = item or frame(0, kind, data)
            subscriber.offer(item)

    def ping(self) -> None:
        """One of `ping_steps`: ask whether the keys of this step's subscribers still hold, and show life to them."""
        item = Frame(comment("ping", self._published)) if self._published else Frame(b": ping\n\n")
        for subscriber in self._slots[self._turn]:
            if not subscriber.valid():
                subscriber.end("revoked")
            elif subscriber.stalled >= STALLED_PINGS:
                subscriber.end("slow")
            else:
                subscriber.stalled += 1
                if not subscriber.waiting:
                    subscriber.offer(item if subscriber.live else Frame(b": ping\n\n"))
        self._turn = (self._turn + 1) % PING_SLOTS

    def recheck(self) -> None:
        """End the streams whose key was revoked; called when a key was."""
        for subscriber in self._slot_of:
            if not subscriber.valid():
                subscriber.end("revoked")

    def close(self) -> None:
        """End every stream, and every one that is still to come."""
        self.closing = True
        for subscriber in self._slot_of:
            subscriber.end("closing")

    async def written(self, subscriber: Subscriber, frames: list[Frame]) -> None:
        """Note that frames were handed to the connection: an agent's turns among them were pushed."""
        if subscriber.who.kind == "agent":
            turns = [item.turn_id for item in frames if item.turn_id is not None]
            if turns:
                await self._pushed(turns)
