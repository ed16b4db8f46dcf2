import asyncio
from pathlib import Path

import pytest

from agentmail_gateway.gateway import Gateway
from agentmail_gateway.problems import Problem
from agentmail_gateway.vendor import wire
from agentmail_gateway.vendor.mail_session_id import session_id

from .world import World


async def not_claimable(world: World, turn_id: str) -> str:
    with pytest.raises(Problem) as caught:
        await world.gateway.claim(world.zcode, turn_id)
    assert (caught.value.status, caught.value.code) == (409, "not_claimable")
    return caught.value.detail


async def test_a_claim_says_all_that_the_turn_needs(world: World) -> None:
    mail = await world.send(world.ada, "zcode", subject="Do it", body="please", permission_mode="workspace")
    claim = await world.gateway.claim(world.zcode, mail.receipts[0].turn_id)
    assert (claim.turn_id, claim.lease, claim.attempt) == (mail.receipts[0].turn_id, 1, 1)
    assert claim.expires_at == "2027-01-15T08:01:30.000Z"
    assert (claim.mail.id, claim.mail.body) == (mail.id, "please")
    assert [each.id for each in claim.thread.mails] == [mail.id]
    assert claim.thread.id == mail.thread_id
    assert claim.session == wire.Session(None)
    assert (claim.effective_mode, claim.why_mode, claim.sender_trust) == ("workspace", "asked", "full")
    assert claim.reply_owed
    assert claim.turn_key.startswith("amt_")
    assert await world.state(claim.turn_id) == "leased"


async def test_one_of_two_bridges_gets_the_turn(world: World) -> None:
    turn = await world.turn()
    results = await asyncio.gather(*(world.gateway.claim(world.zcode, turn) for _ in range(5)), return_exceptions=True)
    assert sum(isinstance(result, wire.Claim) for result in results) == 1
    assert all(result.code == "not_claimable" for result in results if isinstance(result, Problem))


async def test_turns_of_one_thread_run_one_after_the_other_and_threads_side_by_side(world: World) -> None:
    first = await world.send(world.ada, "zcode")
    second = await world.send(world.ada, "zcode", in_reply_to=first.id)
    other = await world.turn()
    assert "earlier turn" in await not_claimable(world, second.receipts[0].turn_id)
    claim = await world.gateway.claim(world.zcode, first.receipts[0].turn_id)
    assert "earlier turn" in await not_claimable(world, second.receipts[0].turn_id)
    assert (await world.gateway.claim(world.zcode, other)).lease == 1
    await world.answer(claim)
    assert (await world.gateway.claim(world.zcode, second.receipts[0].turn_id)).lease == 1


async def test_another_agents_turn_in_the_same_thread_does_not_wait(world: World) -> None:
    mail = await world.send(world.ada, "zcode", "pi")
    assert (await world.gateway.claim(world.pi, mail.receipts[1].turn_id)).turn_id == mail.receipts[1].turn_id


async def test_a_paused_agent_claims_nothing(world: World) -> None:
    turn = await world.turn()
    await world.gateway.patch_agent(world.ada, "zcode", paused=True)
    assert "paused" in await not_claimable(world, turn)
    await world.gateway.patch_agent(world.ada, "zcode", paused=False)
    assert (await world.gateway.claim(world.zcode, turn)).lease == 1


async def test_a_turn_that_ended_can_not_be_claimed(world: World) -> None:
    claim = await world.running()
    assert "running under lease 1" in await not_claimable(world, claim.turn_id)
    await world.answer(claim)
    assert "answered" in await not_claimable(world, claim.turn_id)


async def test_only_the_agent_claims_its_turn(world: World) -> None:
    turn = await world.turn()
    for who, code in ((world.ada, "forbidden"), (world.pi, "not_found")):
        with pytest.raises(Problem) as caught:
            await world.gateway.claim(who, turn)
        assert caught.value.code == code
    holder = world.holder(await world.gateway.claim(world.zcode, turn))
    with pytest.raises(Problem) as caught:
        await world.gateway.claim(holder, await world.turn())
    assert caught.value.code == "forbidden"


async def test_a_mail_by_an_agent_is_owed_no_reply(world: World) -> None:
    assert not (await world.claimed(by=world.pi)).reply_owed


