"""Real processes killed in the middle: nothing is lost, nothing is said twice, nobody is left behind."""

import asyncio
import signal
from pathlib import Path

import pytest

from shared.wire import Mail

from .wire_cut import wire_cut
from .world import processes_of, world

SLOW = "a slow question\necho: children 2\necho: wait 600"
pytestmark = pytest.mark.slow


def answers_to(turn_mail: str, mails: list[Mail]) -> list[Mail]:
    return [mail for mail in mails if mail.in_reply_to == turn_mail]


async def test_a_bridge_killed_in_the_middle_of_a_turn_answers_once_after_its_restart(tmp_path: Path) -> None:
    """zai-org/feedback#104: and what its agent left behind is gone."""
    async with world(tmp_path) as w, w.person() as ada:
        bridge = await w.start_bridge()
        turn_id = await w.send(ada, SLOW)
        await w.until(ada, lambda turn: turn.last_output_at is not None, turn_id)
        await bridge.kill()
        assert len(processes_of([turn_id])) >= 1
        # The mail asks for a long wait each time: the second bridge is stopped by the time limit, which is an answer.
        second = await w.start_bridge(AGENTMAIL_TURN_TIMEOUT_S="2")
        await second.says("handed back what was left in the middle")
        turn = await w.until_final(ada, turn_id)
        assert (turn.state, turn.failure is not None and turn.failure.class_) == ("failed", "timed_out")
        assert len(answers_to(turn.mail_id, await w.answers(ada))) == 1
        assert not processes_of([turn_id])


async def test_leftovers_of_a_killed_bridge_are_ended_before_the_next_one_works(tmp_path: Path) -> None:
    """zai-org/feedback#104"""
    async with world(tmp_path) as w, w.person() as ada:
        bridge = await w.start_bridge()
        turn_id = await w.send(ada, SLOW)
        await w.until(ada, lambda turn: turn.last_output_at is not None, turn_id)
        await bridge.kill()
        await ada.cancel(turn_id)
        second = await w.start_bridge()
        await second.says("subscribed")
        after = await w.send(ada, "are you back?")
        assert (await w.until_final(ada, after)).state == "answered"
        assert not processes_of([turn_id])


async def test_a_gateway_killed_under_a_running_turn_gets_its_answer_once_when_it_is_back(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        bridge = await w.start_bridge()
        async with w.person() as ada:
            turn_id = await w.send(ada, "hello\necho: wait 2")
            await bridge.says("started")
            assert w.gateway is not None
            await w.gateway.kill()
            await bridge.says("ended turn")
            await w.start_gateway()
            turn = await w.until_final(ada, turn_id)
            assert (turn.state, turn.attempt) == ("answered", 1)
            after = await w.send(ada, "still there?")
            await w.until_final(ada, after)
            assert len(answers_to(turn.mail_id, await w.answers(ada))) == 1
        assert bridge.text.count("claimed ") == 2


async def test_a_gateway_killed_between_turns_is_found_again(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        bridge = await w.start_bridge()
        await bridge.says("subscribed")
        assert w.gateway is not None
        await w.gateway.kill()
        await w.start_gateway()
        async with w.person() as ada:
            assert (await w.until_final(ada, await w.send(ada, "back?"))).state == "answered"


@pytest.mark.parametrize("hold", [False, True], ids=["cut", "silent"])
async def test_a_swallowed_reply_makes_no_second_mail(tmp_path: Path, hold: bool) -> None:
    """openclaw#29106: the gateway stored the reply and the acknowledgement was lost."""
    async with world(tmp_path) as w, w.person() as ada, wire_cut(w.port, "/reply HTTP/1.1", hold=hold) as cut:
        bridge = await w.start_bridge(url=cut.url)
        turn_id = await w.send(ada, "hello")
        await cut.until_swallowed()
        if hold:
            await bridge.kill()
            bridge = await w.start_bridge()
        await bridge.says("answered: ")
        turn = await w.until_final(ada, turn_id)
        assert turn.state == "answered"
        assert len(answers_to(turn.mail_id, await w.answers(ada))) == 1
        assert not list((w.state / "spool").glob("*.json"))


async def test_a_bridge_killed_with_an_answer_in_hand_delivers_it_and_does_not_run_the_turn_again(
    tmp_path: Path,
) -> None:
    """openclaw#29106"""
    async with world(tmp_path) as w, w.person() as ada:
        async with wire_cut(w.port, "/attachments?name=kept.txt", hold=True) as cut:
            bridge = await w.start_bridge(url=cut.url)
            turn_id = await w.send(ada, "echo: file kept.txt words")
            await cut.until_swallowed()
            await bridge.kill()
        second = await w.start_bridge()
        turn = await w.until_final(ada, turn_id)
        assert (turn.state, turn.attempt) == ("answered", 1)
        [answer] = answers_to(turn.mail_id, await w.answers(ada))
        assert [attachment.name for attachment in answer.attachments] == ["kept.txt"]
        assert "claimed " not in second.text


async def test_a_lost_event_stream_is_taken_up_again_and_no_mail_runs_twice(tmp_path: Path) -> None:
    """cc-connect#733, cc-connect#607, takopi PR#198"""
    async with world(tmp_path) as w, w.person() as ada, wire_cut(w.port, "\x00never", times=0) as cut:
        bridge = await w.start_bridge(url=cut.url)
        await bridge.says("subscribed")
        first = await w.send(ada, "one")
        await w.until_final(ada, first)
        await cut.break_all()
        await bridge.says("not connected")
        second = await w.send(ada, "two")
        assert (await w.until_final(ada, second)).state == "answered"
        await bridge.says("subscribed", times=2)
        assert len(await w.answers(ada)) == 2
        assert bridge.text.count("claimed ") == 2


@pytest.mark.parametrize("body", ["echo: wait 600", "echo: stubborn\necho: children 2\necho: wait 600"])
async def test_sigterm_stops_the_turn_hands_it_back_and_ends_in_time(tmp_path: Path, body: str) -> None:
    async with world(tmp_path) as w, w.person() as ada:
        bridge = await w.start_bridge()
        turn_id = await w.send(ada, body)
        await w.until(ada, lambda turn: turn.last_output_at is not None, turn_id)
        async with asyncio.timeout(15):
            assert await bridge.terminate() == 0
        turn = await ada.get_turn(turn_id)
        assert (turn.state, turn.attempt) == ("queued", 0)
        assert not processes_of([turn_id])
        assert not await w.answers(ada)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_while_idle_ends_the_bridge_at_once(tmp_path: Path, number: signal.Signals) -> None:
    async with world(tmp_path) as w:
        bridge = await w.start_bridge()
        await bridge.says("subscribed")
        bridge.process.send_signal(number)
        async with asyncio.timeout(5):
            assert await bridge.ended() == 0
