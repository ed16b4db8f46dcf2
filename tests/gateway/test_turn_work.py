import pytest

from agentmail_gateway.problems import Problem
from agentmail_gateway.vendor import wire

from .world import World

AT = "2027-01-15T08:00:00.000Z"


def text(seq: int, words: str = "hi") -> wire.ProgressEvent:
    return wire.ProgressEvent(seq, AT, "text", words)


def quota(until: str | None) -> wire.ReleaseBody:
    failure = wire.Failure("quota", "You have used it up until 19:27.", "Wait, or buy more.")
    return wire.ReleaseBody(1, "quota", until, failure)


async def stale(world: World, claim: wire.Claim) -> None:
    gateway, lease = world.gateway, claim.lease
    for call in (
        gateway.start(world.zcode, claim.turn_id, wire.StartBody(lease)),
        gateway.renew(world.zcode, claim.turn_id, lease),
        gateway.progress(world.zcode, claim.turn_id, wire.ProgressBody(lease, (text(1),))),
    ):
        with pytest.raises(Problem) as caught:
            await call
        assert (caught.value.status, caught.value.code) == (409, "lease_stale")


async def test_people_are_told_how_a_turn_goes(world: World) -> None:
    claim = await world.running()
    await world.answer(claim)
    assert [event.data["state"] for event in world.events_for("ada", "turn_state")] == ["leased", "running", "answered"]
    assert world.events_for("zcode", "turn_state") == []


async def test_starting_twice_is_starting_once(world: World) -> None:
    claim = await world.running()
    started = (await world.gateway.get_turn(world.ada, claim.turn_id)).started_at
    world.clock.forward(5)
    await world.gateway.start(world.zcode, claim.turn_id, wire.StartBody(claim.lease))
    assert (await world.gateway.get_turn(world.ada, claim.turn_id)).started_at == started


async def test_a_renewed_lease_lives_on(world: World) -> None:
    claim = await world.running()
    for _ in range(5):
        world.clock.forward(60)
        answer = await world.gateway.renew(world.zcode, claim.turn_id, claim.lease)
        assert not answer.cancel_requested
        await world.gateway.sweep()
    assert answer.expires_at == "2027-01-15T08:06:30.000Z"
    assert await world.state(claim.turn_id) == "running"
    assert world.gateway.authenticate(claim.turn_key) is not None


async def test_a_bridge_that_comes_back_late_goes_on_when_nobody_else_took_the_turn(world: World) -> None:
    claim = await world.running()
    await world.expire()
    assert await world.state(claim.turn_id) == "queued"
    await world.gateway.progress(world.zcode, claim.turn_id, wire.ProgressBody(claim.lease, (text(1),)))
    await world.gateway.renew(world.zcode, claim.turn_id, claim.lease)
    assert await world.state(claim.turn_id) == "running"
    assert world.gateway.authenticate(claim.turn_key) is not None


async def test_an_old_lease_writes_nothing_once_there_is_a_newer_one(world: World) -> None:
    """cc-connect#733"""
    old = await world.running()
    await world.expire()
    new = await world.gateway.claim(world.zcode, old.turn_id)
    assert (new.lease, new.attempt) == (2, 2)
    await stale(world, old)
    for call in (
        world.gateway.reply(world.zcode, old.turn_id, wire.ReplyBody(old.lease, "ok", "old"), "key"),
        world.gateway.finish(world.zcode, old.turn_id, wire.FinishBody(old.lease, "no_reply")),
        world.gateway.release(world.zcode, old.turn_id, wire.ReleaseBody(old.lease, "shutdown")),
    ):
        with pytest.raises(Problem) as caught:
            await call
        assert caught.value.code == "lease_stale"
    assert (await world.answer(new)).state == "answered"


async def test_a_turn_that_ended_takes_nothing_more(world: World) -> None:
    claim = await world.running()
    await world.answer(claim)
    await stale(world, claim)


async def test_only_the_agents_own_key_works_on_a_turn(world: World) -> None:
    claim = await world.running()
    for who, code in ((world.ada, "forbidden"), (world.holder(claim), "forbidden"), (world.pi, "not_found")):
        with pytest.raises(Problem) as caught:
            await world.gateway.renew(who, claim.turn_id, claim.lease)
        assert caught.value.code == code


