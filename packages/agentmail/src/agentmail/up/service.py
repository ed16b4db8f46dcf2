"""One supervised process: started, watched, started again with back-off, stopped with a limit."""

import asyncio
import signal
import sys
import time
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import CliError
from .child_log import ChildLog, LineSplitter, Throttle, is_important
from .tree import kill_tree

__all__ = ["Program", "Service", "back_off", "ending"]

# A life this long counts as healthy: the next end starts the back-off anew.
_HEALTHY_S = 60.0
_LONGEST_S = 60.0


@dataclass(frozen=True, slots=True)
class Program:
    """A Python module to run as a process. `grace_s` is how long it may take to stop."""

    name: str
    module: str
    arguments: tuple[str, ...]
    env: Mapping[str, str]
    log: Path
    cwd: Path
    grace_s: float

    def argv(self) -> list[str]:
        """The command line. ``-P``: the folder it runs in must not be able to put modules in front of ours."""
        lifeline = [sys.executable, "-P", "-m", "agentmail.lifeline", str(self.log), str(self.grace_s)]
        return [*lifeline, self.module, *self.arguments]


def back_off(failures: int) -> float:
    """Seconds before start number `failures` + 1: 0.5, 1, 2, … at most 60. `failures` >= 1."""
    return float(min(_LONGEST_S, 0.5 * 2 ** (min(failures, 20) - 1)))


def ending(code: int) -> str:
    """How a process ended, in words: ``exit 1``, ``killed by SIGKILL``."""
    if code >= 0:
        return f"exit {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


class Service:
    """Keeps a program running from `run` until `stop`.

    `program` gives what to start, anew for each start. `prepare` runs before each start; a `CliError` from it counts as
    a failed start. `say` gets lines for the terminal, `line` every line that the process prints, `changed` is called
    when a process was started or has ended.
    """

    def __init__(
        self,
        program: Callable[[], Program],
        *,
        say: Callable[[str], None],
        line: Callable[[str], None] = lambda _: None,
        changed: Callable[[], None] = lambda: None,
        prepare: Callable[[], Awaitable[None]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._program = program
        self._say = say
        self._line = line
        self._changed = changed
        self._prepare = prepare
        self._clock = clock
        self._stopping = asyncio.Event()
        self._process: Process | None = None
        self._failures = 0
        self.name = program().name
        self.starts = 0
        self.ends = 0
        self.why_ended = ""
        self.last_line = ""

    @property
    def pid(self) -> int | None:
        """The running process, or None."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def run(self) -> None:
        """Start the program, and again whenever it ends, until `stop`."""
        while not self._stopping.is_set():
            began = self._clock()
            try:
                if self._prepare is not None:
                    await self._prepare()
                self.why_ended = ending(await self._one_life())
            except CliError as error:
                self.why_ended = error.line()
            except OSError as error:
                self.why_ended = f"can't be started: {error.strerror or error}"
            self.ends += 1
            self._changed()
            if self._stopping.is_set():
                return
            self._failures = 1 if self._clock() - began > _HEALTHY_S else self._failures + 1
            delay = back_off(self._failures)
            said = f", last line: {self.last_line}" if self.last_line else ""
            self._say(f"{self.name}: ended ({self.why_ended}{said}); started again in {delay:g} s")
            try:
                async with asyncio.timeout(delay):
                    await self._stopping.wait()
            except TimeoutError:
                continue

    async def _one_life(self) -> int:
        program = self._program()
        self.last_line = ""
        log = ChildLog(program.log)
        try:
            self._process = process = await asyncio.create_subprocess_exec(
                *program.argv(),
                cwd=program.cwd,
                env=program.env,
                stdin=PIPE,
                stdout=PIPE,
                stderr=STDOUT,
                start_new_session=True,
            )
            self.starts += 1
            self._changed()
            if self._stopping.is_set():
                process.terminate()
            await self._pump(process, log)
            return await process.wait()
        finally:
            log.close()

    async def _pump(self, process: Process, log: ChildLog) -> None:
        assert process.stdout is not None
        splitter, throttle = LineSplitter(), Throttle(self._clock)
        ended = asyncio.create_task(process.wait())
        try:
            while True:
                read = asyncio.create_task(process.stdout.read(65536))
                # A grandchild that outlives the process may hold the pipe open: the process's end decides.
                await asyncio.wait({read, ended}, return_when=asyncio.FIRST_COMPLETED)
                if not read.done():
                    await asyncio.wait({read}, timeout=0.2)
                if not read.done():
                    read.cancel()
                    break
                data = read.result()
                if not data:
                    break
                log.write(data)
                self._lines(splitter.feed(data), throttle)
        finally:
            ended.cancel()
        self._lines(splitter.flush(), throttle)

    def _lines(self, lines: list[str], throttle: Throttle) -> None:
        for text in lines:
            if not text.strip():
                continue
            self.last_line = text.strip()[:300]
            self._line(text)
            if is_important(text) and throttle.take():
                self._say(f"{self.name}: {text.strip()}")

    async def stop(self) -> None:
        """Ask the process to stop, wait as long as it may take, then end it with everything below it."""
        self._stopping.set()
        process = self._process
        if process is None or process.returncode is not None:
            return
        try:
            process.terminate()
        except ProcessLookupError:
            return
        try:
            async with asyncio.timeout(self._program().grace_s):
                await process.wait()
        except TimeoutError:
            self._say(f"{self.name}: did not stop in time and was killed")
            self.kill()
            await process.wait()

    def kill(self) -> None:
        """End the process and everything below it at once."""
        self._stopping.set()
        if (pid := self.pid) is not None:
            kill_tree(pid)
