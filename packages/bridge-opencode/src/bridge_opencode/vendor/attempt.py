"""One attempt at one turn, in order: claim, place, tier, set-up, start, run, ending, spool, delivery."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import attempt_log, relay_policy
from .answer_text import bridge_fault, missing_attachment
from .attempt_log import AttemptLog
from .bridge_log import rfc3339
from .bridge_parts import BridgeParts
from .directory_lock import lock_directory
from .explicit_sends import answered_already
from .gateway_errors import GatewayError, GatewayProblem, GatewayUnreachable
from .lease import LEASE_LOST, keep_lease
from .progress_feed import ProgressFeed
from .readiness import SETUP_FAILURES
from .session_tie import write_tie
from .settlement import Result, hand_back, settle
from .turn import Event, Outcome, Started, StopSignal, TurnRequest
from .turn_ending import SHUTDOWN, Circumstances, conclude, is_empty
from .turn_files import look_out
from .turn_run import run_turn
from .turn_setup import Prepared, prepare, tie_of
from .turn_tier import TierChoice, choose_tier
from .wire import Claim, FinishBody, ProgressBody, ProgressEvent, ReplyBody, StartBody
from .workspace import Place, WorkspaceError

__all__ = ["Slot", "work"]

BUSY_DIRECTORY = "another turn works in the directory"
BUSY_ELSEWHERE = "a turn of another bridge works in the directory"


@dataclass(slots=True)
class Slot:
    """A turn under way here. `directory` is known at the latest once it was claimed."""

    turn_id: str
    thread_id: str | None = None
    directory: Path | None = None
    stop: StopSignal = field(default_factory=StopSignal)


async def work(parts: BridgeParts, slot: Slot, placed: Callable[[], None]) -> Result:
    """Claim the turn and bring it to an end. `placed` is called once it is known in which directory it runs.

    Raises `GatewayProblem` 401 or 403: the bridge is not let in.
    """
    try:
        claim = await parts.gateway.claim(slot.turn_id)
    except GatewayUnreachable as error:
        parts.log.warn("the turn could not be claimed now", turn=slot.turn_id, why=error)
        return "again"
    except GatewayProblem as problem:
        if problem.status in (401, 403):
            raise
        later = problem.status >= 500 or problem.status == 429 or problem.code == "bad_answer"
        parts.log.step("not claimed", turn=slot.turn_id, code=problem.code, why=problem)
        return "again" if later else "gone"
    if not _new(parts, claim):
        parts.log.warn("this lease was taken up before, ignoring it", turn=claim.turn_id, lease=claim.lease)
        return "gone"
    parts.log.step("claimed", turn=claim.turn_id, attempt=claim.attempt, sender=claim.mail.from_.name)
    slot.thread_id = claim.thread.id
    keeper = asyncio.create_task(
        keep_lease(parts.gateway, claim.turn_id, claim.lease, slot.stop, parts.pace, parts.log)
    )
    try:
        return await _to_an_end(_Attempt(parts, slot, claim, placed))
    finally:
        keeper.cancel()
        parts.busy.release(claim.turn_id)


async def _to_an_end(attempt: "_Attempt") -> Result:
    """A fault of the bridge is told to the sender like any other: no turn is lost to one."""
    try:
        return await attempt.go()
    except GatewayProblem:
        raise
    except Exception as error:  # noqa: BLE001 - the last place where a turn can still be answered
        return await attempt.fault(error)


def _new(parts: BridgeParts, claim: Claim) -> bool:
    try:
        return parts.taken.take(claim.turn_id, claim.attempt, claim.lease)
    except OSError as error:
        # The ledger decides what is worked on; this memory only catches what comes twice.
        parts.log.warn("a taken turn could not be noted on disk", turn=claim.turn_id, why=error)
        return True


class _Attempt:
    def __init__(self, parts: BridgeParts, slot: Slot, claim: Claim, placed: Callable[[], None]):
        self._parts = parts
        self._slot = slot
        self._claim = claim
        self._placed = placed
        self._began = parts.outside.clock()
        self._began_at = rfc3339(parts.outside.epoch())
        self._own = claim.mail.from_.name == parts.agent_name
        self._log_path = parts.state.attempts / claim.turn_id
        self._place: Place | None = None
        self._tied: str | None = None
        self._side: set[asyncio.Task[None]] = set()

    async def go(self) -> Result:
        parts, claim = self._parts, self._claim
        sender, auto = claim.mail.from_.kind, claim.mail.auto_submitted
        if not relay_policy.may_start(sender=sender, own=self._own, auto_submitted=auto):
            return await settle(parts, claim, FinishBody(claim.lease, "no_reply"))
        stopped = self._slot.stop.reason
        if stopped == "shutdown":
            return await hand_back(parts, claim, SHUTDOWN, "gone")
        if stopped is not None:
            return await self._end(Outcome(stopped=stopped), None)
        try:
            place = parts.workspaces.resolve(claim.mail.workspace, claim.session.workspace)
        except WorkspaceError as error:
            return await self._end(Outcome(failure=error.failure()), None)
        self._place, self._slot.directory = place, place.path
        readiness = await parts.readiness.for_turn()
        if not readiness.ready and readiness.failure is not None:
            return await self._end(Outcome(failure=readiness.failure), None)
        choice = choose_tier(claim, parts.settings.max_mode, readiness.enforcement)
        if not isinstance(choice, TierChoice):
            return await self._end(Outcome(failure=choice), None)
        if not parts.busy.take(place.path, claim.turn_id):
            return await hand_back(parts, claim, BUSY_DIRECTORY, "waits")
        lock = lock_directory(place.path)
        if lock is None:
            return await hand_back(parts, claim, BUSY_ELSEWHERE, "elsewhere")
        self._placed()
        with lock:
            return await self._set_up_and_run(place, choice)

    async def fault(self, error: Exception) -> Result:
        """End a turn in which the bridge went wrong."""
        parts, claim = self._parts, self._claim
        parts.log.warn("the bridge failed at a turn", turn=claim.turn_id, error=f"{type(error).__name__}: {error}")
        if parts.spool.has(claim.turn_id):
            return "kept"
        return await self._end(Outcome(failure=bridge_fault(error)), None)

    async def _set_up_and_run(self, place: Place, choice: TierChoice) -> Result:
        parts, claim = self._parts, self._claim
        try:
            prepared = await prepare(parts, claim, place, choice)
            parts.workspaces.recheck(place)
        except GatewayUnreachable as error:
            parts.log.warn("an attachment did not come", turn=claim.turn_id, why=error)
            return await hand_back(parts, claim, "an attachment could not be fetched", "again")
        except GatewayProblem as problem:
            names = ", ".join(attachment.name for attachment in claim.mail.attachments)
            return await self._end(Outcome(failure=missing_attachment(names, str(problem))), None)
        except WorkspaceError as error:
            return await self._end(Outcome(failure=error.failure()), None)
        except OSError as error:
            return await self._end(Outcome(failure=bridge_fault(error)), None)
        outcome = await self._run(prepared)
        if outcome.failure is not None and outcome.failure.class_ in SETUP_FAILURES:
            parts.readiness.doubt()
        try:
            return await self._end(outcome, prepared)
        finally:
            native = outcome.native_session_id
            if native is not None and native != self._tied:
                self._tie(prepared, native)
            if self._side:
                await asyncio.wait(self._side)

    async def _run(self, prepared: Prepared) -> Outcome:
        parts, claim, stop = self._parts, self._claim, self._slot.stop
        steps = AttemptLog(self._log_path)
        steps.begin(claim.attempt)
        feed = ProgressFeed(self._show, every_s=parts.pace.progress, at=lambda: rfc3339(parts.outside.epoch()))

        def emit(event: Event) -> None:
            feed.emit(event)
            steps.note(event)
            if isinstance(event, Started) and event.native_session_id and event.native_session_id != self._tied:
                self._tie(prepared, event.native_session_id)

        def again(last: TurnRequest, outcome: Outcome) -> TurnRequest:
            native = outcome.native_session_id or self._tied or last.native_session_id
            attempt = last.attempt + 1
            prompt = prepared.prompt(attempt, attempt_log.read_earlier(self._log_path))
            return replace(last, native_session_id=native, attempt=attempt, prompt=prompt)

        parts.log.step("started", turn=claim.turn_id, workspace=prepared.place.name, tier=prepared.request.tier)
        starting = asyncio.create_task(self._start(prepared))
        feeding = asyncio.create_task(feed.run())
        try:
            return await run_turn(
                parts.runner,
                prepared.request,
                emit,
                stop,
                again=again,
                pace=parts.pace,
                outside=parts.outside,
                log=parts.log,
            )
        finally:
            feeding.cancel()
            self._aside(asyncio.create_task(feed.finish()))
            await starting

    async def _end(self, outcome: Outcome, prepared: Prepared | None) -> Result:
        """Say how the turn ended, on disk first."""
        parts, claim, stop = self._parts, self._claim, self._slot.stop
        found = look_out(prepared.folder) if prepared is not None else None
        around = Circumstances(
            own=self._own,
            answered_by_agent=is_empty(outcome) and await self._answered(),
            remarks=prepared.remarks if prepared is not None else (),
            left_files=found.left if found is not None else (),
            workspace=self._place.name if self._place is not None else None,
            context_lost=prepared is not None and prepared.context_lost,
            duration_s=parts.outside.clock() - self._began,
            limit_s=parts.settings.turn_timeout_s,
            now=parts.outside.epoch(),
            secrets=(claim.turn_key, parts.settings.agent_key or "", parts.settings.agent_secret or ""),
        )
        conclusion = conclude(claim, outcome, stop.reason, around)
        failure = outcome.failure.class_ if outcome.failure is not None else None
        parts.log.step(
            "ended",
            turn=claim.turn_id,
            after_s=round(around.duration_s, 1),
            stopped=stop.reason or outcome.stopped,
            failure=failure,
        )
        files = found.files if found is not None and isinstance(conclusion, ReplyBody) else ()
        return await settle(parts, claim, conclusion, files)

    async def _start(self, prepared: Prepared) -> None:
        body = StartBody(self._claim.lease, prepared.request.native_session_id, prepared.place.name)
        try:
            await self._parts.gateway.start(self._claim.turn_id, body)
        except GatewayError as error:
            if isinstance(error, GatewayProblem) and error.code in LEASE_LOST:
                self._slot.stop.stop("lease_lost")
            self._parts.log.warn("the start was not noted", turn=self._claim.turn_id, why=error)

    async def _show(self, events: tuple[ProgressEvent, ...]) -> None:
        with suppress(GatewayError):
            await self._parts.gateway.progress(self._claim.turn_id, ProgressBody(self._claim.lease, events))

    async def _answered(self) -> bool:
        """Whether the agent itself mailed the sender during this turn; asked only when it said nothing else."""
        try:
            thread = await self._parts.gateway.get_thread(self._claim.thread.id)
        except GatewayError:
            return False
        since = next((turn.leased_at for turn in thread.turns if turn.id == self._claim.turn_id), None)
        return answered_already(
            thread.mails, agent=self._parts.agent_name, turn_mail=self._claim.mail, since=since or self._began_at
        )

    def _tie(self, prepared: Prepared, native_id: str) -> None:
        self._tied = native_id

        async def write() -> None:
            try:
                await asyncio.to_thread(write_tie, prepared.tie_folder, tie_of(prepared, native_id))
            except OSError as error:
                self._parts.log.warn("the session could not be noted", turn=self._claim.turn_id, why=error)

        self._aside(asyncio.create_task(write()))

    def _aside(self, task: asyncio.Task[None]) -> None:
        self._side.add(task)
        task.add_done_callback(self._side.discard)
