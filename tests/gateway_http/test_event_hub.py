"""The hub: bounded queues, once and in order, nobody waits for anybody."""

import asyncio

import pytest

from agentmail_gateway.http.event_hub import MAX_WAITING, MAX_WAITING_BYTES, STALLED_PINGS, Hub, Subscriber
from agentmail_gateway.principal import Principal

ADA = Principal("person", "ada")
ZCODE = Principal("agent", "zcode")


class Told:
    def __init__(self) -> None:
        self.turns: list[list[str]] = []

    async def __call__(self, turns: list[str]) -> None:
        self.turns.append(turns)


def new_hub(told: Told | None = None) -> Hub:
    return Hub(lambda: 0, told or Told())


def subscribe(hub: Hub, who: Principal = ADA, position: int = 0, *, live: bool = True) -> Subscriber:
    cut: list[bool] = []
    subscriber = Subscriber(who, position, live=live, valid=lambda: True, abort=lambda: cut.append(True))
    hub.add(subscriber)
    return subscriber


def ids(subscriber: Subscriber) -> list[int]:
    return [item.id for item in subscriber.take()]


def test_an_event_reaches_everybody_of_that_name_and_nobody_else() -> None:
    hub = new_hub()
    first, second, other = subscribe(hub), subscribe(hub), subscribe(hub, ZCODE)
    hub.publish(1, "ada", "new_mail", {})
    assert (ids(first), ids(second), ids(other)) == ([1], [1], [])


def test_every_subscriber_shares_the_same_bytes() -> None:
    hub = new_hub()
    first, second = subscribe(hub), subscribe(hub)
    hub.publish(1, "ada", "new_mail", {})
    assert first.take()[0] is second.take()[0]


def test_a_live_event_for_all_reaches_all() -> None:
    hub = new_hub()
    first, other = subscribe(hub), subscribe(hub, ZCODE)
    hub.publish_live(None, "agent_state", {"name": "zcode"})
    hub.publish_live("nobody", "turn_progress", {})
    assert (len(first.take()), len(other.take())) == (1, 1)


def test_events_up_to_the_position_are_not_said_again() -> None:
    hub = new_hub()
    subscriber = subscribe(hub, position=3)
    for number in (2, 3, 4):
        hub.publish(number, "ada", "new_mail", {})
    assert ids(subscriber) == [4]


def test_nothing_is_queued_while_a_subscriber_catches_up() -> None:
    hub = new_hub()
    subscriber = subscribe(hub, live=False)
    hub.publish(5, "ada", "new_mail", {})
    assert subscriber.waiting == 0
    assert subscriber.missed == 5
    subscriber.go_live(5)
    hub.publish(6, "ada", "new_mail", {})
    assert ids(subscriber) == [6]


@pytest.mark.parametrize(
    ("payload", "fits"), [({}, MAX_WAITING), ({"text": "x" * 100_000}, MAX_WAITING_BYTES // 100_060)]
)
def test_a_slow_reader_is_cut_off_and_its_queue_thrown_away(payload: dict[str, object], fits: int) -> None:
    hub = new_hub()
    slow, quick = subscribe(hub), subscribe(hub)
    for number in range(1, fits + 1):
        hub.publish(number, "ada", "new_mail", payload)
        quick.take()
    assert (slow.end_reason, slow.waiting) == (None, fits)
    hub.publish(fits + 1, "ada", "new_mail", payload)
    assert (slow.end_reason, slow.waiting) == ("slow", 0)
    assert quick.end_reason is None


def test_a_reader_that_takes_nothing_over_several_pings_is_cut_off() -> None:
    hub = new_hub()
    stuck, alive = subscribe(hub), subscribe(hub)
    for _ in range(hub.ping_steps * (STALLED_PINGS + 1)):
        hub.ping()
        alive.take()
    assert stuck.end_reason == "slow"
    assert alive.end_reason is None


def test_each_subscriber_gets_one_ping_a_round() -> None:
    hub = new_hub()
    subscribers = [subscribe(hub) for _ in range(30)]
    hub.publish(9, "somebody", "new_mail", {})
    for _ in range(hub.ping_steps):
        hub.ping()
    pings = [b"".join(item.data for item in subscriber.take()) for subscriber in subscribers]
    assert set(pings) == {b": ping\nid: 9\n\n"}


def test_a_ping_moves_no_cursor_of_one_that_catches_up() -> None:
    hub = new_hub()
    subscriber = subscribe(hub, live=False)
    hub.publish(9, "somebody", "new_mail", {})
    for _ in range(hub.ping_steps):
        hub.ping()
    assert [item.data for item in subscriber.take()] == [b": ping\n\n"]


@pytest.mark.parametrize("way", ["ping", "recheck"])
def test_a_revoked_key_ends_the_stream(way: str) -> None:
    hub = new_hub()
    keys = {"ada"}
    revoked = Subscriber(ADA, 0, live=True, valid=lambda: "ada" in keys, abort=lambda: None)
    hub.add(revoked)
    other = subscribe(hub, ZCODE)
    keys.clear()
    if way == "recheck":
        hub.recheck()
    else:
        for _ in range(hub.ping_steps):
            hub.ping()
    assert (revoked.end_reason, other.end_reason) == ("revoked", None)


async def test_closing_ends_every_stream_and_those_to_come() -> None:
    hub = new_hub()
    subscriber = subscribe(hub)
    waiting = asyncio.create_task(subscriber.wait())
    await asyncio.sleep(0)
    hub.close()
    await asyncio.wait_for(waiting, 5)
    assert subscriber.end_reason == "closing"
    assert subscribe(hub).end_reason == "closing"


async def test_pushed_turns_are_told_for_agents_only() -> None:
    told = Told()
    hub = new_hub(told)
    agent, person = subscribe(hub, ZCODE), subscribe(hub)
    for number in (1, 2):
        hub.publish(number, "zcode", "new_mail", {"turn_id": f"turn_{number}"})
        hub.publish(number + 10, "ada", "new_mail", {"turn_id": f"turn_{number + 10}"})
    hub.publish(20, "zcode", "turn_state", {"turn_id": "turn_20"})
    for subscriber in (agent, person):
        await hub.written(subscriber, subscriber.take())
    assert told.turns == [["turn_1", "turn_2"]]


def test_a_subscriber_is_forgotten_once() -> None:
    hub = new_hub()
    subscriber = subscribe(hub)
    subscriber.end("gone")
    hub.remove(subscriber)
    hub.remove(subscriber)
    assert len(hub) == 0
    assert hub.ended["gone"] == 1
    hub.publish(1, "ada", "new_mail", {})
    assert subscriber.waiting == 0


def test_the_cursor_is_the_newest_of_what_was_committed_and_what_was_heard_of() -> None:
    hub = Hub(lambda: 5, Told())
    assert hub.cursor == 5
    hub.publish(7, "ada", "new_mail", {})
    assert hub.cursor == 7
