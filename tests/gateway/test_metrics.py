import pytest

from agentmail_gateway.problems import Problem

from .test_sqlite_store import files_no_larger_than
from .world import World


async def test_the_numbers_say_how_the_gateway_does(world: World) -> None:
    await world.turn()
    await world.running()
    assert world.gateway.metrics() == {
        "agents": 2,
        "last_event_id": 4,
        "people": 2,
        "turns_leased": 0,
        "turns_queued": 1,
        "turns_running": 1,
        "writes_waiting": 0,
    }


async def test_a_gateway_is_ready_when_its_store_can_be_written(world: World) -> None:
    await world.gateway.ready()
    with files_no_larger_than(1), pytest.raises(Problem) as caught:
        await world.gateway.ready()
    assert caught.value.code == "unavailable"
    await world.gateway.ready()
