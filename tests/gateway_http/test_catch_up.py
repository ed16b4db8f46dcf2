"""Resuming under every interleaving of commits, announcements and reads: nothing lost, nothing doubled, in order."""

import asyncio
import re
from typing import cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentmail_gateway.events import StoredEvent
from agentmail_gateway.gateway import Gateway
from agentmail_gateway.http import event_stream
from agentmail_gateway.http.attempts import FailedAttempts
from agentmail_gateway.http.authentication import Authenticator, Caller
from agentmail_gateway.http.counters import Counters
from agentmail_gateway.http.event_hub import Hub
from agentmail_gateway.http.event_stream import stream_events
from agentmail_gateway.http.exchange import Message, Request
from agentmail_gateway.http.origins import AllowList
from agentmail_gateway.http.route import Call
from agentmail_gateway.http.settings import HttpSettings, Services
from agentmail_gateway.principal import Principal

from .memory import scope

ADA = Principal("person", "ada")


class Store:
    """Commits become visible to reads at once and are announced to the hub later, as with a writer thread."""

    def __init__(self, read_steps: int) -> None:
        self.events: list[StoredEvent] = []
        self.announced = 0
        self.read_steps = read_steps
        self.hub = Hub(self.last_event_id, self._pushed)

    def last_event_id(self) -> int:
        return len(self.events)

    async def _pushed(self, turns: list[str]) -> None:
        del turns

    def commit(self, to: str) -> None:
        self.events.append(StoredEvent(len(self.events) + 1, to, "new_mail", {}))

    def announce(self) -> None:
        for event in self.events[self.announced : self.announced + 1]:
            self.hub.publish(event.id, event.to, event.type, event.data)
            self.announced += 1

    async def events_after(self, who: Principal, cursor: int, limit: int) -> list[StoredEvent] | None:
        found = [event for event in self.events if event.id > cursor and event.to == who.name][:limit]
        for _ in range(self.read_steps):
            await asyncio.sleep(0)
        return found if cursor <= len(self.events) else None


async def run(store: Store, cursor: int, actions: list[str]) -> list[int]:
    """The ids that a stream resumed after `cursor` is given while `actions` happen."""
    written: list[bytes] = []
    services = Services(
        gateway=cast("Gateway", store),
        hub=store.hub,
        authenticator=cast("Authenticator", FailedAttempts(lambda: 0.0)),
        counters=Counters(),
        settings=HttpSettings(AllowList.of("127.0.0.1")),
    )

    async def receive() -> Message:
        await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        written.append(message.get("body", b""))
        await asyncio.sleep(0)

    request = Request(scope("GET", "/api/v1/events", {"Last-Event-ID": str(cursor)}), receive)
    call = Call(services, request, Caller(ADA, lambda: True))
    stream = asyncio.create_task(stream_events(call, send))
    for action in actions:
        match action:
            case "ada" | "bob":
                store.commit(action)
            case "announce":
                store.announce()
            case _:
                for _ in range(int(action)):
                    await asyncio.sleep(0)
    while store.announced < len(store.events):
        store.announce()
    wanted = [event.id for event in store.events if event.to == "ada" and event.id > cursor]
    for _ in range(40 * len(wanted) + 200):
        await asyncio.sleep(0)
    store.hub.close()
    await asyncio.wait_for(stream, 10)
    return [int(match) for match in re.findall(rb"id: (\d+)\nevent: new_mail", b"".join(written))]


TO = ("ada", "bob")
STEPS = ("2", "9", "90")


@settings(max_examples=300)
@given(
    before=st.lists(st.sampled_from(TO), max_size=8),
    heard=st.integers(0, 8),
    cursor=st.integers(0, 8),
    actions=st.lists(st.sampled_from((*TO, "announce", *STEPS)), max_size=30),
    read_steps=st.sampled_from((0, 1, 4, 25)),
    page=st.integers(1, 5),
)
@example([], 0, 0, ["9", "ada", "announce", "90"], 25, 5).via("announced while the last read was on its way")
@example(["ada"], 0, 0, ["90", "announce"], 0, 5).via("read first, announced afterwards")
def test_a_resumed_stream_says_everything_once_and_in_order(
    before: list[str], heard: int, cursor: int, actions: list[str], read_steps: int, page: int
) -> None:
    store = Store(read_steps)
    for to in before:
        store.commit(to)
    for _ in range(heard):
        store.announce()
    start = min(cursor, len(before))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(event_stream, "BACKLOG_PAGE", page)
        seen = asyncio.run(run(store, start, actions))
    assert seen == [event.id for event in store.events if event.to == "ada" and event.id > start]
