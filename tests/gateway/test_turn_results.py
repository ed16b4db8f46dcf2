import asyncio
from collections.abc import AsyncIterator

import pytest

from agentmail_gateway.problems import Problem
from agentmail_gateway.vendor import wire

from .world import World


async def reply(world: World, claim: wire.Claim, key: str = "key", **fields: object) -> wire.ReplyAnswer:
    given = {"lease": claim.lease, "outcome": "ok", "body": "the answer", **fields}
    return await world.gateway.reply(world.zcode, claim.turn_id, wire.ReplyBody(**given), key)  # type: ignore[arg-type]


async def finish(world: World, claim: wire.Claim, outcome: str, **fields: object) -> wire.Turn:
    body = wire.FinishBody(claim.lease, outcome, **fields)  # type: ignore[arg-type]
    return await world.gateway.finish(world.zcode, claim.turn_id, body)


async def test_the_answer_goes_to_the_sender_in_the_thread(world: World) -> None:
    mail = await world.send(world.ada, "zcode", "bob", subject="Question", workspace="site")
    claim = await world.gateway.claim(world.zcode, mail.receipts[0].turn_id)
    answer = await reply(world, claim, usage=wire.Usage(1, 2, 0.5, 300))
    assert answer.state == "answered"
    assert answer.mail is not None
    assert (answer.mail.subject, answer.mail.body, answer.mail.auto_submitted) == (
        "Re: Question",
        "the answer",
        "auto-replied",
    )
    assert [ref.name for ref in answer.mail.to] == ["ada"]
    assert (answer.mail.from_.name, answer.mail.in_reply_to) == ("zcode", mail.id)
    assert (answer.mail.thread_id, answer.mail.workspace) == (mail.thread_id, "site")
    assert (await world.gateway.list_mails(world.ada)).items[0].id == answer.mail.id
    turn = await world.gateway.get_turn(world.ada, claim.turn_id)
    assert (turn.state, turn.reply_id, turn.usage) == ("answered", answer.mail.id, wire.Usage(1, 2, 0.5, 300))
    assert [event.data["mail_id"] for event in world.events_for("ada", "new_mail")] == [answer.mail.id]


@pytest.mark.parametrize(("subject", "answered"), [("Hi", "Re: Hi"), ("re: Hi", "re: Hi"), ("", "Re:")])
async def test_an_answer_has_one_re(world: World, subject: str, answered: str) -> None:
    answer = await world.answer(await world.running(subject=subject))
    assert answer.mail is not None
    assert answer.mail.subject == answered


