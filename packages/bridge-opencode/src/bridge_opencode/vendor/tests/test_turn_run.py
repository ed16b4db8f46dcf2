"""One turn under the driver's clock."""

import asyncio
import io
from collections import deque
from dataclasses import replace
from pathlib import Path

import pytest

from ..bridge_log import Log
from ..bridge_parts import Outside
from ..turn import Emit, Event, Outcome, Status, StopReason, StopSignal, TurnRequest
from ..turn_run import run_turn
from ..wire import Failure
from .driver_bench import QUICK, Behaviour, ScriptedRunner

REQUEST = TurnRequest(
    "turn_1", 1, "prompt", Path("/w"), "plan", Path("/t"), Path("/s"), "ses_1", None, "amt_x", "http://x", {}, 60.0
)


class Bench:
    def __init__(self, behave: Behaviour) -> None:
        self.runner = ScriptedRunner(behave)
        self.stop = StopSignal()
        self.seen: list[Event] = []
        self.swept: deque[str] = deque()

    async def run(self, *, timeout_s: float = 60.0) -> Outcome:
        async def sweep(what: str) -> None:
            self.swept.append(what)

        def again(request: TurnRequest, outcome: Outcome) -> TurnRequest:
            return replace(request, attempt=request.attempt + 1, native_session_id=outcome.native_session_id)

        async with asyncio.timeout(10):
            return await run_turn(
                self.runner,
                replace(REQUEST, timeout_s=timeout_s),
                self.seen.append,
                self.stop,
                again=again,
                pace=QUICK,
                outside=Outside(lambda: 0.0, lambda: 0.0, lambda: "0" * 8, lambda: 0.5, sweep, sweep),
                log=Log(io.StringIO(), as_json=False, now=lambda: 0.0),
            )


async def test_an_outcome_is_passed_on_and_nothing_is_swept() -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        return Outcome(text="x")

    bench = Bench(behave)
    assert await bench.run() == Outcome(text="x")
    assert not bench.swept


@pytest.mark.parametrize(
    "error", [RuntimeError("boom"), TimeoutError(), OSError(28, "disk full"), asyncio.CancelledError()]
)
async def test_every_exception_of_a_runner_is_an_outcome_and_its_processes_are_ended(error: BaseException) -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        raise error

    bench = Bench(behave)
    outcome = await bench.run()
    assert outcome.failure is not None
    assert outcome.failure.class_ == "bridge_error"
    assert type(error).__name__ in outcome.failure.message
    assert list(bench.swept) == ["turn_1"]


async def test_the_time_limit_stops_the_turn() -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        await stop.event.wait()
        return Outcome(stopped=stop.reason)

    assert (await Bench(behave).run(timeout_s=0.01)).stopped == "timed_out"


@pytest.mark.parametrize("reason", ["cancelled", "timed_out", "shutdown", "lease_lost"])
async def test_a_runner_that_hangs_after_a_stop_is_ended_without_its_help(reason: StopReason) -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if bench.swept:
                    raise

    bench = Bench(behave)
    bench.stop.stop(reason)
    assert await bench.run() == Outcome(stopped=reason)
    assert list(bench.swept) == ["turn_1"]
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()


async def test_a_busy_provider_is_tried_again_with_the_next_request() -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        if request.attempt == 1:
            return Outcome(failure=Failure("rate_limited", "429"), native_session_id="n")
        return Outcome(text=f"{request.native_session_id}")

    bench = Bench(behave)
    assert (await bench.run()).text == "n"
    assert any(isinstance(event, Status) and "trying again" in event.text for event in bench.seen)


@pytest.mark.parametrize("class_", ["quota", "crashed", "context_too_long"])
async def test_no_other_failure_is_tried_again(class_: str) -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        return Outcome(failure=Failure(class_, "m"))  # type: ignore[arg-type]

    bench = Bench(behave)
    await bench.run()
    assert len(bench.runner.requests) == 1


async def test_a_turn_that_is_cancelled_from_outside_leaves_no_process() -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError

    bench = Bench(behave)
    running = asyncio.create_task(bench.run())
    await bench.runner.until_running("turn_1")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert list(bench.swept) == ["turn_1"]
