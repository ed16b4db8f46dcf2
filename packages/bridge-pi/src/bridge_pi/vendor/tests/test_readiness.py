"""Self-checks: when they are made again, and one that breaks or hangs."""

import asyncio
import io
from dataclasses import replace

from ..bridge_log import Log
from ..readiness import ReadinessWatch, observe
from ..turn import Readiness
from ..wire import Failure
from .driver_bench import QUICK, ScriptedRunner, not_ready, ready

MISSING = Failure("cli_missing", "gone", "mend")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def watch_of(runner: ScriptedRunner, clock: Clock) -> ReadinessWatch:
    log = Log(io.StringIO(), as_json=False, now=lambda: 0.0)
    pace = replace(QUICK, recheck_turn=5.0)
    return ReadinessWatch(runner, pace, log, clock=clock, changed=lambda: None)


async def test_a_ready_agent_is_not_checked_before_each_turn() -> None:
    runner, clock = ScriptedRunner(), Clock()
    watch = watch_of(runner, clock)
    for _ in range(3):
        clock.now += 1000
        assert (await watch.for_turn()).ready
    assert runner.checks == 1


async def test_a_missing_agent_is_looked_for_before_a_turn_but_not_for_each_of_a_burst() -> None:
    runner, clock = ScriptedRunner(readiness=not_ready(MISSING)), Clock()
    watch = watch_of(runner, clock)
    for _ in range(5):
        assert not (await watch.for_turn()).ready
    assert runner.checks == 1
    clock.now += 5
    runner.readiness = ready()
    assert (await watch.for_turn()).ready
    assert runner.checks == 2


async def test_a_doubt_brings_a_check() -> None:
    runner = ScriptedRunner()
    watch = watch_of(runner, Clock())
    await watch.for_turn()
    watch.doubt()
    await watch.for_turn()
    await watch.for_turn()
    assert runner.checks == 2


async def test_turns_that_come_during_a_check_wait_for_its_answer() -> None:
    runner = ScriptedRunner()
    watch = watch_of(runner, Clock())
    answers = await asyncio.gather(*(watch.for_turn() for _ in range(4)))
    assert all(answer.ready for answer in answers)
    assert runner.checks == 1


async def test_a_check_that_raises_is_a_finding() -> None:
    class Broken(ScriptedRunner):
        async def check(self) -> Readiness:
            raise ValueError("sk-abcdefghijklmnop")

    seen = await observe(Broken(), 5.0)
    assert not seen.ready
    assert seen.failure is not None
    assert seen.failure.class_ == "bridge_error"
    assert "sk-abc" not in seen.failure.message


async def test_a_check_that_hangs_is_a_finding() -> None:
    class Hanging(ScriptedRunner):
        async def check(self) -> Readiness:
            await asyncio.Event().wait()
            raise AssertionError

    seen = await observe(Hanging(), 0.01)
    assert not seen.ready
    assert seen.failure is not None
    assert "not done after" in seen.failure.message
