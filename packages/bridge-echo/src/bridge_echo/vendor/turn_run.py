"""Running one turn under the driver's clock: time limit, stop, a runner that breaks or hangs, a busy provider."""

import asyncio
from collections.abc import Callable, Iterable

from .answer_text import bridge_fault
from .bridge_log import Log
from .bridge_parts import Outside
from .pace import Pace
from .turn import Emit, Outcome, Runner, Status, StopSignal, TurnRequest
from .wire import FailureClass

__all__ = ["run_turn"]

BUSY_PROVIDER: frozenset[FailureClass] = frozenset({"rate_limited", "overloaded"})


async def run_turn(
    runner: Runner,
    request: TurnRequest,
    emit: Emit,
    stop: StopSignal,
    *,
    again: Callable[[TurnRequest, Outcome], TurnRequest],
    pace: Pace,
    outside: Outside,
    log: Log,
) -> Outcome:
    """Run the turn to its end; every exception of the runner is an outcome.

    A provider that is busy (``rate_limited``, ``overloaded``) is tried again after each pause of `pace.overload`, with
    the request that `again` makes of the last one and its outcome. The time limit holds for all tries together.
    """
    timer = asyncio.get_running_loop().call_later(request.timeout_s, stop.stop, "timed_out")
    try:
        pauses = iter(pace.overload)
        while True:
            outcome = await _once(runner, request, emit, stop, pace=pace, outside=outside, log=log)
            busy = outcome.failure is not None and outcome.failure.class_ in BUSY_PROVIDER
            pause = next(pauses, None) if busy else None
            if pause is None or stop.reason is not None:
                return outcome
            wait_s = pause * (0.75 + outside.jitter() / 2)
            emit(Status(f"the provider turned the turn away, trying again in {wait_s:.0f} s"))
            log.step("the provider is busy, trying again", turn=request.turn_id, in_s=round(wait_s))
            if await _stopped_within(stop, wait_s):
                return Outcome(stopped=stop.reason)
            request = again(request, outcome)
    finally:
        timer.cancel()


async def _stopped_within(stop: StopSignal, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await stop.event.wait()
    except TimeoutError:
        return False
    return True


async def _once(
    runner: Runner, request: TurnRequest, emit: Emit, stop: StopSignal, *, pace: Pace, outside: Outside, log: Log
) -> Outcome:
    """One call of the runner. After a stop it has `pace.hard_stop` seconds; then its processes are ended for it."""
    running = asyncio.create_task(runner.run(request, emit, stop))
    stopping = asyncio.create_task(stop.event.wait())
    try:
        await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            await asyncio.wait({running}, timeout=pace.hard_stop)
        if not running.done():
            log.warn("the runner did not stop in time, ending its processes", turn=request.turn_id)
            running.cancel()
            await asyncio.wait({running}, timeout=pace.last_wait)
            await outside.sweep(request.turn_id)
            return Outcome(stopped=stop.reason)
    except asyncio.CancelledError:
        await _end_all((running, stopping), pace.last_wait)
        await outside.sweep(request.turn_id)
        raise
    finally:
        stopping.cancel()
    error = asyncio.CancelledError() if running.cancelled() else running.exception()
    if error is None:
        return running.result()
    log.warn("the runner broke", turn=request.turn_id, error=f"{type(error).__name__}: {error}")
    await outside.sweep(request.turn_id)
    return Outcome(failure=bridge_fault(error))


async def _end_all(tasks: Iterable[asyncio.Task[object]], limit_s: float) -> None:
    tasks = set(tasks)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks, timeout=limit_s)
