import asyncio
from pathlib import Path

import pytest

from agentmail_gateway.checks import MAX_BODY
from agentmail_gateway.gateway import Gateway
from agentmail_gateway.problems import Problem
from agentmail_gateway.vendor import wire

from .world import NO_LIMITS, World, a_world


async def refused(world: World, code: str, *to: str, **fields: object) -> Problem:
    before = len((await world.gateway.list_mails(world.ada, box="all", limit=200)).items)
    with pytest.raises(Problem) as caught:
        await world.send(world.ada, *to, **fields)  # type: ignore[arg-type]
    assert caught.value.code == code
    assert len((await world.gateway.list_mails(world.ada, box="all", limit=200)).items) == before
    return caught.value


async def test_a_mail_is_answered_as_it_was_stored(world: World) -> None:
    mail, created = await world.gateway.send_mail(
        world.ada,
        wire.SendMail(
            to=("zcode", "Bob <bob>"), cc=("pi",), subject="Hi", body="# text", workspace="site", permission_mode="full"
        ),
    )
    assert created
    assert mail.from_ == wire.AddressRef("ada", "person")
    assert [ref.name for ref in mail.to] == ["zcode", "bob"]
    assert mail.to[1].display == "Bob"
    assert [ref.name for ref in mail.cc] == ["pi"]
    assert (mail.subject, mail.body, mail.workspace, mail.permission_mode) == ("Hi", "# text", "site", "full")
    assert mail.created_at == "2027-01-15T08:00:00.000Z"
    assert mail.auto_submitted == "no"
    assert mail.thread_id.removeprefix("thr_") == mail.id.removeprefix("mail_")
    assert not mail.unread
    assert [(receipt.to, receipt.state, receipt.accepted_at) for receipt in mail.receipts] == [
        ("zcode", "queued", mail.created_at)
    ]
    assert await world.gateway.get_mail(world.ada, mail.id) == mail


async def test_a_turn_is_made_for_agents_in_to_and_the_others_get_mail_only(world: World) -> None:
    mail = await world.send(world.ada, "zcode", "bob", cc=("pi",))
    assert [receipt.to for receipt in mail.receipts] == ["zcode"]
    turns = await world.gateway.list_turns(world.ada)
    assert [(turn.agent, turn.state, turn.attempt, turn.sender) for turn in turns.items] == [
        ("zcode", "queued", 0, "ada")
    ]
    assert [page.items[0].id for page in [await world.gateway.list_mails(world.pi)]] == [mail.id]


async def test_an_agent_that_writes_to_itself_starts_no_turn(world: World) -> None:
    """nanobot#3215"""
    mail = await world.send(world.zcode, "zcode", "pi")
    assert [receipt.to for receipt in mail.receipts] == ["pi"]
    assert mail.unread, "it is in its own inbox"


async def test_what_a_bridge_says_starts_no_turn(world: World) -> None:
    """nanobot#3215"""
    claim = await world.running(by=world.pi)
    failure = wire.Failure("crashed", "segmentation fault")
    answer = await world.gateway.reply(
        world.zcode, claim.turn_id, wire.ReplyBody(claim.lease, "failed", "It crashed.", failure=failure), "key"
    )
    assert answer.mail is not None
    assert answer.mail.auto_submitted == "auto-generated"
    assert [ref.name for ref in answer.mail.to] == ["pi"]
    assert answer.mail.receipts == ()
    assert (await world.gateway.list_turns(world.pi)).items == ()
    assert [mail.id for mail in (await world.gateway.list_mails(world.pi)).items] == [answer.mail.id]


async def test_every_recipient_is_told_with_the_turn_if_there_is_one(world: World) -> None:
    mail = await world.send(world.ada, "zcode", "bob", cc=("pi",))
    told = {event.to: event for event in world.events}
    both = {"mail_id": mail.id, "thread_id": mail.thread_id}
    assert {name: event.data for name, event in told.items()} == {
        "zcode": {**both, "turn_id": mail.receipts[0].turn_id},
        "bob": both,
        "pi": both,
    }
    assert {event.type for event in world.events} == {"new_mail"}


@pytest.mark.parametrize(
    "address", ["zcode", "ZCode", "zcode+nightly", "Z <zcode>", '"Z, the agent" <zcode>', "zcode@localhost", "ｚcode"]
)
async def test_an_address_has_many_forms(world: World, address: str) -> None:
    mail = await world.send(world.ada, address)
    assert [ref.name for ref in mail.to] == ["zcode"]


