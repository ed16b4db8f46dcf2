"""What the runner's self-check last said, and when it is asked again."""

import asyncio
from collections.abc import Callable

from .answer_text import made_safe
from .bridge_log import Log
from .pace import Pace
from .turn import Finding, Readiness, Runner
from .wire import Failure, FailureClass

__all__ = ["SETUP_FAILURES", "ReadinessWatch", "observe"]

# A turn that failed for one of these says that what the last check saw is no longer true.
SETUP_FAILURES: frozenset[FailureClass] = frozenset(
    {"cli_missing", "runtime_too_old", "provider_missing", "not_signed_in", "no_model", "bad_option"}
)


async def observe(runner: Runner, limit_s: float) -> Readiness:
    """One self-check, at most `limit_s` seconds. A check that breaks or hangs is itself a finding; never raises."""
    try:
        async with asyncio.timeout(limit_s):
            return await runner.check()
    except TimeoutError:
        why = f"the self-check was not done after {limit_s:g} s"
    except Exception as error:  # noqa: BLE001 - whatever a runner does, mail is still answered
        why = f"the self-check failed: {type(error).__name__}: {error}"
    failure = made_safe(
        Failure("bridge_error", f"The bridge could not look at its agent: {why}.", "Run the bridge with --check.")
    )
    return Readiness(False, (Finding(False, "self-check", failure.message, failure.next_step),), {}, None, failure)


class ReadinessWatch:
    """Checks at start, again while something is missing, and before a turn when the last answer is in doubt.

    `clock` counts seconds; `changed` is called when an answer differs from the one before. A missing CLI or login is a
    state that is reported, not a reason to end.
    """

    def __init__(
        self, runner: Runner, pace: Pace, log: Log, *, clock: Callable[[], float], changed: Callable[[], None]
    ):
        self._runner = runner
        self._pace = pace
        self._log = log
        self._clock = clock
        self._changed = changed
        self._checked_at = 0.0
        self._doubted = False
        self._one_at_a_time = asyncio.Lock()
        self.current: Readiness | None = None

    async def for_turn(self) -> Readiness:
        """What a turn may rely on: a fresh check if there was none, if it was doubted, or if something was missing."""
        async with self._one_at_a_time:
            current = self.current
            age = self._clock() - self._checked_at
            if current is None or self._doubted or (not current.ready and age >= self._pace.recheck_turn):
                current = await self._check()
            return current

    def doubt(self) -> None:
        """Something that the last check saw is gone: look again before the next turn."""
        self._doubted = True

    async def run(self) -> None:
        """Check now, and again as long as something is missing. Until cancelled."""
        await self.for_turn()
        while True:
            await asyncio.sleep(self._pace.recheck)
            if self._doubted or self.current is None or not self.current.ready:
                await self.for_turn()

    async def _check(self) -> Readiness:
        before, current = self.current, await observe(self._runner, self._pace.check)
        self.current, self._checked_at, self._doubted = current, self._clock(), False
        if before is None or before != current:
            missing = "; ".join(finding.what for finding in current.findings if not finding.ok)
            if current.ready:
                self._log.step("the agent is ready", agent_version=current.agent_version, missing=missing)
            else:
                self._log.warn("the agent is not ready, mail gets a failure reply", missing=missing)
            self._changed()
        return current
