"""A real `agentmail up` in a data folder of its own, and the command line beside it."""

import io
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import psutil

from agentmail.__main__ import run

__all__ = ["Installation", "Up", "processes_of"]

READY = "Write: "
_LIMIT_S = 60.0


def processes_of(home: Path) -> list[psutil.Process]:
    """Every living process whose environment or arguments name the data folder `home`."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() == psutil.STATUS_ZOMBIE or process.pid == os.getpid():
                continue
            if process.environ().get("AGENTMAIL_HOME") == str(home) or str(home) in " ".join(process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


@dataclass
class Up:
    """A running `agentmail up`: its process and what it has printed."""

    process: "subprocess.Popen[str]"
    lines: list[str] = field(default_factory=list)
    _queue: "queue.Queue[str | None]" = field(default_factory=queue.Queue)

    def __post_init__(self) -> None:
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def close(self) -> None:
        """End it in any case."""
        self.process.kill()
        self.process.wait()
        self._reader.join(10)
        if self.process.stdout is not None:
            self.process.stdout.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._queue.put(line.rstrip("\n"))
        self._queue.put(None)

    def until(self, words: str) -> str:
        """The first line not read yet that holds `words`; all before it is read, too. Fails after a minute."""
        deadline = monotonic() + _LIMIT_S
        while True:
            try:
                line = self._queue.get(timeout=max(0.1, deadline - monotonic()))
            except queue.Empty:
                raise AssertionError(f"no line with {words!r} in {self.lines}") from None
            if line is None:
                raise AssertionError(f"ended without a line with {words!r}: {self.lines}")
            self.lines.append(line)
            if words in line:
                return line

    def ready(self) -> "Up":
        """Wait until everything is started."""
        self.until(READY)
        return self

    def rest(self) -> int:
        """Wait for the end; the exit code."""
        code = self.process.wait(_LIMIT_S)
        while (line := self._queue.get(timeout=_LIMIT_S)) is not None:
            self.lines.append(line)
        return code

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Send a signal and wait for the end; the exit code."""
        self.process.send_signal(number)
        return self.rest()

    @property
    def url(self) -> str:
        """The address it printed."""
        return next(line.split()[-1] for line in self.lines if line.startswith("AgentMail: "))

    def child(self, name: str) -> psutil.Process:
        """The process of ``gateway`` or of a bridge."""
        module = {"gateway": "agentmail_gateway"}.get(name, f"bridge_{name}")
        return next(p for p in psutil.Process(self.process.pid).children() if module in p.cmdline())


@dataclass(frozen=True)
class Installation:
    """A data folder and the commands that use it."""

    home: Path
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def environ(self) -> dict[str, str]:
        """The environment of every command, with nothing of the surrounding installation's."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("AGENTMAIL_", "UV_"))}
        return {**clean, "AGENTMAIL_HOME": str(self.home), "PYTHONUNBUFFERED": "1", **self.extra}

    def up(self, *arguments: str, port: int = 0) -> AbstractContextManager[Up]:
        """`agentmail up`, on a free port and with `echo` unless told otherwise, whatever this machine has installed."""
        only = () if "--only" in arguments else ("--only", "echo")
        return self.up_with_all(*only, *arguments, port=port)

    @contextmanager
    def up_with_all(self, *arguments: str, port: int = 0) -> Iterator[Up]:
        """`agentmail up` on a free port. At the end nothing of the installation runs any more."""
        up = Up(
            subprocess.Popen(
                [sys.executable, "-m", "agentmail", "up", "--port", str(port), *arguments],
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
        try:
            yield up
        finally:
            up.process.kill()
            for process in processes_of(self.home):
                process.kill()
            up.close()

    def run(self, *arguments: str, stdin: str = "", **environ: str) -> "subprocess.CompletedProcess[str]":
        """A command, to its end, as its own process would run it, but in this one: that is five times as fast."""
        before, streams = dict(os.environ), (sys.stdin, sys.stdout, sys.stderr)
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n") for _ in range(2))
        try:
            os.environ.clear()
            os.environ.update(self.environ | environ)
            sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8")
            sys.stdout, sys.stderr = out, err
            code = run(arguments)
        finally:
            sys.stdin, sys.stdout, sys.stderr = streams
            os.environ.clear()
            os.environ.update(before)
        texts = []
        for stream in (out, err):
            stream.flush()
            buffer = stream.buffer
            assert isinstance(buffer, io.BytesIO)
            texts.append(buffer.getvalue().decode())
        return subprocess.CompletedProcess(arguments, int(code), *texts)