async def test_a_doubled_recipient_gets_one_mail(world: World) -> None:
    mail = await world.send(world.ada, "zcode", "Z <ZCODE+a>", cc=("zcode", "bob", "bob"))
    assert [ref.name for ref in mail.to] == ["zcode"]
    assert [ref.name for ref in mail.cc] == ["bob"]
    assert len(mail.receipts) == 1
    assert len((await world.gateway.list_mails(world.zcode)).items) == 1


@pytest.mark.parametrize("name", ["nobody", "postmaster", "zcode@example.org"])
async def test_an_unknown_recipient_is_named_and_nothing_is_sent(world: World, name: str) -> None:
    problem = await refused(world, "unknown_recipient", "bob", "zcode", name)
    assert name in problem.detail
    assert problem.status == 422
    assert (await world.gateway.list_mails(world.bob)).items == ()
    assert world.events == []


async def test_a_disabled_recipient_is_unknown(world: World) -> None:
    await world.gateway.patch_agent(world.ada, "pi", disabled=True)
    assert "disabled" in (await refused(world, "unknown_recipient", "pi")).detail


@pytest.mark.parametrize(
    ("code", "to", "fields"),
    [
        ("invalid", (), {}),
        ("invalid", (), {"cc": ("bob",)}),
        ("invalid", ("a b",), {}),
        ("invalid", ("zcode\u202e",), {}),
        ("invalid", ("zcode",), {"subject": "x" * 501}),
        ("invalid", ("zcode",), {"body": "half \ud800 of a pair"}),
        ("invalid", ("zcode",), {"workspace": "x\ny"}),
        ("invalid", ("zcode",), {"attachments": ("att_1",) * 51}),
        ("invalid", ("zcode",), {"key": ""}),
        ("invalid", ("zcode",), {"key": "k" * 201}),
        ("too_large", ("zcode",), {"body": "x" * (MAX_BODY + 1)}),
        ("too_large", ("zcode",), {"body": "世" * (MAX_BODY // 3 + 1)}),
        ("not_found", ("zcode",), {"in_reply_to": "mail_0"}),
        ("not_found", ("zcode",), {"attachments": ("att_1",)}),
    ],
)
async def test_what_can_not_be_taken_is_refused(world: World, code: str, to: tuple[str, ...], fields: dict) -> None:  # type: ignore[type-arg]
    await refused(world, code, *to, **fields)


async def test_a_subject_is_one_line(world: World) -> None:
    mail = await world.send(world.ada, "bob", subject="one\r\nBcc: two\u202e")
    assert mail.subject == "one Bcc: two"


async def test_the_largest_body_passes(world: World) -> None:
    body = "世" * (MAX_BODY // 3)
    mail = await world.send(world.ada, "bob", body=body)
    assert (await world.gateway.get_mail(world.bob, mail.id)).body == body


@pytest.mark.parametrize("body", ["", "\0", "a\0b", "\U0001f600", "\r\n"])
async def test_a_body_comes_back_as_it_was(world: World, body: str) -> None:
    mail = await world.send(world.ada, "bob", body=body)
    assert (await world.gateway.get_mail(world.bob, mail.id)).body == body


# Idempotency


async def test_the_same_key_and_body_is_the_same_mail(world: World) -> None:
    request = wire.SendMail(to=("zcode",), body="once")
    first, created = await world.gateway.send_mail(world.ada, request, "key")
    again, created_again = await world.gateway.send_mail(world.ada, request, "key")
    assert (created, created_again) == (True, False)
    assert again == first
    assert len((await world.gateway.list_turns(world.ada)).items) == 1


async def test_the_same_key_with_another_body_is_refused(world: World) -> None:
    await world.send(world.ada, "zcode", body="one", key="key")
    problem = await refused(world, "idempotency_mismatch", "zcode", body="two", key="key")
    assert problem.status == 409


async def test_many_copies_at_once_are_one_mail(world: World) -> None:
    request = wire.SendMail(to=("zcode",), body="once")
    results = await asyncio.gather(*(world.gateway.send_mail(world.ada, request, "key") for _ in range(20)))
    assert len({mail.id for mail, _ in results}) == 1
    assert sum(created for _, created in results) == 1


async def test_a_key_belongs_to_its_sender(world: World) -> None:
    one = await world.send(world.ada, "zcode", body="a", key="key")
    other = await world.send(world.bob, "zcode", body="b", key="key")
    assert one.id != other.id


async def test_a_key_belongs_to_its_turn(world: World) -> None:
    first, second = await world.claimed(), await world.claimed()
    one = await world.send(world.holder(first), "bob", body="a", key="key")
    other = await world.send(world.holder(second), "bob", body="b", key="key")
    assert one.id != other.id


async def test_a_repeat_is_answered_also_when_a_limit_would_refuse_it_now(tmp_path: Path) -> None:
    async with a_world(tmp_path, wire.Limits(queue_length=1)) as world:
        first = await world.send(world.ada, "zcode", key="key")
        assert (await world.send(world.ada, "zcode", key="key")).id == first.id
        with pytest.raises(Problem, match="limit is 1"):
            await world.send(world.ada, "zcode", key="other")


async def test_a_key_is_remembered_after_a_restart(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        first = await world.send(world.ada, "zcode", body="once", key="key")
    gateway = await Gateway.open(tmp_path / "gateway", admin="ada")
    again, created = await gateway.send_mail(world.ada, wire.SendMail(to=("zcode",), body="once"), "key")
    assert (again.id, created) == (first.id, False)
    await gateway.close()


# Threads


@pytest.mark.parametrize("subject", ["Re: Plan", "回复: Plan", "AW: Plan", "something else", ""])
async def test_a_reply_belongs_to_the_thread_whatever_its_subject(world: World, subject: str) -> None:
    """hermes-agent#26277"""
    first = await world.send(world.ada, "bob", subject="Plan")
    reply = await world.send(world.bob, "ada", subject=subject, in_reply_to=first.id)
    assert (reply.thread_id, reply.in_reply_to) == (first.thread_id, first.id)


async def test_the_same_subject_alone_makes_no_thread(world: World) -> None:
    first = await world.send(world.ada, "bob", subject="Plan")
    assert (await world.send(world.bob, "ada", subject="Re: Plan")).thread_id != first.thread_id


async def test_who_does_not_see_a_mail_can_not_reply_to_it(world: World) -> None:
    secret = await world.send(world.ada, "pi")
    with pytest.raises(Problem) as caught:
        await world.send(world.bob, "ada", in_reply_to=secret.id)
    assert caught.value.code == "not_found"


# Limits


async def test_agents_can_not_write_to_each_other_for_ever(tmp_path: Path) -> None:
    async with a_world(tmp_path, wire.Limits(cool_down_s=0)) as world:
        last = await world.send(world.ada, "zcode")
        agents = [world.zcode, world.pi]
        for hop in range(6):
            last = await world.send(agents[hop % 2], agents[(hop + 1) % 2].name, "ada", in_reply_to=last.id)
        with pytest.raises(Problem) as caught:
            await world.send(world.zcode, "pi", in_reply_to=last.id)
        assert (caught.value.status, caught.value.code) == (429, "hop_limit")
        assert (await world.send(world.zcode, "ada", in_reply_to=last.id)).id, "people are always told"
        lifted = await world.send(world.ada, "zcode", in_reply_to=last.id)
        assert await world.send(world.zcode, "pi", in_reply_to=lifted.id)


async def test_a_new_thread_does_not_reset_the_hops_of_a_turn(tmp_path: Path) -> None:
    async with a_world(tmp_path, wire.Limits(hops=2, cool_down_s=0)) as world:
        one = await world.claimed()
        mail = await world.send(world.holder(one), "pi")
        two = await world.gateway.claim(world.pi, mail.receipts[0].turn_id)
        mail = await world.send(world.holder(two), "zcode")
        await world.answer(one)
        three = await world.gateway.claim(world.zcode, mail.receipts[0].turn_id)
        with pytest.raises(Problem) as caught:
            await world.send(world.holder(three), "pi")
        assert caught.value.code == "hop_limit"


async def test_two_agents_pause_between_mails_in_one_thread(world: World) -> None:
    first = await world.send(world.zcode, "pi")
    with pytest.raises(Problem) as caught:
        await world.send(world.pi, "zcode", in_reply_to=first.id)
    assert (caught.value.code, caught.value.retry_after_s) == ("cool_down", 5.0)
    assert await world.send(world.pi, "zcode"), "another thread"
    assert await world.send(world.pi, "ada", in_reply_to=first.id), "a person"
    world.clock.forward(5)
    assert await world.send(world.pi, "zcode", in_reply_to=first.id)


async def test_a_clock_that_steps_back_does_not_stretch_the_pause(world: World) -> None:
    first = await world.send(world.zcode, "pi")
    world.clock.forward(-3600)
    with pytest.raises(Problem) as caught:
        await world.send(world.pi, "zcode", in_reply_to=first.id)
    assert caught.value.retry_after_s == 5.0


async def test_an_agent_has_a_quota_by_the_hour_and_people_have_none(tmp_path: Path) -> None:
    async with a_world(tmp_path, wire.Limits(mails_per_hour=3)) as world:
        for _ in range(3):
            await world.send(world.pi, "ada")
            await world.send(world.ada, "bob")
            world.clock.forward(60)
        await world.send(world.ada, "bob")
        with pytest.raises(Problem) as caught:
            await world.send(world.pi, "ada")
        assert (caught.value.code, caught.value.retry_after_s) == ("quota_mails", 3420.0)
        world.clock.forward(3421)
        assert await world.send(world.pi, "ada")


async def test_answers_of_a_bridge_are_not_counted(tmp_path: Path) -> None:
    async with a_world(tmp_path, wire.Limits(mails_per_hour=1)) as world:
        for _ in range(3):
            assert (await world.answer(await world.running())).state == "answered"
        assert await world.send(world.zcode, "ada")


async def test_a_full_queue_refuses_the_whole_mail(tmp_path: Path) -> None:
    async with a_world(tmp_path, wire.Limits(queue_length=2)) as world:
        turn = await world.turn()
        await world.turn()
        with pytest.raises(Problem) as caught:
            await world.send(world.ada, "pi", "zcode")
        assert (caught.value.status, caught.value.code) == (429, "queue_full")
        assert "zcode" in caught.value.detail
        assert (await world.gateway.list_mails(world.pi)).items == ()
        await world.gateway.claim(world.zcode, turn)
        assert await world.send(world.ada, "pi", "zcode")


async def test_a_full_queue_counts_mails_that_arrive_at_the_same_moment(tmp_path: Path) -> None:
    async with a_world(tmp_path, wire.Limits(queue_length=5)) as world:
        results = await asyncio.gather(*(world.turn() for _ in range(20)), return_exceptions=True)
        assert sum(isinstance(result, str) for result in results) == 5
    async with a_world(tmp_path / "again", NO_LIMITS) as world:
        assert len(await asyncio.gather(*(world.turn() for _ in range(20)))) == 20


# A turn's key


async def test_a_turn_asks_for_no_more_than_it_has(world: World) -> None:
    claim = await world.claimed(permission_mode="workspace", workspace="site")
    holder = world.holder(claim)
    mail = await world.send(holder, "pi", permission_mode="full", workspace="elsewhere")
    assert (mail.permission_mode, mail.workspace) == ("workspace", "site")
    assert (await world.send(holder, "ada", workspace="site/docs")).workspace == "site/docs"
    assert (await world.send(holder, "ada", workspace="site/../etc")).workspace == "site"
    assert (await world.send(holder, "ada", workspace="sites")).workspace == "site"
    assert (await world.send(holder, "ada", permission_mode="plan")).permission_mode == "plan"


async def test_what_a_turn_read_limits_what_its_mail_may_ask_elsewhere(world: World) -> None:
    await world.gateway.set_trust(world.ada, "zcode", "full")
    await world.gateway.set_trust(world.ada, "bob", "plan")
    claim = await world.claimed(by=world.bob, permission_mode="full")
    mail = await world.send(world.holder(claim), "pi", permission_mode="full")
    other = await world.gateway.claim(world.pi, mail.receipts[0].turn_id)
    assert other.effective_mode == "plan"


async def test_a_turn_that_has_ended_sends_nothing(world: World) -> None:
    claim = await world.running()
    holder = world.holder(claim)
    sending = asyncio.gather(
        world.answer(claim), world.gateway.send_mail(holder, wire.SendMail(to=("ada",))), return_exceptions=True
    )
    _, late = await sending
    assert isinstance(late, Problem)
    assert late.code == "unauthorized"
    with pytest.raises(Problem):
        await world.send(holder, "ada")
