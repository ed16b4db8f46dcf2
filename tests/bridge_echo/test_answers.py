"""Mail to echo through a real gateway and a real bridge."""

import asyncio
from pathlib import Path

from .world import processes_of, world


async def test_a_first_mail_is_answered_with_its_own_words(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.person() as ada:
        bridge = await w.start_bridge()
        await bridge.says("subscribed")
        turn_id = await w.send(ada, "Hello echo,\nare you there?")
        turn = await w.until_final(ada, turn_id)
        assert (turn.state, turn.attempt) == ("answered", 1)
        [answer] = await w.answers(ada)
        assert "> Hello echo,\n> are you there?" in answer.body
        assert answer.auto_submitted == "auto-replied"
        [receipt] = (await ada.get_mail(turn.mail_id)).receipts
        assert receipt.leased_at
        assert receipt.started_at
        assert receipt.finished_at
        assert receipt.reply_id == answer.id
        assert (await w.until(ada, lambda turn: turn.pushed_at is not None, turn_id)).pushed_at
        assert await bridge.terminate() == 0
    assert w.key not in bridge.text
    assert "are you there" not in bridge.text


async def test_mail_of_a_downtime_is_answered_in_order(tmp_path: Path) -> None:
    """hermes-agent#80925"""
    async with world(tmp_path) as w, w.person() as ada:
        turns = [await w.send(ada, f"number {n}") for n in range(3)]
        await w.start_bridge(AGENTMAIL_PARALLEL_TURNS="1")
        for turn_id in turns:
            assert (await w.until_final(ada, turn_id)).state == "answered"
        bodies = [mail.body for mail in await w.answers(ada)]
        assert ["number 0" in bodies[0], "number 1" in bodies[1], "number 2" in bodies[2]] == [True] * 3


async def test_once_works_off_the_queue_and_ends(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.person() as ada:
        first = await w.send(ada, "one")
        mail_id = (await ada.get_turn(first)).mail_id
        second = await w.send(ada, "two", in_reply_to=mail_id)
        bridge = await w.start_bridge("--once")
        assert await bridge.ended() == 0
        assert [(await ada.get_turn(turn)).state for turn in (first, second)] == ["answered", "answered"]


async def test_attachments_and_files_travel_both_ways_and_the_folder_goes(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.person() as ada:
        bridge = await w.start_bridge()
        sent = await ada.put_attachment("note.txt", "text/plain", b"see this")
        turn_id = await w.send(ada, "echo: file back.txt some words", attachments=(sent.id,))
        await w.until_final(ada, turn_id)
        [answer] = await w.answers(ada)
        [attached] = answer.attachments
        assert (attached.name, await ada.read_attachment(attached.id)) == ("back.txt", b"some words\n")
        assert await bridge.terminate() == 0
        assert not list((w.state / "turns").iterdir())


async def test_a_tier_decides_what_the_agent_may_write(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.person() as ada:
        await w.start_bridge()
        denied = await w.send(ada, "echo: write a.txt x", permission_mode="plan")
        allowed = await w.send(ada, "echo: write b.txt x", permission_mode="workspace")
        await w.until_final(ada, denied)
        await w.until_final(ada, allowed)
        assert [path.name for path in (w.state / "workspaces" / "default").iterdir()] == ["b.txt"]
        bodies = [mail.body for mail in await w.answers(ada)]
        assert sum("Denied by this turn's tier: write." in body for body in bodies) == 1


async def test_a_conversation_goes_on_in_the_agents_session(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.person() as ada:
        await w.start_bridge()
        first = await w.send(ada, "one")
        await w.until_final(ada, first)
        mail_id = (await ada.get_turn(first)).mail_id
        await w.until_final(ada, await w.send(ada, "two", in_reply_to=mail_id))
        assert "mail number 2 of this conversation" in (await w.answers(ada))[-1].body


async def test_progress_is_seen_while_the_turn_runs(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.person() as ada:
        bridge = await w.start_bridge()
        await bridge.says("subscribed")
        async with asyncio.timeout(30), ada.event_stream() as events:
            turn_id = await w.send(ada, "echo: tool ls -l\necho: progress 20")
            async for event in events:
                if event.event == "turn_progress" and "pretend" in event.data:
                    break
        assert (await w.until_final(ada, turn_id)).last_output_at


async def test_a_crash_of_the_agent_is_told_with_its_last_words(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.person() as ada:
        await w.start_bridge()
        turn = await w.until_final(ada, await w.send(ada, "echo: crash"))
        assert turn.state == "failed"
        assert turn.failure is not None
        assert turn.failure.class_ == "crashed"
        assert "the mail asked for a crash" in (await w.answers(ada))[0].body


async def test_a_quota_holds_the_turn_back_and_the_sender_is_told_once(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.person() as ada:
        bridge = await w.start_bridge()
        turn_id = await w.send(ada, "echo: quota 3600")
        await bridge.says("back in the queue")
        turn = await ada.get_turn(turn_id)
        assert (turn.state, turn.attempt) == ("queued", 0)
        assert turn.not_before
        [notice] = await w.answers(ada)
        assert notice.auto_submitted == "auto-generated"


async def test_a_cancelled_turn_ends_with_all_its_processes(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.person() as ada:
        bridge = await w.start_bridge()
        turn_id = await w.send(ada, "echo: stubborn\necho: children 2\necho: wait 600")
        await w.until(ada, lambda turn: turn.last_output_at is not None, turn_id)
        await bridge.says("started")
        await ada.cancel(turn_id)
        assert (await w.until_final(ada, turn_id)).state == "cancelled"
        assert not processes_of([turn_id])
        assert not await w.answers(ada)


async def test_what_a_turn_leaves_behind_is_gone_when_it_is_answered(tmp_path: Path) -> None:
    """zai-org/feedback#104"""
    async with world(tmp_path) as w, w.person() as ada:
        await w.start_bridge()
        turn_id = await w.send(ada, "echo: children 3\nhello")
        assert (await w.until_final(ada, turn_id)).state == "answered"
        assert not processes_of([turn_id])


async def test_a_paused_agent_works_off_its_mail_when_it_is_resumed(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.person() as ada:
        bridge = await w.start_bridge()
        await bridge.says("subscribed")
        await ada.patch_agent("echo", paused=True)
        turn_id = await w.send(ada, "hello")
        await bridge.says("not claimed")
        await ada.patch_agent("echo", paused=False)
        assert (await w.until_final(ada, turn_id)).state == "answered"


async def test_directories_run_side_by_side_and_each_one_turn_at_a_time(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    async with world(tmp_path) as w, w.person() as ada:
        await w.start_bridge(AGENTMAIL_WORKSPACES=f"a={tmp_path}/a;b={tmp_path}/b", AGENTMAIL_PARALLEL_TURNS="3")
        first = await w.send(ada, "echo: wait 600", workspace="a")
        await w.until(ada, lambda turn: turn.last_output_at is not None, first)
        behind = await w.send(ada, "hello", workspace="a")
        beside = await w.send(ada, "hello", workspace="b")
        assert (await w.until_final(ada, beside)).state == "answered"
        waiting = await ada.get_turn(behind)
        assert (waiting.state, waiting.lease) == ("queued", 0)
        await ada.cancel(first)
        assert (await w.until_final(ada, behind)).state == "answered"


async def test_an_unknown_workspace_is_answered_with_the_ones_there_are(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.person() as ada:
        await w.start_bridge()
        turn = await w.until_final(ada, await w.send(ada, "hello", workspace="nowhere"))
        assert turn.failure is not None
        assert turn.failure.class_ == "workspace_unknown"
        assert "default" in (await w.answers(ada))[0].body


async def test_an_answer_above_the_size_of_a_mail_comes_attached(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.person() as ada:
        await w.start_bridge()
        assert (await w.until_final(ada, await w.send(ada, "echo: large 400"))).state == "answered"
        [attached] = (await w.answers(ada))[0].attachments
        assert (attached.name, attached.size) == ("answer.md", 400 * 1024)