# Release


async def test_a_released_turn_waits_in_the_queue_and_the_try_is_not_counted(world: World) -> None:
    claim = await world.running()
    for _ in range(2):
        await world.gateway.release(world.zcode, claim.turn_id, wire.ReleaseBody(claim.lease, "shut down"))
    turn = await world.gateway.get_turn(world.ada, claim.turn_id)
    assert (turn.state, turn.attempt, turn.reason) == ("queued", 0, "shut down")
    told = [event.data for event in world.events_for("zcode", "turn_state")]
    assert told == [{"turn_id": claim.turn_id, "state": "queued"}]
    assert (await world.gateway.claim(world.zcode, claim.turn_id)).attempt == 1


async def test_a_turn_that_waits_for_a_quota_is_told_once_and_resumes_by_itself(world: World) -> None:
    claim = await world.running(subject="Do it")
    await world.gateway.release(world.zcode, claim.turn_id, quota("2027-01-15T09:00:00Z"))
    notice = (await world.gateway.list_mails(world.ada)).items[-1]
    assert (notice.from_.kind, notice.auto_submitted, notice.subject) == ("system", "auto-generated", "Re: Do it")
    assert "waits until 2027-01-15T09:00:00.000Z" in notice.body
    assert "used it up" in notice.body
    assert (notice.thread_id, notice.in_reply_to, notice.receipts) == (claim.thread.id, claim.mail.id, ())
    turn = await world.gateway.get_turn(world.ada, claim.turn_id)
    assert (turn.state, turn.not_before) == ("queued", "2027-01-15T09:00:00.000Z")
    assert turn.failure is not None
    with pytest.raises(Problem, match="time that has not come"):
        await world.gateway.claim(world.zcode, claim.turn_id)
    assert world.events_for("zcode", "turn_state") == []

    world.clock.forward(3600)
    await world.gateway.sweep()
    await world.gateway.sweep()
    told = [event.data for event in world.events_for("zcode", "turn_state")]
    assert told == [{"turn_id": claim.turn_id, "state": "queued"}]
    again = await world.gateway.claim(world.zcode, claim.turn_id)
    assert again.attempt == 1
    assert (await world.gateway.get_turn(world.ada, claim.turn_id)).failure is None
    release = wire.ReleaseBody(again.lease, "quota", "2027-01-15T10:00:00Z", quota(None).failure)
    await world.gateway.release(world.zcode, claim.turn_id, release)
    assert len((await world.gateway.list_mails(world.ada)).items) == 1, "told once"


async def test_a_quota_notice_to_an_agent_informs_and_starts_no_turn(world: World) -> None:
    claim = await world.running(by=world.pi)
    await world.gateway.release(world.zcode, claim.turn_id, quota(None))
    assert (await world.gateway.list_mails(world.pi)).items[0].auto_submitted == "auto-generated"
    assert (await world.gateway.list_turns(world.pi)).items == ()


async def test_a_time_that_has_passed_is_no_reason_to_wait(world: World) -> None:
    claim = await world.running()
    body = wire.ReleaseBody(claim.lease, "shut down", "2020-01-01T00:00:00Z")
    await world.gateway.release(world.zcode, claim.turn_id, body)
    assert (await world.gateway.claim(world.zcode, claim.turn_id)).lease == 2


async def test_a_wait_until_nonsense_is_refused(world: World) -> None:
    claim = await world.running()
    with pytest.raises(Problem) as caught:
        await world.gateway.release(world.zcode, claim.turn_id, wire.ReleaseBody(claim.lease, "x", "soon"))
    assert caught.value.code == "invalid"


async def test_a_release_after_a_cancel_is_the_cancels_end(world: World) -> None:
    claim = await world.running()
    await world.gateway.cancel(world.ada, claim.turn_id)
    await world.gateway.release(world.zcode, claim.turn_id, quota(None))
    assert await world.state(claim.turn_id) == "cancelled"
    assert (await world.gateway.list_mails(world.ada)).items == ()


# Progress