async def test_an_answer_sent_again_is_stored_once(world: World) -> None:
    """openclaw#29106: the bridge died between sending and hearing that it arrived"""
    claim = await world.running()
    answers = [await reply(world, claim) for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
    assert len((await world.gateway.list_mails(world.ada)).items) == 1
    copies = await asyncio.gather(*(reply(world, claim) for _ in range(10)))
    assert {copy.mail.id for copy in copies if copy.mail} == {answers[0].mail.id if answers[0].mail else None}


async def test_an_answer_with_another_key_is_one_too_many(world: World) -> None:
    claim = await world.running()
    await reply(world, claim)
    with pytest.raises(Problem) as caught:
        await reply(world, claim, key="other")
    assert (caught.value.status, caught.value.code) == (409, "turn_final")


async def test_an_answer_that_comes_after_its_lease_ran_out_is_taken(world: World) -> None:
    claim = await world.running()
    await world.expire()
    assert (await reply(world, claim)).state == "answered"


async def test_an_answer_that_comes_after_the_turn_was_given_up_is_taken(world: World) -> None:
    turn = await world.turn()
    for _ in range(3):
        claim = await world.gateway.claim(world.zcode, turn)
        await world.expire()
    assert await world.state(turn) == "dead"
    assert (await reply(world, claim)).state == "answered"
    assert await world.state(turn) == "answered"


async def test_when_the_agent_mailed_the_sender_itself_there_is_no_second_mail(world: World) -> None:
    claim = await world.running()
    own = await world.send(world.holder(claim), "ada", in_reply_to=claim.mail.id, body="mine")
    for _ in range(2):
        assert await reply(world, claim) == wire.ReplyAnswer(None, "answered_by_agent")
    assert [mail.id for mail in (await world.gateway.list_mails(world.ada)).items] == [own.id]


async def test_a_failure_is_said_also_when_the_agent_mailed_the_sender(world: World) -> None:
    claim = await world.running()
    await world.send(world.holder(claim), "ada", in_reply_to=claim.mail.id)
    failure = wire.Failure("timed_out", "It took too long.", "Ask for less.")
    answer = await reply(world, claim, outcome="failed", failure=failure)
    assert answer.state == "failed"
    assert answer.mail is not None
    assert answer.mail.auto_submitted == "auto-generated"
    assert (await world.gateway.get_turn(world.ada, claim.turn_id)).failure == failure


async def test_an_attempt_with_nothing_to_say_is_no_failure_when_an_earlier_one_mailed_the_answer(world: World) -> None:
    """openclaw#29106: the bridge was killed after its agent had mailed the sender, and said the same again."""
    claim = await world.running()
    await world.send(world.holder(claim), "ada", in_reply_to=claim.mail.id, body="the answer")
    await world.expire()
    again = await world.gateway.claim(world.zcode, claim.turn_id)
    failure = wire.Failure("empty_answer", "The agent ended without a word.")
    answer = await reply(world, again, outcome="failed", failure=failure)
    assert answer == wire.ReplyAnswer(None, "answered_by_agent")
    turn = await world.gateway.get_turn(world.ada, claim.turn_id)
    assert (turn.state, turn.failure) == ("answered_by_agent", None)
    assert [mail.body for mail in (await world.gateway.list_mails(world.ada)).items] == ["the answer"]


async def test_a_failure_is_stored_in_few_words_that_can_be_shown(world: World) -> None:
    claim = await world.running()
    failure = wire.Failure("crashed", "\x1b[2J" + "m" * 1_000_000, "n" * 1_000_000)
    await reply(world, claim, outcome="failed", failure=failure)
    stored = (await world.gateway.get_turn(world.ada, claim.turn_id)).failure
    assert stored is not None
    assert "\x1b" not in stored.message
    assert len(stored.message) + len(stored.next_step) < 9_000


async def test_a_mail_to_somebody_else_or_in_another_thread_is_no_answer(world: World) -> None:
    claim = await world.running()
    holder = world.holder(claim)
    await world.send(holder, "bob", in_reply_to=claim.mail.id)
    await world.send(holder, "ada")
    assert (await reply(world, claim)).state == "answered"


async def test_what_another_turn_mailed_is_no_answer_of_this_one(world: World) -> None:
    first = await world.running()
    await world.send(world.holder(first), "ada", in_reply_to=first.mail.id)
    await reply(world, first)
    second = await world.running(in_reply_to=first.mail.id)
    assert (await reply(world, second, key="second")).state == "answered"


async def test_a_bridge_does_not_answer_an_agent(world: World) -> None:
    claim = await world.running(by=world.pi)
    assert await reply(world, claim) == wire.ReplyAnswer(None, "no_reply")
    assert (await world.gateway.list_mails(world.pi)).items == ()


async def test_attachments_of_the_agent_come_with_the_answer(world: World) -> None:
    async def content() -> AsyncIterator[bytes]:
        yield b"result"

    file = await world.gateway.put_attachment(world.zcode, name="a.txt", type="text/plain", chunks=content())
    answer = await reply(world, await world.running(), attachments=(file.id,))
    assert answer.mail is not None
    assert answer.mail.attachments == (file,)
    assert (await world.gateway.get_attachment(world.ada, file.id))[0] == file


async def test_an_answer_with_an_attachment_that_is_not_there_changes_nothing(world: World) -> None:
    claim = await world.running()
    with pytest.raises(Problem) as caught:
        await reply(world, claim, attachments=("att_1",))
    assert caught.value.code == "not_found"
    assert await world.state(claim.turn_id) == "running"
    assert (await reply(world, claim)).state == "answered"


@pytest.mark.parametrize(
    ("key", "body", "code"),
    [
        ("", "x", "invalid"),
        ("k" * 201, "x", "invalid"),
        ("k", "x" * 2_000_000, "too_large"),
        ("k", "\ud800", "invalid"),
    ],
)
async def test_what_can_not_be_taken_is_refused(world: World, key: str, body: str, code: str) -> None:
    claim = await world.running()
    with pytest.raises(Problem) as caught:
        await reply(world, claim, key=key, body=body)
    assert caught.value.code == code


async def test_only_the_agents_bridge_answers(world: World) -> None:
    claim = await world.running()
    for who, code in ((world.ada, "forbidden"), (world.holder(claim), "forbidden"), (world.pi, "not_found")):
        with pytest.raises(Problem) as caught:
            await world.gateway.reply(who, claim.turn_id, wire.ReplyBody(claim.lease, "ok", "x"), "key")
        assert caught.value.code == code


@pytest.mark.parametrize("outcome", ["no_reply", "cancelled"])
async def test_a_turn_ends_without_a_mail(world: World, outcome: str) -> None:
    claim = await world.running()
    turn = await finish(world, claim, outcome, usage=wire.Usage(duration_ms=5), workspace="site")
    assert (turn.state, turn.workspace, turn.usage) == (outcome, "site", wire.Usage(duration_ms=5))
    assert await finish(world, claim, outcome) == turn, "again is the same"
    with pytest.raises(Problem) as caught:
        await reply(world, claim)
    assert caught.value.code == "turn_final"


async def test_only_the_gateway_knows_whether_the_agent_answered(world: World) -> None:
    claim = await world.running()
    with pytest.raises(Problem) as caught:
        await finish(world, claim, "answered_by_agent")
    assert caught.value.code == "conflict"
    await world.send(world.holder(claim), "ada", in_reply_to=claim.mail.id)
    turn = await finish(world, claim, "no_reply")
    assert turn.state == "answered_by_agent"
    assert await finish(world, claim, "answered_by_agent") == turn


async def test_the_next_turn_of_the_thread_is_offered_when_one_ends(world: World) -> None:
    first = await world.running()
    second = await world.turn(in_reply_to=first.mail.id)
    other = await world.turn()
    assert world.events_for("zcode", "turn_state") == []
    await reply(world, first)
    told = [event.data["turn_id"] for event in world.events_for("zcode", "turn_state")]
    assert told == [second]
    assert other not in told
