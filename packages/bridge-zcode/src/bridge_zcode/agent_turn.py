"""One turn of ZCode: its process from the start to the end of the last descendant, and what became of it."""

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from .arguments import arguments, deliver, is_session_id
from .check import Checked
from .environment import environment, guarded_names, secrets_in, unguarded_names
from .events import MAX_LINE_BYTES, EventReader
from .failure_texts import failure
from .failures import Run, failure_of, lost_session, passing_fault, quota_message
from .options import Options
from .probes import Launch
from .quota import rfc3339, wait_until
from .turn_mode import is_forbidden, limits_note
from .vendor.plain_text import one_line
from .vendor.process import Child, start
from .vendor.redact import redact
from .vendor.turn import Emit, Outcome, Status, StopSignal, TurnRequest
from .vendor.wire import Failure
from .workspace_files import Obeyed

__all__ = ["AgentTurn", "Times", "endangered"]


@dataclass(frozen=True, slots=True)
class Times:
    """Limits in seconds, and the clock (aware, in the machine's own zone).

    `polite_s`: ZCode closes within 2 s of a signal and ends its own shell children meanwhile, which no signal to its
    group reaches. `linger_s`: after its result it cleans up for at most 18 s and then ends itself. `swap_pause_s`:
    before a second try while an update exchanges its files.
    """

    polite_s: float = 4.0
    linger_s: float = 20.0
    swap_pause_s: float = 3.0
    now: Callable[[], datetime] = lambda: datetime.now().astimezone()


@dataclass(frozen=True, slots=True)
class _Ended:
    """How one process ended; `forbidden` names the tool for which it was stopped."""

    run: Run
    forbidden: str | None = None


