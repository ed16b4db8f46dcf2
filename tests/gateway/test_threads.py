import pytest

from agentmail_gateway.problems import Problem

from .world import World


async def test_threads_come_with_the_newest_activity_first(world: World) -> None:
    one = await world.send(world.ada, "bob", subject="one")
    two = await world.send(world.ada, "zcode", subject="two")
    await world.send(world.bob, "ada", subject="Re: one", in_reply_to=one.id)
    page = await world.gateway.list_threads(world.ada)
    assert [(thread.subject, thread.mails, thread.unread) for thread in page.items] == [("one", 2, 1), ("two", 1, 0)]
    assert page.items[0].participants == ("ada", "bob")
    assert [thread.id for thread in page.items] == [one.thread_id, two.thread_id]


async def test_threads_come_in_pages_each_once(world: World) -> None:
    firsts = [await world.send(world.ada, "bob", subject=str(number)) for number in range(7)]
    for mail in (firsts[1], firsts[4], firsts[1]):
        await world.send(world.bob, "ada", in_reply_to=mail.id)
    seen: list[str] = []
    after = None
    while True:
        page = await world.gateway.list_threads(world.ada, after=after, limit=2)
        seen += [thread.subject for thread in page.items]
        if page.next is None:
            break
        after = page.next
    assert seen == ["1", "4", "6", "5", "3", "2", "0"]


async def test_a_thread_is_shown_as_far_as_the_reader_sees_it(world: World) -> None:
    first = await world.send(world.ada, "bob", subject="start")
    await world.send(world.ada, "zcode", subject="for zcode", in_reply_to=first.id)
    assert len((await world.gateway.get_thread(world.ada, first.thread_id)).mails) == 2
    assert [mail.subject for mail in (await world.gateway.get_thread(world.bob, first.thread_id)).mails] == ["start"]
    seen = await world.gateway.get_thread(world.zcode, first.thread_id)
    assert (seen.subject, len(seen.mails), len(seen.turns)) == ("for zcode", 1, 1)
    assert (await world.gateway.list_threads(world.zcode)).items[0].subject == "for zcode"
    with pytest.raises(Problem) as caught:
        await world.gateway.get_thread(world.pi, first.thread_id)
    assert caught.value.code == "not_found"


async def test_a_thread_tells_its_turns_and_which_run(world: World) -> None:
    claim = await world.running(subject="work")
    thread = await world.gateway.get_thread(world.ada, claim.thread.id)
    assert [(turn.id, turn.state) for turn in thread.turns] == [(claim.turn_id, "running")]
    assert (await world.gateway.list_threads(world.ada)).items[0].running == 1
    await world.answer(claim)
    assert (await world.gateway.list_threads(world.ada)).items[0].running == 0


async def test_a_long_thread_is_read_whole_up_to_a_thousand(world: World) -> None:
    first = await world.send(world.ada, "bob")
    for _ in range(130):
        await world.send(world.ada, "bob", in_reply_to=first.id)
    assert len((await world.gateway.get_thread(world.bob, first.thread_id)).mails) == 131
    assert (await world.gateway.list_threads(world.bob)).items[0].unread == 131


async def test_a_turn_key_lists_its_own_thread_and_what_was_mailed_to_the_agent(world: World) -> None:
    sent = await world.send(world.zcode, "ada", subject="sent only")
    claim = await world.claimed(subject="own")
    holder = world.holder(claim)
    assert [thread.subject for thread in (await world.gateway.list_threads(holder)).items] == ["own"]
    with pytest.raises(Problem):
        await world.gateway.get_thread(holder, sent.thread_id)


async def test_a_cursor_that_is_none_is_refused(world: World) -> None:
    with pytest.raises(Problem) as caught:
        await world.gateway.list_threads(world.ada, after="thr_1")
    assert caught.value.code == "invalid"