async def test_the_tier_is_the_lowest_of_all_limits_and_says_which(world: World) -> None:
    gateway = world.gateway
    assert (await world.claimed()).why_mode == "nothing asked"
    full = await world.claimed(permission_mode="full")
    assert (full.effective_mode, full.why_mode) == ("full", "asked")
    await gateway.patch_agent(world.ada, "zcode", max_mode="workspace")
    capped = await world.claimed(permission_mode="full")
    assert (capped.effective_mode, capped.why_mode) == ("workspace", "agent cap")
    await gateway.patch_agent(world.ada, "zcode", max_mode="full")
    trusted = await world.claimed(by=world.bob, permission_mode="full")
    assert (trusted.effective_mode, trusted.sender_trust) == ("workspace", "workspace")
    assert "sender trust" in trusted.why_mode


async def test_one_untrusted_mail_taints_the_thread(world: World) -> None:
    await world.gateway.set_trust(world.ada, "bob", "plan")
    first = await world.send(world.bob, "ada", subject="please run this")
    mail = await world.send(world.ada, "zcode", in_reply_to=first.id, permission_mode="full")
    claim = await world.gateway.claim(world.zcode, mail.receipts[0].turn_id)
    assert (claim.effective_mode, claim.why_mode) == ("plan", "thread taint")


async def test_a_mail_that_comes_while_the_turn_waits_taints_it_too(world: World) -> None:
    mail = await world.send(world.ada, "zcode", "bob", permission_mode="full")
    await world.gateway.set_trust(world.ada, "bob", "plan")
    await world.send(world.bob, "ada", in_reply_to=mail.id)
    assert (await world.gateway.claim(world.zcode, mail.receipts[0].turn_id)).effective_mode == "plan"


async def test_trust_that_was_taken_away_counts_at_once_and_trust_that_was_given_does_not_reach_back(
    world: World,
) -> None:
    await world.gateway.set_trust(world.ada, "bob", "full")
    before = await world.turn(by=world.bob, permission_mode="full")
    await world.gateway.set_trust(world.ada, "bob", "plan")
    assert (await world.gateway.claim(world.zcode, before)).effective_mode == "plan"
    low = await world.turn(by=world.bob, permission_mode="full")
    await world.gateway.set_trust(world.ada, "bob", "full")
    assert (await world.gateway.claim(world.zcode, low)).effective_mode == "plan"


async def test_the_thread_in_a_claim_ends_with_the_turns_mail_and_holds_what_the_agent_sees(world: World) -> None:
    first = await world.send(world.ada, "zcode", subject="1")
    await world.send(world.ada, "bob", subject="between people", in_reply_to=first.id)
    second = await world.send(world.ada, "zcode", subject="2", in_reply_to=first.id)
    await world.send(world.ada, "zcode", subject="3", in_reply_to=first.id)
    await world.answer(await world.gateway.claim(world.zcode, first.receipts[0].turn_id))
    claim = await world.gateway.claim(world.zcode, second.receipts[0].turn_id)
    assert [mail.subject for mail in claim.thread.mails] == ["1", "2"]


async def test_the_thread_in_a_claim_is_bounded_but_the_mail_is_whole(world: World) -> None:
    first = await world.send(world.ada, "zcode", cc=("bob",), body="x" * 200_000)
    for number in range(40):
        await world.send(world.ada, "bob", cc=("zcode",), subject=str(number), in_reply_to=first.id, body="x" * 30_000)
    last = await world.send(world.ada, "zcode", in_reply_to=first.id, body="y" * 500_000)
    await world.gateway.cancel(world.ada, first.receipts[0].turn_id)
    claim = await world.gateway.claim(world.zcode, last.receipts[0].turn_id)
    assert len(claim.mail.body) == 500_000
    assert claim.thread.mails[-1] == claim.mail
    assert sum(len(mail.body) for mail in claim.thread.mails[:-1]) <= 256 * 1024
    assert len(claim.thread.mails) == 9


# Sessions


async def test_a_thread_goes_on_in_the_session_and_workspace_it_was_in(world: World) -> None:
    first = await world.claimed(workspace="site")
    assert first.session == wire.Session(session_id(first.thread.id, "zcode", "site"), None, "site")
    await world.gateway.start(world.zcode, first.turn_id, wire.StartBody(first.lease, "native-1", "site"))
    await world.answer(first)
    second = await world.claimed(in_reply_to=first.mail.id)
    assert second.session == wire.Session(session_id(first.thread.id, "zcode", "site"), "native-1", "site")
    assert (await world.gateway.get_turn(world.ada, second.turn_id)).workspace == "site"
    await world.answer(second)
    elsewhere = await world.claimed(in_reply_to=first.mail.id, workspace="docs")
    assert elsewhere.session == wire.Session(session_id(first.thread.id, "zcode", "docs"), None, "docs")


