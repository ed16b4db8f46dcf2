"""Following turns: events wake, looking again does when no event comes, a gateway that goes away is waited for."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any, Self

import pytest

from agentmail.errors import NotFinishedError
from agentmail.vendor.event_parser import ServerEvent
from agentmail.vendor.gateway_client import GatewayUnreachable
from agentmail.vendor.sse_client import StreamRefusedError
from agentmail.vendor.wire import ProgressEvent, Turn, TurnState
from agentmail.waiting import Follower

from .mails import turn

TURN = turn().id


class _Stream:
    def __init__(self, events: "asyncio.Queue[ServerEvent]", connected: Callable[[], None], refused: bool) -> None:
        self._events = events
        self._connected = connected
        self._refused = refused

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ServerEvent:
        if self._refused:
            raise StreamRefusedError(403, "no events for you")
        self._connected()
        return await self._events.get()


class _Client:
    """A gateway whose turn goes through `states`, one further at each event."""

    def __init__(self, states: Sequence[TurnState], *, refused: bool = False) -> None:
        self.states = list(states)
        self.refused = refused
        self.away = 0
        self.events: asyncio.Queue[ServerEvent] = asyncio.Queue()

    def event_stream(self, *, connected: Callable[[], None]) -> _Stream:
        return _Stream(self.events, connected, self.refused)

    async def get_turn(self, turn_id: str) -> Turn:
        assert turn_id == TURN
        if self.away:
            self.away -= 1
            raise GatewayUnreachable("it restarts")
        return turn(state=self.states[0])

    def step(self) -> None:
        self.states.pop(0)
        self.tell("turn_state", {"turn_id": TURN, "state": self.states[0]})

    def tell(self, kind: str, data: object) -> None:
        self.events.put_nowait(ServerEvent("1", kind, json.dumps(data)))


class _Seen:
    def __init__(self, then: Callable[[], None] = lambda: None) -> None:
        self.states: list[str] = []
        self.steps: list[str] = []
        self.troubles: list[str] = []
        self._then = then

    def state(self, turn: Turn) -> None:
        self.states.append(turn.state)
        self._then()

    def progress(self, turn: Turn, events: Sequence[ProgressEvent]) -> None:
        self.steps += [event.text for event in events]

    def tick(self) -> None:
        return

    def trouble(self, why: str) -> None:
        self.troubles.append(why)


def _follower(client: Any, seen: _Seen) -> Follower:
    return Follower(client, seen)


async def test_each_state_is_shown_once_and_the_end_ends_the_wait() -> None:
    client = _Client(["queued", "leased", "running", "answered"])
    seen = _Seen(lambda: client.step() if len(client.states) > 1 else None)
    async with _follower(client, seen) as follower:
        ended = await follower.until_done([TURN], 30)
    assert seen.states == ["queued", "leased", "running", "answered"]
    assert [one.state for one in ended] == ["answered"]


async def test_steps_that_come_before_the_turn_is_known_are_shown_too() -> None:
    client = _Client(["running", "answered"])
    seen = _Seen(lambda: client.step() if len(client.states) > 1 else None)
    async with _follower(client, seen) as follower:
        client.tell(
            "turn_progress", {"turn_id": TURN, "events": [{"seq": 1, "at": "", "type": "status", "text": "early"}]}
        )
        client.tell("turn_progress", "nonsense")
        await asyncio.sleep(0)
        await follower.until_done([TURN], 30)
    assert seen.steps == ["early"]


async def test_the_limit_ends_the_wait_and_leaves_the_turn_open() -> None:
    async with _follower(_Client(["running"]), _Seen()) as follower:
        ended = await follower.until_done([TURN], 0.05)
    assert ended[0].state == "running"


async def test_without_any_answer_in_time_that_is_said() -> None:
    client = _Client(["running"])
    client.away = 1000
    async with _follower(client, _Seen()) as follower:
        with pytest.raises(NotFinishedError):
            await follower.until_done([TURN], 0.05)


async def test_a_gateway_that_restarts_is_waited_for() -> None:
    client = _Client(["answered"])
    client.away = 1
    seen = _Seen()
    async with _follower(client, seen) as follower:
        client.tell("reset", {"reason": "restart"})
        ended = await follower.until_done([TURN], 30)
    assert (ended[0].state, seen.troubles) == ("answered", ["it restarts"])


async def test_a_refused_event_stream_does_not_end_the_wait() -> None:
    seen = _Seen()
    async with _follower(_Client(["answered"], refused=True), seen) as follower:
        assert (await follower.until_done([TURN], 30))[0].state == "answered"
