import asyncio
from collections.abc import Callable

import pytest

from agentmail_gateway.gateway import Gateway
from agentmail_gateway.problems import Problem
from agentmail_gateway.store.interface import Tx
from agentmail_gateway.sweeper import Sweeper
from agentmail_gateway.vendor import wire

from .world import World


class Timer:
    """One timer of an event loop, run by hand."""

    def __init__(self) -> None:
        self.seconds: float | None = None
        self.callback: Callable[[], None] = lambda: None

    def __call__(self, seconds: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        self.seconds, self.callback = seconds, callback
        handle = asyncio.get_running_loop().call_later(10**6, callback)
        handle.cancel()
        return handle


@pytest.fixture
def timer() -> Timer:
    return Timer()


@pytest.fixture
async def sweeper(world: World, timer: Timer) -> Sweeper:
    made = Sweeper(world.gateway._core, timer)
    world.gateway._core.wake = made.wake
    made.wake()
    return made


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - the task that is waited for has no other end to hold on to
            await asyncio.sleep(0)


async def test_the_next_moment_is_computed_not_polled_for(world: World, timer: Timer, sweeper: Sweeper) -> None:
    assert (sweeper.next_due(), timer.seconds) == (None, 3600.0)
    claim = await world.running()
    assert timer.seconds == 90.0
    world.clock.forward(60)
    await world.gateway.renew(world.zcode, claim.turn_id, claim.lease)
    assert timer.seconds == 90.0
    await world.gateway.ask_permission(world.zcode, wire.PermissionAsk(claim.turn_id, claim.lease, "bash", "x"))
    assert timer.seconds == 90.0
    await world.gateway.release(
        world.zcode, claim.turn_id, wire.ReleaseBody(claim.lease, "later", "2027-01-15T08:01:30Z")
    )
    assert timer.seconds == 30.0
    await world.gateway.cancel(world.ada, claim.turn_id)
    assert timer.seconds == 3600.0


async def test_a_lease_runs_out_by_itself(world: World, timer: Timer, sweeper: Sweeper) -> None:
    claim = await world.running()
    world.clock.forward(90)
    timer.callback()
    await until(lambda: sweeper._running is None)
    assert world.gateway.authenticate(claim.turn_key) is None
    assert await world.state(claim.turn_id) == "queued"
    told = [event.data for event in world.events_for("zcode", "turn_state")]
    assert told == [{"turn_id": claim.turn_id, "state": "queued"}]
    assert timer.seconds == 3600.0


async def test_a_clock_that_is_set_back_does_not_keep_a_lost_lease_alive(
    world: World, timer: Timer, sweeper: Sweeper
) -> None:
    lost = await world.running()
    world.clock.forward(-7_200)
    other = await world.running()
    assert timer.seconds == 90.0
    world.clock.forward(60)
    await world.gateway.renew(world.zcode, other.turn_id, other.lease)
    assert timer.seconds == 90.0
    for _ in range(2):
        world.clock.forward(90)
        timer.callback()
        await until(lambda: sweeper._running is None)
    assert await world.state(lost.turn_id) == "queued"


async def test_a_machine_that_slept_does_not_lose_the_last_attempt_of_a_turn(
    world: World, timer: Timer, sweeper: Sweeper
) -> None:
    turn = await world.turn()
    for _ in range(3):
        claim = await world.gateway.claim(world.zcode, turn)
        world.clock.forward(90)
        if claim.attempt == 3:
            world.clock.forward(7_200)
        timer.callback()
        await until(lambda: sweeper._running is None)
    assert await world.state(turn) == "leased"
    assert world.gateway.authenticate(claim.turn_key) is not None
    assert not (await world.gateway.list_mails(world.ada)).items
    world.clock.forward(90)
    timer.callback()
    await until(lambda: sweeper._running is None)
    assert await world.state(turn) == "dead"


async def test_a_store_that_can_not_be_written_is_tried_again(
    world: World, timer: Timer, sweeper: Sweeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = await world.running()
    world.clock.forward(90)

    async def full(_job: Callable[[Tx], object]) -> object:
        raise Problem("unavailable", "The disk is full.")

    with monkeypatch.context() as patched:
        patched.setattr(world.gateway._core.store, "write", full)
        timer.callback()
        await until(lambda: timer.seconds == 5.0)
    timer.callback()
    await until(lambda: sweeper._running is None)
    assert await world.state(claim.turn_id) == "queued"


async def test_what_waits_is_known_after_a_restart(world: World) -> None:
    claim = await world.running()
    waiting = await world.running()
    body = wire.ReleaseBody(waiting.lease, "later", "2027-01-15T09:00:00Z")
    await world.gateway.release(world.zcode, waiting.turn_id, body)
    asked = await world.gateway.ask_permission(world.zcode, wire.PermissionAsk(claim.turn_id, claim.lease, "bash", "x"))
    await world.gateway.close()
    gateway = await Gateway.open(world.data, admin="ada", now=world.clock)
    gateway.on_events(world.events.extend)
    try:
        world.events.clear()
        for seconds in (3600, 90):
            world.clock.forward(seconds)
            await gateway.sweep()
        assert (await gateway.get_permission(world.ada, asked.id)).decision == "reject"
        offered = {
            event.data["turn_id"] for event in world.events if event.type == "turn_state" and event.to == "zcode"
        }
        assert offered == {claim.turn_id, waiting.turn_id}
        assert gateway._sweeper.next_due() is None
    finally:
        await gateway.close()


async def test_a_closed_sweeper_sets_no_timer(timer: Timer, sweeper: Sweeper) -> None:
    await sweeper.close()
    timer.seconds = None
    sweeper.wake()
    assert timer.seconds is None
