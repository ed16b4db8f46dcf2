"""A child process: in a session of its own, read in lines without limit or flood, ended with its whole tree.

Start children from the main thread only: the kernel ties what dies with its parent to the thread that forked, so a
sandbox started from a worker thread is killed when that thread ends.
"""

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, Self

from .exit_watch import ExitWatch
from .line_splitter import LINE_LIMIT, Line
from .pipe_io import LinePipe, PipeWriter, TailPipe
from .process_errors import ProcessError, why_not_started
from .process_roots import Root, TreeGuard, become_subreaper, bridge, tree_guard
from .process_table import ProcessInfo, system_table
from .process_tree import BRIDGE_MARKER, TURN_MARKER, KillReport, end_tree, observe, sweep, sweep_orphans

__all__ = [
    "Captured",
    "Child",
    "KillReport",
    "Line",
    "ProcessError",
    "TreeGuard",
    "become_subreaper",
    "capture",
    "start",
    "sweep",
    "sweep_orphans",
    "tree_guard",
]

STDERR_TAIL = 64 * 1024
DRAIN_S = 0.5
# Whoever is seen while the main process runs is known as its own when it ended; of a sandbox that is all in it.
LOOKS_S = (0.02, 0.2, 2.0)
Polite = signal.Signals | Callable[[], Awaitable[None]] | None
Stdin = bytes | Path | Literal["pipe"] | None


class Child:
    """A running program. End it with `kill_tree`, or as a context manager, however it went: leftovers end there too."""

    def __init__(
        self,
        popen: "subprocess.Popen[bytes]",
        root: Root,
        *,
        program: str,
        given: bytes | None,
        line_limit: int,
        stderr_tail: int,
    ):
        assert popen.stdout is not None
        assert popen.stderr is not None
        self.pid = popen.pid
        self._program = program
        self._root = root
        self._stdout = LinePipe(popen.stdout, line_limit)
        self._stderr = TailPipe(popen.stderr, stderr_tail)
        self._stdin = None if popen.stdin is None else PipeWriter(popen.stdin)
        if self._stdin is not None and given is not None:
            self._stdin.put(given, last=True)
        self._exit = ExitWatch(popen)
        self._ending: asyncio.Task[KillReport] | None = None
        self._drain: asyncio.TimerHandle | None = None
        self._exit.then(self._exited)
        loop = asyncio.get_running_loop()
        self._known: tuple[ProcessInfo, ...] = ()
        self._looks = [loop.call_later(delay, self._look) for delay in LOOKS_S]

    def __repr__(self) -> str:
        return f"Child(pid={self.pid}, program={self._program!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.kill_tree(None, 0.0)

    @property
    def returncode(self) -> int | None:
        """How the main process ended (negative: by that signal), or None while it runs."""
        return self._exit.returncode

    async def wait(self) -> int:
        """Return when the main process ended, whoever still holds its pipes: its exit status, negative for a signal.

        Something has to take `stdout_lines` meanwhile, or a program that prints much waits for ever.
        """
        return await self._exit.wait()

    def stdout_lines(self) -> AsyncGenerator[Line, None]:
        """The lines of standard output, until it ends or, once the main process ended, half a second after that."""
        return self._stdout.lines()

    def stderr_tail(self) -> str:
        """The last 64 KiB (or what was asked for) of standard error so far; a first line says if that is not all."""
        return self._stderr.text()

    async def write(self, data: bytes) -> None:
        """Write to standard input (``stdin="pipe"``). Raises BrokenPipeError when the program closed it."""
        if self._stdin is None:
            raise BrokenPipeError("the program was started without a pipe for its input")
        await self._stdin.write(data)

    def close_stdin(self) -> None:
        """End standard input after what was written."""
        if self._stdin is not None:
            self._stdin.put(b"", last=True)

    async def kill_tree(self, polite: Polite = signal.SIGTERM, grace_s: float = 5.0) -> KillReport:
        """End the main process and all that belongs to it; afterwards no process of the turn is alive.

        First `polite`: a signal to the main process or an asynchronous call (an abort in the agent's protocol), then
        up to `grace_s` seconds for the main process to end. Also finishes when the caller is cancelled (and then
        raises). Called again it returns the same report.
        """
        if self._ending is None:
            self._ending = asyncio.create_task(self._end(polite, grace_s))
        return await _uncancelled(self._ending)

    async def _end(self, polite: Polite, grace_s: float) -> KillReport:
        self._look()
        if self.returncode is None and polite is not None:
            await self._ask(polite, grace_s)
            self._look()
        try:
            return await end_tree(self._root, self._known)
        finally:
            self._close()

    async def _ask(self, polite: Polite, grace_s: float) -> None:
        exited = asyncio.ensure_future(self.wait())
        tasks: list[asyncio.Future[int] | asyncio.Future[None]] = [exited]
        if isinstance(polite, signal.Signals):
            system_table().send(self._root.process, polite)
        elif polite is not None:
            # Its failure is no reason to stop: what follows needs no consent.
            tasks.append(asyncio.ensure_future(polite()))
        await asyncio.wait([exited], timeout=grace_s)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=1.0)
        for task in tasks:
            if task.done() and not task.cancelled():
                task.exception()

    def _look(self) -> None:
        if self.returncode is None:
            self._known = tuple({*self._known, *observe(self._root)})

    def _exited(self) -> None:
        """Something may hold the pipe for ever: what comes later than this is not the program's answer."""
        loop = asyncio.get_running_loop()
        self._drain = loop.call_later(DRAIN_S, self._stdout.close)

    def _close(self) -> None:
        self._exit.close()
        for timer in (*self._looks, *([self._drain] if self._drain is not None else ())):
            timer.cancel()
        if self._stdin is not None:
            self._stdin.close()
        self._stdout.close()
        self._stderr.close()