async def test_progress_is_shown_to_the_people_who_see_the_turn_and_never_stored(world: World) -> None:
    mail = await world.send(world.ada, "zcode", cc=("bob", "pi"))
    claim = await world.gateway.claim(world.zcode, mail.receipts[0].turn_id)
    world.live.clear()
    last = world.gateway.last_event_id()
    call = wire.ProgressEvent(2, AT, "tool_call", "ls", "bash", "c1")
    await world.gateway.progress(world.zcode, claim.turn_id, wire.ProgressBody(claim.lease, (text(1), call)))
    assert [(event.to, event.type) for event in world.live] == [("ada", "turn_progress"), ("bob", "turn_progress")]
    assert world.live[0].data == {
        "turn_id": claim.turn_id,
        "events": (
            {"seq": 1, "at": AT, "type": "text", "text": "hi"},
            {"seq": 2, "at": AT, "type": "tool_call", "text": "ls", "tool": "bash", "call_id": "c1"},
        ),
    }
    assert world.gateway.last_event_id() == last
    assert await world.gateway.recent_progress(world.ada, claim.turn_id) == (text(1), call)
    assert len((await world.gateway.list_mails(world.ada, box="all")).items) == 1


async def test_progress_is_kept_within_bounds_the_latest_stays(world: World) -> None:
    claim = await world.running()
    for seq in range(1, 2001, 100):
        events = tuple(text(number) for number in range(seq, seq + 100))
        await world.gateway.progress(world.zcode, claim.turn_id, wire.ProgressBody(claim.lease, events))
    kept = await world.gateway.recent_progress(world.ada, claim.turn_id)
    assert [event.seq for event in kept] == list(range(1501, 2001))
    large = wire.ProgressBody(claim.lease, tuple(text(seq, "x" * 60_000) for seq in range(1, 11)))
    await world.gateway.progress(world.zcode, claim.turn_id, large)
    assert len(await world.gateway.recent_progress(world.ada, claim.turn_id)) == 1
    named = wire.ProgressBody(
        claim.lease,
        tuple(wire.ProgressEvent(seq, AT, "tool_call", "", "t" * 20_000, "c" * 20_000) for seq in range(20)),
    )
    await world.gateway.progress(world.zcode, claim.turn_id, named)
    assert len(await world.gateway.recent_progress(world.ada, claim.turn_id)) == 1
    for huge in (wire.ProgressEvent(1, AT, "status", "", "t" * 70_000), wire.ProgressEvent(1, "1" * 70_000, "status")):
        with pytest.raises(Problem) as caught:
            await world.gateway.progress(world.zcode, claim.turn_id, wire.ProgressBody(claim.lease, (huge,)))
        assert caught.value.code == "too_large"
    await world.answer(claim)
    assert await world.gateway.recent_progress(world.ada, claim.turn_id) == ()


async def test_the_time_of_the_last_output_is_known_at_once_and_stored_now_and_then(world: World) -> None:
    claim = await world.running()
    for _ in range(3):
        world.clock.forward(2)
        await world.gateway.progress(world.zcode, claim.turn_id, wire.ProgressBody(claim.lease, (text(1),)))
        turn = await world.gateway.get_turn(world.ada, claim.turn_id)
        assert turn.last_output_at == f"2027-01-15T08:00:0{int(world.clock.seconds) % 10}.000Z"


@pytest.mark.parametrize(
    ("events", "code"), [((text(1),) * 501, "invalid"), ((text(1, "x" * (64 * 1024 + 1)),), "too_large")]
)
async def test_too_much_progress_at_once_is_refused(
    world: World, events: tuple[wire.ProgressEvent, ...], code: str
) -> None:
    claim = await world.running()
    with pytest.raises(Problem) as caught:
        await world.gateway.progress(world.zcode, claim.turn_id, wire.ProgressBody(claim.lease, events))
    assert caught.value.code == code


async def test_no_progress_is_no_news(world: World) -> None:
    claim = await world.running()
    world.live.clear()
    await world.gateway.progress(world.zcode, claim.turn_id, wire.ProgressBody(claim.lease, ()))
    assert world.live == []


async def test_progress_of_others_is_not_there(world: World) -> None:
    claim = await world.running()
    for call in (
        world.gateway.progress(world.pi, claim.turn_id, wire.ProgressBody(claim.lease, (text(1),))),
        world.gateway.recent_progress(world.bob, claim.turn_id),
    ):
        with pytest.raises(Problem) as caught:
            await call
        assert caught.value.code == "not_found"