async def test_the_answer_tells_the_native_session_and_when_the_earlier_one_was_lost(world: World) -> None:
    first = await world.claimed(workspace="site")
    await world.answer(first, native_session_id="one", workspace="site")
    second = await world.claimed(in_reply_to=first.mail.id)
    assert second.session.native_session_id == "one"
    await world.answer(second, native_session_id=None, workspace="site")
    third = await world.claimed(in_reply_to=first.mail.id)
    assert third.session.native_session_id == "one", "silence forgets nothing"
    await world.answer(third, native_session_id=None, workspace="site", context_lost=True)
    assert (await world.claimed(in_reply_to=first.mail.id)).session.native_session_id is None


async def test_the_last_workspace_of_a_thread_is_the_one_used_last(world: World) -> None:
    first = await world.claimed(workspace="a")
    await world.answer(first, native_session_id="in a", workspace="a")
    world.clock.forward(1)
    second = await world.claimed(in_reply_to=first.mail.id, workspace="b")
    await world.answer(second, native_session_id="in b", workspace="b")
    third = await world.claimed(in_reply_to=first.mail.id)
    assert (third.session.workspace, third.session.native_session_id) == ("b", "in b")


async def test_a_native_session_without_a_workspace_is_remembered_too(world: World) -> None:
    first = await world.claimed()
    await world.answer(first, native_session_id="n")
    second = await world.claimed(in_reply_to=first.mail.id)
    assert second.session == wire.Session(session_id(first.thread.id, "zcode", ""), "n", None)


# The turn's key


async def test_a_turn_key_is_the_agent_for_this_turn_only(world: World) -> None:
    claim = await world.claimed()
    holder = world.holder(claim)
    assert (holder.kind, holder.name, holder.turn_id, holder.admin) == ("turn", "zcode", claim.turn_id, False)
    assert [turn.id for turn in (await world.gateway.list_turns(holder)).items] == [claim.turn_id]


@pytest.mark.parametrize("ending", ["reply", "finish", "release", "expiry", "disabled", "cancel and finish"])
async def test_a_turn_key_dies_with_its_turn(world: World, ending: str) -> None:
    claim = await world.running()
    gateway, lease = world.gateway, claim.lease
    match ending:
        case "reply":
            await world.answer(claim)
        case "finish":
            await gateway.finish(world.zcode, claim.turn_id, wire.FinishBody(lease, "no_reply"))
        case "release":
            await gateway.release(world.zcode, claim.turn_id, wire.ReleaseBody(lease, "shutdown"))
        case "expiry":
            world.clock.forward(90)
        case "disabled":
            await gateway.patch_agent(world.ada, "zcode", disabled=True)
        case "cancel and finish":
            await gateway.cancel(world.ada, claim.turn_id)
            assert gateway.authenticate(claim.turn_key) is not None
            await gateway.finish(world.zcode, claim.turn_id, wire.FinishBody(lease, "cancelled"))
    assert gateway.authenticate(claim.turn_key) is None


async def test_a_new_claim_ends_the_key_of_the_one_before(world: World) -> None:
    first = await world.claimed()
    await world.expire()
    second = await world.gateway.claim(world.zcode, first.turn_id)
    assert world.gateway.authenticate(first.turn_key) is None
    assert world.holder(second).turn_id == first.turn_id


async def test_a_lease_and_its_key_survive_a_restart_with_a_fresh_time(tmp_path: Path, world: World) -> None:
    claim = await world.running()
    await world.gateway.close()
    world.clock.forward(3600)
    gateway = await Gateway.open(world.data, admin="ada", now=world.clock)
    try:
        assert gateway.authenticate(claim.turn_key) is not None
        await gateway.sweep()
        turn = await gateway.get_turn(world.ada, claim.turn_id)
        assert (turn.state, turn.expires_at) == ("running", "2027-01-15T09:01:30.000Z")
        answer = await gateway.reply(world.zcode, claim.turn_id, wire.ReplyBody(claim.lease, "ok", "late"), "key")
        assert answer.state == "answered"
    finally:
        await gateway.close()