class AgentTurn:
    """One request on its way to an outcome: one process, and a second one where that makes sense."""

    def __init__(
        self,
        options: Options,
        checked: Checked,
        launch: Launch,
        request: TurnRequest,
        obeyed: Obeyed,
        emit: Emit,
        stop: StopSignal,
        times: Times,
    ):
        self._launch = launch
        self._servers = checked.servers
        self._request = request
        self._emit = emit
        self._stop = stop
        self._times = times
        self._mode = options.mode(request.tier)
        self._env = environment(
            options.environ,
            turn=request.env,
            providers=launch.providers,
            electron=launch.electron,
            guarded=guarded_names(obeyed.names, request.tier),
        )
        self._uncovered = unguarded_names(obeyed.names)
        self._prompt_bytes = options.prompt_bytes

    async def outcome(self) -> Outcome:
        """Run, and once more after a lost session or in the middle of an update. Raises ProcessError and OSError."""
        native = self._request.native_session_id
        resume = native if is_session_id(native) else None
        context_lost = native is not None and resume is None
        ended = await self._process(resume)
        if resume is not None and self._may_repeat(ended) and lost_session(ended.run):
            self._emit(Status("the session could not be resumed, starting a fresh one"))
            fresh = await self._process(None)
            if failure_of(fresh.run) is not None and fresh.forbidden is None:
                # It was not the session: a later turn may go on with it.
                return replace(self._told(fresh, context_lost=False), native_session_id=resume)
            ended, context_lost = fresh, True
        elif self._may_repeat(ended) and passing_fault(ended.run):
            self._emit(Status("ZCode is being updated, trying again"))
            if not await self._stopped_within(self._times.swap_pause_s):
                ended = await self._process(resume)
        went_on = ended.run.facts.session_id
        if resume is not None and went_on is not None and went_on != resume:
            context_lost = True
        return self._told(ended, context_lost)

    def _may_repeat(self, ended: _Ended) -> bool:
        return self._stop.reason is None and ended.forbidden is None

    async def _stopped_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._stop.event.wait()
        except TimeoutError:
            return False
        return True

    async def _process(self, resume: str | None) -> _Ended:
        """One process from its start until nothing of it is left."""
        request = self._request
        delivery = deliver(
            request.prompt,
            note=limits_note(request.tier, self._mode),
            turn_id=request.turn_id,
            file=request.turn_dir / "mail.md",
            limit=self._prompt_bytes,
        )
        if delivery.attached is not None:
            await asyncio.to_thread(_write_private, delivery.attached, delivery.content)
        argv = arguments(delivery, self._mode, workspace=request.workspace, resume=resume)
        reader = EventReader()
        child = await start(
            (*self._launch.argv, *argv), cwd=request.workspace, env=self._env, line_limit=MAX_LINE_BYTES
        )
        async with child:
            reading = asyncio.create_task(self._read(child, reader))
            stopping = asyncio.create_task(self._stop.event.wait())
            try:
                await asyncio.wait({reading, stopping}, return_when=asyncio.FIRST_COMPLETED)
                # What comes after the wish to stop is the agent's good-bye, not its answer.
                whole, cut_short = reader.facts.result_seen, not reading.done()
                if cut_short:
                    await child.kill_tree(signal.SIGTERM, self._times.polite_s)
                forbidden, lingered = await reading
            finally:
                reading.cancel()
                stopping.cancel()
        exit_code = child.returncode
        if whole and (cut_short or lingered):
            exit_code = 0
        elif exit_code is None:
            exit_code = -signal.SIGKILL
        return _Ended(Run(reader.facts, exit_code, child.stderr_tail()), forbidden)

    async def _read(self, child: Child, reader: EventReader) -> tuple[str | None, bool]:
        """Read to the end: the tool that must not run, if one did, and whether the process outlived its own end."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(None) as limit, aclosing(child.stdout_lines()) as lines:
                async for line in lines:
                    for event in reader.line(line.text, clipped=line.clipped):
                        self._emit(event)
                    forbidden = self._forbidden(reader)
                    if forbidden is not None:
                        return forbidden, False
                    if reader.facts.result_seen and limit.when() is None:
                        limit.reschedule(loop.time() + self._times.linger_s)
                if limit.when() is None:
                    limit.reschedule(loop.time() + self._times.linger_s)
                await child.wait()
        except TimeoutError:
            return None, True
        return None, False

    def _forbidden(self, reader: EventReader) -> str | None:
        for tool in reader.facts.tools.newly_ran():
            if is_forbidden(tool, self._request.tier, self._mode, servers=self._servers):
                return tool
        return None

    def _told(self, ended: _Ended, context_lost: bool) -> Outcome:
        facts = ended.run.facts
        found = _broke_the_tier(ended.forbidden) if ended.forbidden is not None else failure_of(ended.run)
        stopped = self._stop.reason if found is not None and ended.forbidden is None else None
        until = None
        if found is not None and found.class_ == "quota":
            message, long_window = quota_message(facts)
            now = self._times.now()
            until = rfc3339(wait_until(message, now=now, local=now.tzinfo or UTC, long_window=long_window))
        return Outcome(
            text=facts.text,
            failure=None if stopped is not None or found is None else self._without_secrets(found),
            stopped=stopped,
            usage=facts.usage,
            native_session_id=facts.session_id if is_session_id(facts.session_id) else None,
            context_lost=context_lost,
            wait_until=until,
            denied_tools=facts.tools.denied,
            note=_uncovered(self._uncovered),
        )

    def _without_secrets(self, found: Failure) -> Failure:
        return Failure(found.class_, redact(found.message, secrets_in(self._env)), found.next_step)


def _write_private(path: Path, text: str) -> None:
    """A new file for this user only: a mail is nobody else's business, and a link that lies there is not followed."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def endangered(obeyed: Obeyed) -> Failure:
    """The failure of a turn whose workspace can't be kept in a tier below `full`."""
    found = "; ".join(obeyed.dangers[:5])
    return failure(
        "tier_unenforceable",
        happened="The workspace holds files that make ZCode start programs or move its requests before any tool is "
        f"asked, so that this tier could not be kept: {found}.",
        next_step="Take them out, choose another workspace, or have the mail sent with the tier full.",
    )


def _broke_the_tier(tool: str) -> Failure:
    return failure(
        "tier_unenforceable",
        happened=f"ZCode ran the tool {one_line(tool, 80)}, which this tier does not allow, and was stopped at once.",
        next_step="If ZCode or one of its plugins brought this tool, update the bridge or switch the plugin off; where "
        "the tool is wanted, have the mail sent with the tier full.",
    )


def _uncovered(names: tuple[str, ...]) -> str:
    if not names:
        return ""
    return f"The workspace's .env sets {', '.join(names[:6])}: ZCode hands these on to what it runs."
