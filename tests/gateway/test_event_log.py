import pytest

from agentmail_gateway import event_log
from agentmail_gateway.gateway import Gateway
from agentmail_gateway.principal import Principal

from .world import World


async def after(world: World, who: Principal, cursor: int, limit: int = 200) -> list[int] | None:
    events = await world.gateway.events_after(who, cursor, limit)
    return None if events is None else [event.id for event in events]


async def test_events_come_in_order_after_the_commit(world: World) -> None:
    for _ in range(3):
        await world.send(world.ada, "bob", "zcode")
    assert [event.id for event in world.events] == [1, 2, 3, 4, 5, 6]
    assert world.gateway.last_event_id() == 6
    assert [event.to for event in world.events] == ["zcode", "bob"] * 3


async def test_a_cursor_resumes_without_a_gap_and_without_others_events(world: World) -> None:
    for _ in range(3):
        await world.send(world.ada, "bob", "zcode")
    assert await after(world, world.bob, 0) == [2, 4, 6]
    assert await after(world, world.bob, 2) == [4, 6]
    assert await after(world, world.bob, 0, limit=2) == [2, 4]
    assert await after(world, world.bob, 6) == []
    assert await after(world, world.pi, 0) == []
    events = await world.gateway.events_after(world.bob, 4)
    assert events == [world.events[5]]


async def test_a_cursor_of_the_future_is_unknown(world: World) -> None:
    assert await after(world, world.bob, 0) == []
    assert await after(world, world.bob, 1) is None
    assert await after(world, world.bob, -1) is None


async def test_events_resume_after_a_restart(world: World) -> None:
    """opencode#25657"""
    await world.send(world.ada, "bob")
    await world.gateway.close()
    gateway = await Gateway.open(world.data, admin="ada", now=world.clock)
    try:
        assert gateway.last_event_id() == 1
        events = await gateway.events_after(world.bob, 0)
        assert events == world.events
        assert await gateway.events_after(world.bob, 2) is None
    finally:
        await gateway.close()


async def test_old_events_are_trimmed_and_a_cursor_before_them_is_too_old(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_log, "_KEEP", 10)
    monkeypatch.setattr(event_log, "_SLACK", 5)
    for _ in range(30):
        await world.send(world.ada, "bob")
    while await world.gateway._core.store.write(event_log.trim_events):
        pass
    kept = await after(world, world.bob, 20)
    assert kept == list(range(21, 31))
    for cursor in (0, 5):
        assert await after(world, world.bob, cursor) is None
    await world.send(world.ada, "bob")
    assert world.gateway.last_event_id() == 31


async def test_a_turn_key_is_told_of_new_mail_only(world: World) -> None:
    claim = await world.claimed()
    await world.turn()
    await world.gateway.cancel(world.ada, claim.turn_id)
    holder = world.holder(claim)
    events = await world.gateway.events_after(holder, 0)
    assert events is not None
    assert {event.type for event in events} == {"new_mail"}
    assert {event.to for event in events} == {"zcode"}
    assert "turn_cancel" in {event.type for event in await world.gateway.events_after(world.zcode, 0) or ()}
