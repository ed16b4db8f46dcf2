"""One turn of dsh: its process from the start to the end, and what became of it."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass

from . import failures
from .events import Reader
from .vendor.process import Child
from .vendor.redact import redact
from .vendor.sandbox_host import agent_process
from .vendor.turn import Emit, Outcome, StopSignal
from .vendor.wire import Failure, Usage

__all__ = ["AgentTurn", "Ended", "Times", "told"]

NO_COMMANDS = (
    "dsh refused to run commands: its own sandbox does not start on this machine, and the bridge's is not there."
)


@dataclass(frozen=True, slots=True)
class Times:
    """Limits in seconds. `start_s`: until dsh says anything. `polite_s`: until it ended, asked to. `exit_s`: until it
    ended after its last line.
    """

    start_s: float = 90.0
    polite_s: float = 4.5
    exit_s: float = 5.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How one process ended. `stopped`: before its end it was asked to stop. `silent`: it never said a thing."""

    reader: Reader
    code: int | None
    stderr: str
    stopped: bool
    silent: bool

    @property
    def whole(self) -> bool:
        """Whether a turn ended well: by all three signs, since each of them alone is wrong in some case."""
        return self.code == 0 and self.reader.ending == "completed" and self.reader.final is not None


class AgentTurn:
    """Talks to one dsh. `caged` says that it runs inside bubblewrap, so that a signal has to be sent further in."""

    def __init__(self, emit: Emit, stop: StopSignal, times: Times, *, caged: bool):
        self._emit = emit
        self._stop = stop
        self._times = times
        self._caged = caged
        self._silent = False

    async def ended(self, child: Child) -> Ended:
        """Read to the end, or until stopped; no process of it is left afterwards."""
        reader = Reader()
        async with child:
            reading = asyncio.create_task(self._read(child, reader))
            stopping = asyncio.create_task(self._stop.event.wait())
            try:
                await asyncio.wait({reading, stopping}, return_when=asyncio.FIRST_COMPLETED)
                stopped = not reading.done()
                if stopped:
                    # Without a session there is nothing to leave in order, and a dsh that still boots hears no signal.
                    polite = self._interruption(child) if reader.session_id is not None else None
                    await child.kill_tree(polite, self._times.polite_s)
                    await asyncio.wait({reading}, timeout=1.0)
                else:
                    reading.result()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(self._times.exit_s):
                            await child.wait()
            finally:
                for task in (reading, stopping):
                    task.cancel()
                await asyncio.wait({reading, stopping})
            code = child.returncode
        return Ended(reader, code, child.stderr_tail(), stopped, self._silent)

    async def _read(self, child: Child, reader: Reader) -> None:
        try:
            async with asyncio.timeout(self._times.start_s) as limit, aclosing(child.stdout_lines()) as lines:
                async for line in lines:
                    limit.reschedule(None)
                    for event in reader.feed(line.text):
                        self._emit(event)
                limit.reschedule(None)
        except TimeoutError:
            self._silent = True

    def _interruption(self, child: Child) -> signal.Signals | Callable[[], Awaitable[None]]:
        """SIGINT to dsh itself: bubblewrap passes nothing on. SIGTERM would do too, and be reported as success."""

        async def interrupt() -> None:
            process = agent_process(child.pid)
            if process is not None:
                process.send_signal(signal.SIGINT)

        return interrupt if self._caged else signal.SIGINT


def told(ended: Ended, stop: StopSignal, *, secrets: tuple[str, ...], context_lost: bool, note: str) -> Outcome:
    """The outcome of a run; `note` is what to say about its session."""
    reader = ended.reader
    usage = Usage(reader.input_tokens, reader.output_tokens) if reader.input_tokens else None
    text = reader.final or reader.said
    reason = stop.reason if ended.stopped else None
    failure: Failure | None
    if ended.whole:
        failure = failures.from_reader(reader)
    elif reason is not None:
        return Outcome(text, None, reason, usage, reader.session_id, context_lost)
    elif reader.refused:
        failure = failures.from_refusal(reader.refused)
    elif ended.silent:
        failure = Failure("crashed", "dsh said nothing after its start, and was ended.", failures.AGAIN)
    elif reader.ending and reader.final is not None and reader.ending != "completed":
        failure = failures.from_reader(reader)
    else:
        failure = failures.from_boot(ended.code, redact(ended.stderr, secrets))
    denied = tuple(sorted(set(reader.denied)))
    notes = "\n".join(filter(None, (note, NO_COMMANDS if reader.powerless else "")))
    if failure is not None:
        failure = Failure(failure.class_, redact(failure.message, secrets), failure.next_step)
    return Outcome(text, failure, None, usage, reader.session_id, context_lost, denied_tools=denied, note=notes)
