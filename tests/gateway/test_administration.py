from collections.abc import Awaitable
from pathlib import Path

import pytest

from agentmail_gateway.gateway import Gateway
from agentmail_gateway.problems import Problem
from agentmail_gateway.vendor import wire

from .world import World, a_world


async def refused(call: Awaitable[object], code: str) -> None:
    with pytest.raises(Problem) as caught:
        await call
    assert caught.value.code == code


async def test_only_administrators_administer(world: World) -> None:
    gateway = world.gateway
    for who in (world.bob, world.zcode, world.holder(await world.claimed())):
        for call in (
            gateway.add_agent(who, "x"),
            gateway.rotate_agent(who, "zcode"),
            gateway.patch_agent(who, "zcode", paused=True),
            gateway.list_people(who),
            gateway.add_person(who, "x"),
            gateway.rotate_person(who, "ada"),
            gateway.patch_person(who, "ada", admin=False),
            gateway.get_trust(who),
            gateway.set_trust(who, "zcode", "full"),
            gateway.get_limits(who),
            gateway.set_limits(who, wire.Limits()),
            gateway.audit(who),
        ):
            await refused(call, "forbidden")
        with pytest.raises(Problem) as caught:
            gateway.export(who)
        assert caught.value.code == "forbidden"


async def test_people_are_listed_and_changed(world: World) -> None:
    await world.gateway.patch_person(world.ada, "bob", display="Robert", admin=True)
    people = (await world.gateway.list_people(world.ada)).items
    assert [(person.name, person.display, person.admin, person.trust) for person in people] == [
        ("ada", "", True, "full"),
        ("bob", "Robert", True, "full"),
    ]
    await refused(world.gateway.patch_person(world.ada, "bob", display="a\u202eb"), "invalid")
    mail = await world.send(world.ada, "bob")
    assert mail.to[0].display == "Robert"


async def test_an_administrator_who_was_made_one_is_one_at_the_next_request(world: World) -> None:
    token = await world.gateway.rotate_person(world.ada, "bob")
    await world.gateway.patch_person(world.ada, "bob", admin=True)
    bob = world.gateway.authenticate(token)
    assert bob is not None
    assert bob.admin
    await world.gateway.patch_person(bob, "ada", admin=False)
    await refused(world.gateway.list_people(world.ada), "forbidden")


@pytest.mark.parametrize("change", [{"admin": False}, {"disabled": True}, {"admin": False, "disabled": True}])
async def test_there_is_always_an_administrator(world: World, change: dict[str, bool]) -> None:
    await refused(world.gateway.patch_person(world.ada, "ada", **change), "conflict")  # type: ignore[arg-type]
    await world.gateway.patch_person(world.ada, "bob", admin=True, disabled=True)
    await refused(world.gateway.patch_person(world.ada, "ada", **change), "conflict")  # type: ignore[arg-type]
    await world.gateway.patch_person(world.ada, "bob", disabled=False)
    await world.gateway.patch_person(world.ada, "ada", **change)  # type: ignore[arg-type]


async def test_what_is_not_there_can_not_be_changed(world: World) -> None:
    gateway = world.gateway
    for call in (
        gateway.patch_agent(world.ada, "nobody", paused=True),
        gateway.patch_agent(world.ada, "bob", paused=True),
        gateway.rotate_agent(world.ada, "bob"),
        gateway.rotate_person(world.ada, "zcode"),
        gateway.patch_person(world.ada, "a b", disabled=True),
        gateway.set_trust(world.ada, "nobody", "full"),
        gateway.set_trust(world.ada, "a b", "full"),
        gateway.set_trust(world.ada, "postmaster", "full"),
    ):
        await refused(call, "not_found")


async def test_a_resumed_agent_is_told_what_it_may_claim(world: World) -> None:
    await world.gateway.patch_agent(world.ada, "zcode", paused=True)
    first = await world.send(world.ada, "zcode")
    await world.turn(in_reply_to=first.id)
    other = await world.turn()
    assert world.events_for("zcode", "turn_state") == []
    agent = await world.gateway.patch_agent(world.ada, "zcode", paused=False)
    assert not agent.paused
    told = [event.data for event in world.events_for("zcode", "turn_state")]
    assert told == [{"turn_id": turn, "state": "queued"} for turn in (first.receipts[0].turn_id, other)]


async def test_changing_nothing_is_nothing(world: World) -> None:
    before = len((await world.gateway.audit(world.ada, limit=200)).items)
    assert (await world.gateway.patch_agent(world.ada, "zcode")).name == "zcode"
    assert (await world.gateway.patch_person(world.ada, "bob")).name == "bob"
    assert len((await world.gateway.audit(world.ada, limit=200)).items) == before


async def test_trust_is_set_and_goes_back_to_the_default(world: World) -> None:
    assert await world.gateway.set_trust(world.ada, "Bob <bob>", "plan") == wire.Trust("bob", "plan")
    trust = (await world.gateway.get_trust(world.ada)).items
    assert trust == (
        wire.Trust("ada", "full", False),
        wire.Trust("bob", "plan"),
        wire.Trust("zcode", "workspace", False),
        wire.Trust("pi", "workspace", False),
    )
    assert await world.gateway.set_trust(world.ada, "bob", None) == wire.Trust("bob", "workspace", False)


async def test_limits_are_set_and_kept(tmp_path: Path) -> None:
    limits = wire.Limits(hops=1, mails_per_hour=2, queue_length=3, attachment_bytes=4, cool_down_s=0.5)
    async with a_world(tmp_path) as world:
        assert await world.gateway.get_limits(world.ada) == wire.Limits()
        assert await world.gateway.set_limits(world.ada, limits) == limits
        assert await world.gateway.get_limits(world.ada) == limits
    gateway = await Gateway.open(tmp_path / "gateway", admin="ada")
    assert await gateway.get_limits(world.ada) == limits
    await gateway.close()


@pytest.mark.parametrize(
    "limits", [wire.Limits(hops=-1), wire.Limits(cool_down_s=float("nan")), wire.Limits(queue_length=10**13)]
)
async def test_a_limit_that_is_none_is_refused(world: World, limits: wire.Limits) -> None:
    await refused(world.gateway.set_limits(world.ada, limits), "invalid")


async def test_every_change_is_on_record_and_no_secret_is(world: World) -> None:
    await world.gateway.patch_agent(world.ada, "pi", max_mode="plan", paused=True)
    await world.gateway.set_trust(world.ada, "bob", "full")
    await world.gateway.rotate_agent(world.ada, "pi")
    await world.gateway.set_limits(world.ada, wire.Limits(hops=9))
    await world.gateway.patch_person(world.ada, "bob", disabled=True)
    entries = (await world.gateway.audit(world.ada, limit=200)).items
    assert [(entry.actor, entry.action, entry.target, entry.detail) for entry in entries][3:] == [
        ("ada", "change agent", "pi", "paused: True, max_mode: plan"),
        ("ada", "set trust", "bob", "full"),
        ("ada", "rotate agent", "pi", ""),
        ("ada", "set limits", "", entries[6].detail),
        ("ada", "change person", "bob", "disabled: True"),
    ]
    assert '"hops":9' in entries[6].detail
    page = await world.gateway.audit(world.ada, limit=2)
    assert [entry.action for entry in page.items] == ["add person", "add agent"]
    assert (await world.gateway.audit(world.ada, limit=2, after=page.next)).items[0].target == "pi"
