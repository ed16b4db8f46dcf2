"""How turns are stopped: by their sender, the clock, a lost lease, the end of the bridge, a busy provider."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from ..turn import Emit, Outcome, Started, StopReason, StopSignal, ToolCall, ToolResult, TurnRequest
from ..wire import Failure
from .driver_bench import QUICK, ScriptedRunner, bench
from .fake_gateway import FakeGateway


def closed() -> ScriptedRunner:
    """A runner whose turns go on until they are stopped."""
    runner = ScriptedRunner()
    runner.gate.clear()
    return runner


@pytest.mark.parametrize("told", ["event", "renewal"])
async def test_a_cancelled_turn_is_stopped_and_nothing_is_mailed(tmp_path: Path, told: str) -> None:
    pace = replace(QUICK, renew=0.01 if told == "renewal" else 30.0)
    async with bench(tmp_path, runner=closed(), pace=pace) as b:
        turn = await b.gateway.post()
        await b.runner.until_running(turn)
        await b.gateway.cancel(turn, tell=told == "event")
        assert (await b.gateway.until_state(turn)).state == "cancelled"
    assert not b.gateway.replies


async def test_a_cancel_that_overtakes_the_claim_is_not_lost(tmp_path: Path) -> None:
    gateway = FakeGateway()
    async with bench(tmp_path, gateway, closed()) as b:
        turn = await gateway.post()
        await gateway.until(lambda: ("claim", turn) in gateway.calls)
        await gateway.cancel(turn)
        assert (await gateway.until_state(turn)).state == "cancelled"
    assert not b.gateway.replies


async def test_an_answer_that_was_complete_when_its_sender_cancelled_is_not_mailed(tmp_path: Path) -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        await stop.event.wait()
        return Outcome(text="too late")

    async with bench(tmp_path, runner=ScriptedRunner(behave)) as b:
        turn = await b.gateway.post()
        await b.runner.until_running(turn)
        await b.gateway.cancel(turn)
        assert (await b.gateway.until_state(turn)).state == "cancelled"
    assert not b.gateway.replies


async def test_the_drivers_clock_ends_a_turn_and_what_was_said_is_told(tmp_path: Path) -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        await stop.event.wait()
        return Outcome(text="so far", stopped=stop.reason)

    async with bench(tmp_path, runner=ScriptedRunner(behave), AGENTMAIL_TURN_TIMEOUT_S="1") as b:
        turn = await b.gateway.post()
        assert (await b.gateway.until_state(turn)).state == "failed"
    [(_, body)] = b.gateway.replies
    assert body.failure is not None
    assert body.failure.class_ == "timed_out"
    assert body.body.endswith("What it said until then:\n\nso far")


async def test_an_answer_that_was_complete_when_the_time_was_up_is_mailed(tmp_path: Path) -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        await stop.event.wait()
        return Outcome(text="just in time")

    async with bench(tmp_path, runner=ScriptedRunner(behave), AGENTMAIL_TURN_TIMEOUT_S="1") as b:
        turn = await b.gateway.post()
        assert (await b.gateway.until_state(turn)).state == "answered"


async def test_a_stale_lease_stops_the_turn_and_this_attempt_says_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path, runner=closed()) as b:
        turn = await b.gateway.post()
        await b.runner.until_running(turn)
        await b.gateway.expire(turn)
        await b.gateway.claim(turn)
        await b.gateway.until(lambda: not b.runner.running)
        assert (b.gateway.turns[turn].state, b.gateway.turns[turn].lease) == ("leased", 2)
        assert not b.gateway.replies
        assert not b.gateway.finishes
        assert not b.gateway.releases


async def test_a_gateway_that_is_away_for_long_does_not_stop_a_turn(tmp_path: Path) -> None:
    async with bench(tmp_path, runner=closed()) as b:
        turn = await b.gateway.post()
        await b.runner.until_running(turn)
        await b.gateway.go(online=False)
        renewals = b.gateway.count("renew")
        await b.gateway.until(lambda: b.gateway.count("renew") > renewals + 2)
        await b.gateway.go(online=True)
        b.runner.gate.set()
        assert (await b.gateway.until_state(turn)).state == "answered"
    assert len(b.runner.requests) == 1


async def test_sigterm_hands_running_turns_back_with_a_note_and_claims_nothing_more(tmp_path: Path) -> None:
    gateway = FakeGateway()
    async with bench(tmp_path, gateway, closed()) as b:
        first, second = await gateway.post(), await gateway.post()
        await b.runner.until_running(first)
        assert await b.stop() == 0
    assert [(turn, body.reason) for turn, body in gateway.releases] == [(first, "the bridge was stopped")]
    assert gateway.turns[first].state == gateway.turns[second].state == "queued"
    assert gateway.turns[first].attempt == 0
    assert not gateway.replies
    async with bench(tmp_path, gateway) as b:
        await gateway.until_state(first)
        await gateway.until_state(second)
    assert "An earlier one was ended in the middle" in b.runner.requests[0].prompt


async def test_sigterm_between_claim_and_start_hands_the_turn_back_unrun(tmp_path: Path) -> None:
    gateway = FakeGateway()
    async with bench(tmp_path, gateway) as b:
        await gateway.until(lambda: bool(gateway.streams))
        turn = await gateway.post()
        await gateway.until(lambda: ("claim", turn) in gateway.calls)
        assert await b.stop() == 0
    assert gateway.turns[turn].state in ("queued", "answered")
    assert len(b.runner.requests) == len(gateway.replies)


async def test_a_runner_that_ignores_the_stop_is_ended_without_its_help(tmp_path: Path) -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError

    async with bench(tmp_path, runner=ScriptedRunner(behave)) as b:
        turn = await b.gateway.post()
        await b.runner.until_running(turn)
        assert await b.stop() == 0
    assert turn in b.swept
    assert [released for released, _ in b.gateway.releases] == [turn]


async def test_an_answer_finished_while_the_bridge_stops_is_delivered(tmp_path: Path) -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        await stop.event.wait()
        return Outcome(text="done in time")

    async with bench(tmp_path, runner=ScriptedRunner(behave)) as b:
        turn = await b.gateway.post()
        await b.runner.until_running(turn)
        assert await b.stop() == 0
    assert b.gateway.turns[turn].state == "answered"


async def test_the_next_attempt_is_told_what_the_last_one_was_seen_to_do(tmp_path: Path) -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        emit(Started("native-7"))
        emit(ToolCall("c", "Bash", "make deploy"))
        emit(ToolResult("c", "Bash", True))
        emit(ToolCall("d", "Edit", "a.py"))
        await stop.event.wait()
        return Outcome(stopped=stop.reason)

    gateway = FakeGateway()
    async with bench(tmp_path, gateway, ScriptedRunner(behave)) as b:
        turn = await gateway.post()
        await b.runner.until_running(turn)
        await b.stop()
    async with bench(tmp_path, gateway) as b:
        await gateway.until_state(turn)
    [request] = b.runner.requests
    assert "called Bash make deploy" in request.prompt
    assert "Bash ended well" in request.prompt
    assert "called Edit a.py" in request.prompt
    assert request.native_session_id == "native-7"


async def test_a_busy_provider_is_tried_again_and_the_answer_counts(tmp_path: Path) -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        if request.attempt < 3:
            return Outcome(failure=Failure("overloaded", "529", ""), native_session_id="native-1")
        return Outcome(text=f"resumed {request.native_session_id}")

    async with bench(tmp_path, runner=ScriptedRunner(behave)) as b:
        turn = await b.gateway.post()
        assert (await b.gateway.until_state(turn)).state == "answered"
    assert b.gateway.replies[0][1].body == "resumed native-1"
    assert b.gateway.turns[turn].attempt == 1


async def test_a_provider_that_stays_busy_is_a_failure_in_the_end(tmp_path: Path) -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        return Outcome(failure=Failure("rate_limited", "429", "Later."))

    async with bench(tmp_path, runner=ScriptedRunner(behave)) as b:
        turn = await b.gateway.post()
        assert (await b.gateway.until_state(turn)).state == "failed"
    assert len(b.runner.requests) == 1 + len(QUICK.overload)


@pytest.mark.parametrize("reason", ["cancelled", "shutdown"])
async def test_waiting_for_a_busy_provider_can_be_stopped(tmp_path: Path, reason: StopReason) -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        return Outcome(failure=Failure("rate_limited", "429", "Later."))

    async with bench(tmp_path, runner=ScriptedRunner(behave), pace=replace(QUICK, overload=(3600.0,))) as b:
        turn = await b.gateway.post()
        await b.gateway.until(lambda: any("trying again" in event.text for event in b.gateway.shown[turn]))
        if reason == "cancelled":
            await b.gateway.cancel(turn)
            assert (await b.gateway.until_state(turn)).state == "cancelled"
        else:
            assert await b.stop() == 0
            assert b.gateway.turns[turn].state == "queued"


async def test_a_used_up_quota_gives_the_turn_back_until_it_is_full_again(tmp_path: Path) -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        return Outcome(failure=Failure("quota", "Used up.", "Wait."), wait_until="2026-12-01T09:00:00+00:00")

    async with bench(tmp_path, runner=ScriptedRunner(behave)) as b:
        turn = await b.gateway.post()
        await b.gateway.until(lambda: bool(b.gateway.releases))
    [(_, body)] = b.gateway.releases
    assert body.not_before == "2026-12-01T09:00:00.000Z"
    assert body.failure == Failure("quota", "Used up.", "Wait.")
    assert b.gateway.turns[turn].state == "queued"
    assert not b.gateway.replies


@pytest.mark.parametrize("until", ["yesterday", "2026-12-01T09:00:00", "2099-01-01T00:00:00Z", None])
async def test_a_quota_without_a_usable_time_is_a_failure_reply(tmp_path: Path, until: str | None) -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        return Outcome(failure=Failure("quota", "Used up.", "Wait."), wait_until=until)

    async with bench(tmp_path, runner=ScriptedRunner(behave)) as b:
        turn = await b.gateway.post()
        assert (await b.gateway.until_state(turn)).state == "failed"


async def test_a_quota_that_was_full_again_in_the_past_can_not_make_the_bridge_spin(tmp_path: Path) -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        return Outcome(failure=Failure("quota", "Used up.", "Wait."), wait_until="2020-01-01T00:00:00Z")

    async with bench(tmp_path, runner=ScriptedRunner(behave)) as b:
        await b.gateway.post()
        await b.gateway.until(lambda: bool(b.gateway.releases))
        assert b.gateway.releases[0][1].not_before == "2026-11-30T00:54:20.000Z"
    assert len(b.runner.requests) == 1
