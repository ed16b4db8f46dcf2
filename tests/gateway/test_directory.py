import asyncio
from collections.abc import Callable

import msgspec
import pytest

from agentmail_gateway.directory import Directory
from agentmail_gateway.gateway import Gateway
from agentmail_gateway.problems import Problem
from agentmail_gateway.vendor import wire

from .world import World, heartbeat


async def entry(world: World, name: str = "zcode") -> wire.Agent:
    return next(agent for agent in (await world.gateway.list_agents(world.bob)).items if agent.name == name)


async def test_an_agent_is_online_while_its_heart_beats(world: World) -> None:
    assert not (await entry(world)).online
    await world.gateway.heartbeat(world.zcode, heartbeat())
    agent = await entry(world)
    assert agent.online
    assert (agent.bridge_version, agent.agent_version, agent.can_ask) == ("1.0", "0.16.9", True)
    assert agent.mode_enforcement == {"plan": wire.Enforcement("sandbox", "seen")}
    assert agent.last_seen == "2027-01-15T08:00:00.000Z"
    world.clock.forward(89.9)
    assert (await entry(world)).online
    world.clock.forward(0.1)
    assert not (await entry(world)).online


async def test_the_ledger_says_how_busy_an_agent_is(world: World) -> None:
    await world.gateway.heartbeat(world.zcode, heartbeat(busy=7, queue=9))
    await world.turn()
    await world.running()
    agent = await entry(world)
    assert (agent.busy, agent.queue) == (1, 1)


async def test_the_lower_cap_counts_the_administrators_or_the_bridges(world: World) -> None:
    await world.gateway.heartbeat(world.zcode, heartbeat(max_mode="plan"))
    assert (await entry(world)).max_mode == "plan"
    await world.gateway.heartbeat(world.zcode, heartbeat(max_mode="full"))
    assert (await entry(world)).max_mode == "full"
    await world.gateway.patch_agent(world.ada, "zcode", max_mode="workspace")
    assert (await entry(world)).max_mode == "workspace"


async def test_what_an_agent_lacks_is_shown(world: World) -> None:
    await world.gateway.heartbeat(world.zcode, heartbeat(ready=False, lacks=("no key",)))
    agent = await entry(world)
    assert (agent.ready, agent.lacks) == (False, ("no key",))


async def test_only_an_agents_own_key_beats(world: World) -> None:
    claim = await world.claimed()
    for who in (world.ada, world.holder(claim)):
        with pytest.raises(Problem) as caught:
            await world.gateway.heartbeat(who, heartbeat())
        assert caught.value.code == "forbidden"
    with pytest.raises(Problem) as caught:
        await world.gateway.heartbeat(world.zcode, heartbeat(lacks=("x" * 70_000,)))
    assert caught.value.code == "too_large"


async def test_what_was_known_is_known_after_a_restart(world: World) -> None:
    await world.gateway.heartbeat(world.zcode, heartbeat())
    await world.gateway.close()
    gateway = await Gateway.open(world.data, admin="ada", now=world.clock)
    try:
        agents = (await gateway.list_agents(world.ada)).items
        assert [(agent.name, agent.online, agent.bridge_version) for agent in agents] == [
            ("zcode", True, "1.0"),
            ("pi", False, None),
        ]
    finally:
        await gateway.close()


async def test_a_disabled_agent_is_shown_to_administrators_only(world: World) -> None:
    await world.gateway.heartbeat(world.pi, heartbeat())
    await world.gateway.patch_agent(world.ada, "pi", disabled=True)
    assert [agent.name for agent in (await world.gateway.list_agents(world.bob)).items] == ["zcode"]
    shown = (await world.gateway.list_agents(world.ada)).items[1]
    assert (shown.disabled, shown.online) == (True, False)


async def test_everybody_is_told_when_an_entry_changes_and_only_then(world: World) -> None:
    await world.gateway.heartbeat(world.pi, heartbeat())
    told = [event for event in world.live if event.type == "agent_state"]
    assert [(event.to, event.data["name"], event.data["online"]) for event in told] == [(None, "pi", True)]


class Timers:
    """An event loop's ``call_later`` by hand."""

    def __init__(self) -> None:
        self.set: list[tuple[float, Callable[[], None]]] = []

    def __call__(self, seconds: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        self.set.append((seconds, callback))
        handle = asyncio.get_running_loop().call_later(10**6, callback)
        handle.cancel()
        return handle

    def run(self, longest: float) -> None:
        due = [timer for timer in self.set if timer[0] <= longest]
        self.set = [timer for timer in self.set if timer[0] > longest]
        for _, callback in due:
            callback()


async def test_changes_within_five_seconds_are_told_together(world: World) -> None:
    timers = Timers()
    directory = Directory(world.gateway._core, timers)
    for busy in range(5):
        await directory.heartbeat(world.pi, heartbeat(agent_version=str(busy)))
    told = [event.data["agent_version"] for event in world.live]
    assert told == ["0"]
    assert 4 < min(seconds for seconds, _ in timers.set) <= 5
    timers.run(5)
    assert [event.data["agent_version"] for event in world.live] == ["0", "4"]
    directory.close()


async def test_everybody_is_told_when_a_bridge_falls_silent(world: World) -> None:
    timers = Timers()
    directory = Directory(world.gateway._core, timers)
    await directory.heartbeat(world.pi, heartbeat())
    world.clock.forward(91)
    timers.run(91)
    timers.run(91)
    assert [event.data["online"] for event in world.live] == [True, False]
    directory.close()


async def test_an_entry_has_no_key(world: World) -> None:
    await world.gateway.heartbeat(world.zcode, heartbeat())
    shown = msgspec.json.encode((await world.gateway.list_agents(world.ada)).items)
    assert b"ama_" not in shown
    assert b"digest" not in shown