async def start(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: Stdin = None,
    line_limit: int = LINE_LIMIT,
    stderr_tail: int = STDERR_TAIL,
    turn_id: str | None = None,
) -> Child:
    """Start `argv` in `cwd` with exactly `env`, no descriptor of this process but its three pipes.

    `stdin`: None is an empty input, bytes or a file are given whole, ``"pipe"`` is written by the caller. `line_limit`
    bounds a line of output and `stderr_tail` what is kept of standard error, in bytes. `turn_id` (default: the one in
    `env`) is set as the marker by which all of the tree is found. Raises ProcessError.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("children are started from the main thread only")
    environment = dict(env) if turn_id is None else {**env, TURN_MARKER: turn_id}
    # Only a turn's own id tells its processes from those of the bridge's other turns.
    names = (TURN_MARKER, BRIDGE_MARKER) if environment.get(TURN_MARKER) else ()
    markers = {name: environment[name] for name in names if environment.get(name)}
    table = system_table()
    # Before the start: right after it, a quick program may have left orphans already.
    strangers = table.own_children()
    popen = _spawn(list(argv), cwd, environment, stdin)
    process = table.look(popen.pid) or ProcessInfo(popen.pid, os.getpid(), popen.pid, popen.pid, 0.0, True, "")
    root = Root(process, markers)
    bridge.register(root, strangers)
    given = stdin if isinstance(stdin, bytes) else None
    try:
        return Child(popen, root, program=argv[0], given=given, line_limit=line_limit, stderr_tail=stderr_tail)
    except BaseException:
        popen.kill()
        popen.wait()
        bridge.forget(root)
        raise


def _spawn(argv: list[str], cwd: Path, env: Mapping[str, str], stdin: Stdin) -> "subprocess.Popen[bytes]":
    source: int | IO[bytes]
    try:
        match stdin:
            case None:
                source = subprocess.DEVNULL
            case Path():
                source = stdin.open("rb")
            case _:
                source = subprocess.PIPE
    except OSError as error:
        raise ProcessError("bad_argument", f"an input file can't be read ({error.strerror})", "restore it") from None
    try:
        return subprocess.Popen(
            argv,
            bufsize=0,
            cwd=str(cwd),
            env=env,
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            close_fds=True,
            start_new_session=True,
        )
    except OSError as error:
        raise why_not_started(error, argv, cwd, env) from None
    except ValueError:
        message = "an argument or a variable of the environment holds a NUL character"
        raise ProcessError("bad_argument", message, "remove it from the text") from None
    finally:
        if not isinstance(source, int):
            source.close()


async def _uncancelled(task: "asyncio.Task[KillReport]") -> KillReport:
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
    return task.result()


@dataclass(frozen=True, slots=True)
class Captured:
    """What a short program did: its exit status (None: it took too long) and the text it printed, as far as kept."""

    returncode: int | None
    stdout: str
    stderr: str


async def capture(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout: float = 10.0, limit: int = 1024 * 1024
) -> Captured:
    """Run a short program to its end, at most `timeout` seconds, and keep `limit` bytes of its output.

    Nothing of it is alive afterwards. Raises ProcessError when it can't be started.
    """
    kept: list[str] = []
    size = 0
    async with await start(argv, cwd=cwd, env=env, line_limit=limit, stderr_tail=limit) as child:
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout), aclosing(child.stdout_lines()) as lines:
                async for line in lines:
                    if size < limit:
                        kept.append(line.text)
                        size += len(line.text) + 1
                await child.wait()
        returncode = child.returncode
    return Captured(returncode, "\n".join(kept), child.stderr_tail())
