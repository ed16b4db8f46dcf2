"""Following turns until they end: events where they come, looking again where they don't."""

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

import msgspec

from .errors import NotFinishedError
from .vendor.wire import FINAL_STATES, ProgressEvent, Turn

if TYPE_CHECKING:
    from .vendor.gateway_client import GatewayClient

__all__ = ["Follower", "Shower"]

# Events wake the follower; these bound the harm when a proxy holds them back or the stream is refused.
_LOOK_AGAIN_S = 5.0
_CONNECT_S = 2.0


class Shower(Protocol):
    """Shows what happens while somebody waits."""

    def state(self, turn: Turn) -> None:
        """`turn` has a new state."""

    def progress(self, turn: Turn, events: Sequence[ProgressEvent]) -> None:
        """The agent did something."""

    def tick(self) -> None:
        """Time passed."""

    def trouble(self, why: str) -> None:
        """The gateway does not answer for the moment."""


class _ProgressData(msgspec.Struct):
    turn_id: str
    events: tuple[ProgressEvent, ...] = ()


class Follower:
    """Follows turns of mails that the caller may see; an asynchronous context manager.

    Enter it before the mail is sent, so that no step of a quick turn is missed. A gateway that goes away is waited for.
    """

    def __init__(self, client: "GatewayClient", shower: Shower) -> None:
        self._client = client
        self._shower = shower
        self._turns: dict[str, Turn] = {}
        self._early: list[_ProgressData] = []
        self._wake = asyncio.Event()
        self._connected = asyncio.Event()
        self._reader: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._reader = asyncio.create_task(self._read())
        try:
            async with asyncio.timeout(_CONNECT_S):
                await self._connected.wait()
        except TimeoutError:
            pass
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._reader is not None
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)

    async def _read(self) -> None:
        from .vendor.sse_client import EventTooLargeError, StreamRefusedError

        try:
            async with self._client.event_stream(connected=self._on_connected) as stream:
                async for event in stream:
                    if event.event == "turn_progress":
                        self._on_progress(event.data)
                    elif event.event in {"turn_state", "reset", "new_mail"}:
                        self._wake.set()
        except (StreamRefusedError, EventTooLargeError):
            # No events for this caller: looking again does it.
            self._connected.set()

    def _on_connected(self) -> None:
        self._connected.set()
        self._wake.set()

    def _on_progress(self, data: str) -> None:
        try:
            decoded = msgspec.json.decode(data, type=_ProgressData)
        except msgspec.MsgspecError:
            return
        if (turn := self._turns.get(decoded.turn_id)) is not None:
            self._shower.progress(turn, decoded.events)
        elif len(self._early) < 200:
            self._early.append(decoded)

    async def until_done(self, turn_ids: Sequence[str], limit_s: float | None) -> tuple[Turn, ...]:
        """The turns as they stand when all have ended, or when `limit_s` seconds (None: no limit) are over."""
        try:
            async with asyncio.timeout(limit_s):
                while not await self._look(turn_ids):
                    await self._next_look()
        except TimeoutError:
            if any(turn_id not in self._turns for turn_id in turn_ids):
                raise NotFinishedError("the gateway did not say in time how the turn stands") from None
        return tuple(self._turns[turn_id] for turn_id in turn_ids)

    async def _look(self, turn_ids: Sequence[str]) -> bool:
        from .vendor.gateway_client import GatewayUnreachable

        self._wake.clear()
        for turn_id in turn_ids:
            known = self._turns.get(turn_id)
            if known is not None and known.state in FINAL_STATES:
                continue
            try:
                turn = await self._client.get_turn(turn_id)
            except GatewayUnreachable as error:
                self._shower.trouble(error.cause)
                return False
            self._turns[turn_id] = turn
            if known is None or known.state != turn.state or known.attempt != turn.attempt:
                self._shower.state(turn)
        early, self._early = self._early, []
        for data in early:
            if (turn_of := self._turns.get(data.turn_id)) is not None:
                self._shower.progress(turn_of, data.events)
        return all(self._turns[turn_id].state in FINAL_STATES for turn_id in turn_ids)

    async def _next_look(self) -> None:
        for _ in range(round(_LOOK_AGAIN_S)):
            try:
                async with asyncio.timeout(1.0):
                    await self._wake.wait()
            except TimeoutError:
                self._shower.tick()
            else:
                return
