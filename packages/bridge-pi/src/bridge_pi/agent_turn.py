"""One turn of pi: the conversation with its process from the start to the end, and what became of it."""

import asyncio
from contextlib import aclosing, suppress
from dataclasses import dataclass

from . import failures
from .rpc import Conversation
from .vendor.process import Child
from .vendor.redact import redact
from .vendor.turn import Emit, Outcome, StopSignal, TurnRequest
from .vendor.wire import Failure, Usage

__all__ = ["AgentTurn", "Times"]


@dataclass(frozen=True, slots=True)
class Times:
    """Limits in seconds. `start_s`: until pi answers at all. `abort_s`: until it stopped what it does, asked to.
    `exit_s`: until it ended, with its input closed.
    """

    start_s: float = 60.0
    abort_s: float = 3.5
    exit_s: float = 1.5


class AgentTurn:
    """One request on its way to an outcome. `secrets` are taken out of whatever of pi's words is shown."""

    def __init__(
        self, request: TurnRequest, emit: Emit, stop: StopSignal, times: Times, *, secrets: tuple[str, ...] = ()
    ):
        self._request = request
        self._emit = emit
        self._stop = stop
        self._times = times
        self._secrets = secrets
        self._talk = Conversation(request.prompt)
        self._silent = False

    async def outcome(self, child: Child) -> Outcome:
        """Talk to pi until the turn is over; no process of it is left afterwards."""
        async with child:
            stopped = await self._converse(child)
            code = child.returncode
        return self._told(stopped, code, child.stderr_tail())

    async def _converse(self, child: Child) -> bool:
        """Whether the turn was stopped before it was over by itself."""
        reading = asyncio.create_task(self._read(child))
        stopping = asyncio.create_task(self._stop.event.wait())
        try:
            await _write(child, self._talk.opening())
            await asyncio.wait({reading, stopping}, return_when=asyncio.FIRST_COMPLETED)
            stopped = not reading.done()
            if stopped:
                await _write(child, self._talk.abort())
                await asyncio.wait({reading}, timeout=self._times.abort_s)
            else:
                reading.result()
            # Earlier, this would have broken the turn off without a word (pi#2645).
            child.close_stdin()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._times.exit_s):
                    await child.wait()
            return stopped
        finally:
            for task in (reading, stopping):
                task.cancel()
            await asyncio.wait({reading, stopping})

    async def _read(self, child: Child) -> None:
        """Until the turn is over, pi ended (pi#4764: nobody waits for a dead one), or it never began."""
        try:
            async with asyncio.timeout(self._times.start_s) as limit, aclosing(child.stdout_lines()) as lines:
                async for line in lines:
                    events, answers = self._talk.feed(line.text)
                    for event in events:
                        self._emit(event)
                    for answer in answers:
                        await _write(child, answer)
                    if self._talk.phase == "over":
                        return
                    if self._talk.phase != "asking":
                        limit.reschedule(None)
        except TimeoutError:
            self._silent = True

    def _told(self, stopped: bool, code: int | None, stderr: str) -> Outcome:
        """By what pi said; how it exited counts only when its turn did not end (pi#9089: it is 0 after any error)."""
        talk, reader, request = self._talk, self._talk.reader, self._request
        used = reader.usage
        usage = Usage(used.input_tokens, used.output_tokens, used.cost or None) if used.input_tokens else None
        lost = request.native_session_id is not None and talk.session_id is not None and talk.messages_before == 0
        native = talk.session_id or request.native_session_id
        reason = self._stop.reason if stopped else None
        failure: Failure | None
        if reader.settled and not (stopped and reader.aborted):
            failure = failures.from_reader(reader)
        elif stopped:
            return Outcome(reader.said, None, reason, usage, native, lost)
        elif talk.refused:
            failure = failures.from_text(talk.refused)
        elif self._silent:
            failure = failures.silent(self._times.start_s)
        else:
            failure = failures.crashed(code, redact(stderr, self._secrets))
        denied = tuple(sorted(set(reader.denied)))
        if failure is not None:
            shown = Failure(failure.class_, redact(failure.message, self._secrets), failure.next_step)
            return Outcome(reader.said, shown, None, usage, native, lost, denied_tools=denied)
        return Outcome(reader.text, None, None, usage, native, lost, denied_tools=denied)


async def _write(child: Child, line: str) -> None:
    """Write a line; a pi that ended meanwhile is noticed where its output ends."""
    with suppress(BrokenPipeError, ConnectionError):
        await child.write(line.encode("ascii") + b"\n")
