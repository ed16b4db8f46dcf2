import pytest

from agentmail_gateway.principal import Principal
from agentmail_gateway.problems import Problem
from agentmail_gateway.vendor import wire

from .world import World


async def ask(world: World, claim: wire.Claim, **fields: object) -> wire.PermissionRequest:
    given = {"tool": "bash", "summary": "rm -r build", **fields}
    return await world.gateway.ask_permission(
        world.zcode,
        wire.PermissionAsk(claim.turn_id, claim.lease, **given),  # type: ignore[arg-type]
    )


async def refused(call: object, code: str) -> None:
    with pytest.raises(Problem) as caught:
        await call  # type: ignore[misc]
    assert caught.value.code == code


async def listed(world: World, who: Principal, state: str | None = None) -> list[str]:
    return [each.id for each in (await world.gateway.list_permissions(who, state=state)).items]


async def test_a_question_reaches_who_may_answer_and_the_answer_the_agent(world: World) -> None:
    claim = await world.running()
    question = await ask(world, claim, detail="in\nworkspace", scope_hint="build/*")
    assert question.id.startswith("perm_")
    assert (question.agent, question.turn_id, question.decision) == ("zcode", claim.turn_id, None)
    assert question.expires_at == "2027-01-15T08:09:00.000Z"
    asked = world.events_for("ada", "permission_request")
    assert [(event.data["id"], event.data["summary"]) for event in asked] == [(question.id, "rm -r build")]
    assert await listed(world, world.ada, "open") == await listed(world, world.zcode) == [question.id]
    decided = await world.gateway.decide_permission(world.ada, question.id, "thread")
    assert (decided.decision, decided.decided_by) == ("thread", "ada")
    assert decided.decided_at == "2027-01-15T08:00:00.000Z"
    told = world.events_for("zcode", "permission_decision")
    assert [(event.data["id"], event.data["decision"]) for event in told] == [(question.id, "thread")]
    assert await world.gateway.get_permission(world.zcode, question.id) == decided
    assert await listed(world, world.ada, "open") == []
    assert await listed(world, world.ada, "decided") == [question.id]


async def test_an_answer_given_again_is_the_same_and_another_is_too_late(world: World) -> None:
    question = await ask(world, await world.running())
    first = await world.gateway.decide_permission(world.ada, question.id, "once")
    assert await world.gateway.decide_permission(world.ada, question.id, "once") == first
    await refused(world.gateway.decide_permission(world.ada, question.id, "reject"), "conflict")
    assert len(world.events_for("zcode", "permission_decision")) == 1


async def test_a_person_trusted_for_the_tier_who_sees_the_turn_may_answer(world: World) -> None:
    claim = await world.running(by=world.bob, permission_mode="workspace")
    question = await ask(world, claim)
    assert len(world.events_for("bob", "permission_request")) == 1
    assert (await world.gateway.decide_permission(world.bob, question.id, "once")).decided_by == "bob"


async def test_a_person_without_that_trust_may_not(world: World) -> None:
    mail = await world.send(world.ada, "zcode", "bob", permission_mode="full")
    claim = await world.gateway.claim(world.zcode, mail.receipts[0].turn_id)
    assert claim.effective_mode == "full"
    question = await ask(world, claim)
    assert world.events_for("bob", "permission_request") == []
    await refused(world.gateway.decide_permission(world.bob, question.id, "once"), "not_found")
    await world.gateway.set_trust(world.ada, "bob", "full")
    assert (await world.gateway.decide_permission(world.bob, question.id, "once")).decision == "once"


async def test_a_person_who_does_not_see_the_turn_learns_nothing_of_it(world: World) -> None:
    question = await ask(world, await world.running())
    assert await listed(world, world.bob) == []
    await refused(world.gateway.get_permission(world.bob, question.id), "not_found")
    await refused(world.gateway.decide_permission(world.bob, question.id, "once"), "not_found")


