import pytest

from agentmail_gateway.gateway import Gateway
from agentmail_gateway.problems import Problem
from agentmail_gateway.vendor import wire

from .world import World


async def dead(world: World, **fields: object) -> str:
    turn = await world.turn(**fields)  # type: ignore[arg-type]
    for _ in range(3):
        await world.gateway.claim(world.zcode, turn)
        await world.expire()
    return turn


async def refused(call: object, code: str) -> None:
    with pytest.raises(Problem) as caught:
        await call  # type: ignore[misc]
    assert caught.value.code == code


async def test_a_queued_turn_is_cancelled_at_once(world: World) -> None:
    turn = await world.turn()
    assert (await world.gateway.cancel(world.ada, turn)).state == "cancelled"
    assert world.events_for("zcode", "turn_cancel") == []
    await refused(world.gateway.cancel(world.ada, turn), "turn_final")


async def test_a_running_turn_is_cancelled_through_its_bridge(world: World) -> None:
    claim = await world.running()
    for _ in range(2):
        turn = await world.gateway.cancel(world.ada, claim.turn_id)
        assert (turn.state, turn.cancel_requested) == ("running", True)
    assert [event.data for event in world.events_for("zcode", "turn_cancel")] == [{"turn_id": claim.turn_id}]
    noted = [entry.action for entry in (await world.gateway.audit(world.ada)).items]
    assert noted.count("cancel turn") == 1
    assert (await world.gateway.renew(world.zcode, claim.turn_id, claim.lease)).cancel_requested
    body = wire.FinishBody(claim.lease, "cancelled")
    assert (await world.gateway.finish(world.zcode, claim.turn_id, body)).state == "cancelled"


async def test_a_cancelled_turn_whose_bridge_is_gone_ends_with_its_lease(world: World) -> None:
    claim = await world.running()
    await world.gateway.cancel(world.ada, claim.turn_id)
    await world.expire()
    assert await world.state(claim.turn_id) == "cancelled"
    body = wire.FinishBody(claim.lease, "cancelled")
    assert (await world.gateway.finish(world.zcode, claim.turn_id, body)).state == "cancelled"


async def test_a_bridge_that_is_only_late_hears_of_the_cancel(world: World) -> None:
    claim = await world.running()
    await world.expire()
    await world.gateway.cancel(world.ada, claim.turn_id)
    assert len(world.events_for("zcode", "turn_cancel")) == 1
    await refused(world.gateway.renew(world.zcode, claim.turn_id, claim.lease), "lease_stale")


async def test_the_sender_and_administrators_cancel_others_do_not(world: World) -> None:
    mail = await world.send(world.bob, "zcode", cc=("ada",))
    turn = mail.receipts[0].turn_id
    await refused(world.gateway.cancel(world.zcode, turn), "forbidden")
    await refused(world.gateway.cancel(world.pi, turn), "not_found")
    assert (await world.gateway.cancel(world.bob, turn)).state == "cancelled"
    assert (await world.gateway.cancel(world.ada, await world.turn(by=world.bob))).state == "cancelled"
    copied = (await world.send(world.ada, "zcode", "bob")).receipts[0].turn_id
    await refused(world.gateway.cancel(world.bob, copied), "forbidden")


async def test_a_turn_key_controls_no_turn_of_others(world: World) -> None:
    claim = await world.claimed()
    holder = world.holder(claim)
    await refused(world.gateway.cancel(holder, claim.turn_id), "forbidden")
    await refused(world.gateway.cancel(holder, await world.turn()), "not_found")


async def test_after_three_lost_tries_the_sender_is_told_once(world: World) -> None:
    turn = await dead(world, subject="Do it")
    notices = (await world.gateway.list_mails(world.ada)).items
    assert len(notices) == 1
    assert (notices[0].from_.kind, notices[0].auto_submitted) == ("system", "auto-generated")
    assert turn in notices[0].body
    assert [event.data["state"] for event in world.events_for("ada", "turn_state")][-1] == "dead"
    assert [each.id for each in (await world.gateway.list_turns(world.ada, states=["dead"])).items] == [turn]
    await world.gateway.sweep()
    assert len((await world.gateway.list_mails(world.ada)).items) == 1


async def test_a_dead_turn_of_an_agents_mail_informs_and_starts_nothing(world: World) -> None:
    await dead(world, by=world.pi)
    assert [mail.auto_submitted for mail in (await world.gateway.list_mails(world.pi)).items] == ["auto-generated"]
    assert (await world.gateway.list_turns(world.pi)).items == ()


async def test_a_dead_turn_is_retried_from_the_start(world: World) -> None:
    turn = await dead(world)
    world.events.clear()
    again = await world.gateway.retry(world.ada, turn)
    assert (again.state, again.attempt, again.finished_at) == ("queued", 0, None)
    assert [event.data for event in world.events_for("zcode", "turn_state")] == [{"turn_id": turn, "state": "queued"}]
    claim = await world.gateway.claim(world.zcode, turn)
    assert (claim.attempt, claim.lease) == (1, 4)
    assert (await world.answer(claim)).state == "answered"
    await refused(world.gateway.retry(world.ada, turn), "conflict")


async def test_a_dead_turn_is_deleted_and_no_other(world: World) -> None:
    turn = await dead(world, by=world.bob)
    await refused(world.gateway.delete_turn(world.zcode, turn), "forbidden")
    await world.gateway.delete_turn(world.bob, turn)
    await refused(world.gateway.get_turn(world.bob, turn), "not_found")
    await refused(world.gateway.delete_turn(world.bob, turn), "not_found")
    await refused(world.gateway.delete_turn(world.ada, await world.turn()), "conflict")


async def test_the_next_turn_goes_on_after_one_is_dead(world: World) -> None:
    first = await world.send(world.ada, "zcode")
    second = await world.turn(in_reply_to=first.id)
    for _ in range(3):
        await world.gateway.claim(world.zcode, first.receipts[0].turn_id)
        await world.expire()
    assert world.events_for("zcode", "turn_state")[-1].data["turn_id"] == second
    assert (await world.gateway.claim(world.zcode, second)).lease == 1


async def test_control_is_on_record(world: World) -> None:
    turn = await dead(world, by=world.bob)
    await world.gateway.retry(world.bob, turn)
    entries = (await world.gateway.audit(world.ada, limit=200)).items
    assert [(entry.actor, entry.action, entry.target) for entry in entries][-1] == ("bob", "retry turn", turn)


async def test_when_a_turn_was_pushed_is_stored_once(world: World) -> None:
    turn = await world.turn()
    await world.gateway.pushed([turn, turn, "turn_nonsense"])
    for _ in range(2):
        await world.gateway.close()
        gateway = await Gateway.open(world.data, admin="ada", now=world.clock)
        try:
            assert (await gateway.get_turn(world.ada, turn)).pushed_at == "2027-01-15T08:00:00.000Z"
            world.clock.forward(60)
            await gateway.pushed([turn])
        finally:
            await gateway.close()