async def test_no_agent_decides_not_even_who_asked(world: World) -> None:
    claim = await world.running(by=world.pi)
    question = await ask(world, claim)
    await refused(world.gateway.decide_permission(world.zcode, question.id, "always"), "forbidden")
    await refused(world.gateway.decide_permission(world.pi, question.id, "always"), "not_found")
    await refused(world.gateway.decide_permission(world.holder(claim), question.id, "always"), "not_found")
    await refused(world.gateway.get_permission(world.holder(claim), question.id), "not_found")


async def test_silence_is_no(world: World) -> None:
    claim = await world.running()
    question = await ask(world, claim)
    for _ in range(9):
        world.clock.forward(60)
        await world.gateway.renew(world.zcode, claim.turn_id, claim.lease)
        await world.gateway.sweep()
    decided = await world.gateway.get_permission(world.ada, question.id)
    assert (decided.decision, decided.decided_by) == ("reject", None)
    assert [event.data["decision"] for event in world.events_for("zcode", "permission_decision")] == ["reject"]
    await refused(world.gateway.decide_permission(world.ada, question.id, "once"), "conflict")


async def test_an_answer_at_the_last_moment_is_in_time_and_one_after_it_is_not(world: World) -> None:
    claim = await world.running()
    early, late = await ask(world, claim), await ask(world, claim)
    world.clock.forward(539.999)
    assert (await world.gateway.decide_permission(world.ada, early.id, "once")).decision == "once"
    world.clock.forward(0.001)
    await refused(world.gateway.decide_permission(world.ada, late.id, "once"), "conflict")


async def test_questions_of_a_turn_that_ended_are_answered_no(world: World) -> None:
    claim = await world.running()
    question = await ask(world, claim)
    await world.answer(claim)
    assert (await world.gateway.get_permission(world.ada, question.id)).decision == "reject"
    await refused(ask(world, claim), "lease_stale")


async def test_only_the_lease_that_runs_may_ask(world: World) -> None:
    old = await world.running()
    await world.expire()
    await refused(ask(world, old), "lease_stale")
    new = await world.gateway.claim(world.zcode, old.turn_id)
    await refused(ask(world, old), "lease_stale")
    assert await ask(world, new)
    body = wire.PermissionAsk(new.turn_id, new.lease, "bash", "x")
    await refused(world.gateway.ask_permission(world.pi, body), "not_found")
    await refused(world.gateway.ask_permission(world.ada, body), "forbidden")
    await refused(world.gateway.ask_permission(world.holder(new), body), "forbidden")


async def test_a_turn_has_so_many_open_questions_and_their_texts_are_bounded(world: World) -> None:
    claim = await world.running()
    question = await ask(world, claim, tool="x" * 1000, summary="a\nb\u202e" * 1000, detail="y" * 100_000)
    assert len(question.tool) <= 200
    assert len(question.summary) <= 500
    assert "\n" not in question.summary
    assert len(question.detail) == 20_000
    for _ in range(49):
        await ask(world, claim)
    await refused(ask(world, claim), "conflict")


async def test_questions_come_in_pages(world: World) -> None:
    claim = await world.running(by=world.bob)
    asked = [(await ask(world, claim)).id for _ in range(7)]
    seen: list[str] = []
    after = None
    while True:
        page = await world.gateway.list_permissions(world.bob, state="open", after=after, limit=3)
        seen += [each.id for each in page.items]
        if page.next is None:
            break
        after = page.next
    assert seen == asked
    await refused(world.gateway.list_permissions(world.ada, state="maybe"), "invalid")


async def test_decisions_are_on_record(world: World) -> None:
    question = await ask(world, await world.running())
    await world.gateway.decide_permission(world.ada, question.id, "always")
    entry = (await world.gateway.audit(world.ada, limit=200)).items[-1]
    assert (entry.actor, entry.action, entry.target, entry.detail) == (
        "ada",
        "decide permission",
        question.id,
        "always",
    )
