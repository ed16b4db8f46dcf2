"""Supervised processes: restarted with back-off, stopped in time, never left behind."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from agentmail.errors import LocalError
from agentmail.up.service import Program, Service, back_off, ending

from .stand_ins import program

WAITS = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print("ready", sys.argv[1:], flush=True)
while True:
    time.sleep(60)
"""
STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("child", child.pid, flush=True)
while True:
    time.sleep(60)
"""


class _Run:
    def __init__(self, make: Callable[[], Program], **options: object) -> None:
        self.said: list[str] = []
        self.lines: list[str] = []
        self.moved = asyncio.Event()
        self.service = Service(
            make,
            say=self.said.append,
            line=self._line,
            changed=self.moved.set,
            **options,  # type: ignore[arg-type]
        )

    def _line(self, line: str) -> None:
        self.lines.append(line)
        self.moved.set()

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not true():
                self.moved.clear()
                await self.moved.wait()


@asynccontextmanager
async def _running(make: Callable[[], Program], **options: object) -> AsyncIterator[_Run]:
    run = _Run(make, **options)
    task = asyncio.create_task(run.service.run())
    try:
        yield run
    finally:
        run.service.kill()
        await task


def _gone(pid: int) -> bool:
    """Whether `pid` is gone within a few seconds (a process that nobody waits for is gone, too)."""
    try:
        _, left = psutil.wait_procs([psutil.Process(pid)], timeout=5)
        return all(process.status() == psutil.STATUS_ZOMBIE for process in left)
    except psutil.NoSuchProcess:
        return True


async def test_a_process_that_is_killed_is_started_again_and_that_is_said(tmp_path: Path) -> None:
    async with _running(lambda: program(tmp_path, WAITS, "--x")) as run:
        await run.until(lambda: run.lines == ["ready ['--x']"])
        first = run.service.pid
        assert first is not None
        psutil.Process(first).kill()
        await run.until(lambda: len(run.lines) == 2)
        assert run.service.pid not in {None, first}
        assert run.said == [
            "stand-in: ended (killed by SIGKILL, last line: ready ['--x']); started again in 0.5 s",
        ]


async def test_stop_is_polite_and_final(tmp_path: Path) -> None:
    async with _running(lambda: program(tmp_path, WAITS)) as run:
        await run.until(lambda: bool(run.lines))
        pid = run.service.pid
        await run.service.stop()
        assert pid is not None
        assert _gone(pid)
        assert run.said == []
        assert run.service.starts == 1


async def test_what_does_not_stop_in_time_is_killed_with_its_children(tmp_path: Path) -> None:
    async with _running(lambda: program(tmp_path, STUBBORN, grace_s=0.2)) as run:
        await run.until(lambda: bool(run.lines))
        child = int(run.lines[0].split()[1])
        await run.service.stop()
        assert run.said == ["stand-in: did not stop in time and was killed"]
        assert run.service.pid is None
        assert _gone(child)


async def test_a_failed_preparation_counts_as_a_failed_start(tmp_path: Path) -> None:
    async def prepare() -> None:
        raise LocalError("no key", "Make one")

    async with _running(lambda: program(tmp_path, WAITS), prepare=prepare) as run:
        await run.until(lambda: bool(run.said))
        assert run.said == ["stand-in: ended (no key. Make one); started again in 0.5 s"]
        assert run.service.starts == 0


async def test_warnings_are_shown_and_everything_is_in_the_log(tmp_path: Path) -> None:
    text = "print('info hello'); print('x warning: careful'); print('done', flush=True)\n" + WAITS
    async with _running(lambda: program(tmp_path, text)) as run:
        await run.until(lambda: len(run.lines) == 4)
        assert run.said == ["stand-in: x warning: careful"]
        assert (tmp_path / "logs" / "stand-in.log").read_text().startswith("info hello\nx warning: careful\ndone\n")


async def test_the_working_folder_can_not_put_modules_in_front_of_ours(tmp_path: Path) -> None:
    (tmp_path / "signal.py").write_text("raise SystemExit('hijacked')")
    async with _running(lambda: program(tmp_path, WAITS)) as run:
        await run.until(lambda: bool(run.lines))
        assert run.lines == ["ready []"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_killed_parent_takes_its_processes_along_and_their_last_words_are_logged(tmp_path: Path) -> None:
    made = program(tmp_path, WAITS.replace("sys.exit(0)", "(print('bye'), sys.exit(0))"))
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import subprocess, sys, time\n"
            "pipe = subprocess.PIPE\n"
            "child = subprocess.Popen(sys.argv[1:], stdin=pipe, stdout=pipe, start_new_session=True)\n"
            "child.stdout.readline()\n"
            "print(child.pid, flush=True)\n"
            "time.sleep(600)",
            *made.argv(),
        ],
        env=dict(made.env),
        stdout=subprocess.PIPE,
    )
    made.log.parent.mkdir()
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait(10)
    parent.stdout.close()
    assert _gone(child)
    assert made.log.read_text() == "bye\n"


@pytest.mark.parametrize(("failures", "seconds"), [(1, 0.5), (2, 1.0), (5, 8.0), (8, 60.0), (10_000, 60.0)])
def test_the_back_off_doubles_up_to_a_minute(failures: int, seconds: float) -> None:
    assert back_off(failures) == seconds


@pytest.mark.parametrize(
    ("code", "words"), [(0, "exit 0"), (3, "exit 3"), (-9, "killed by SIGKILL"), (-200, "killed by signal 200")]
)
def test_an_ending_in_words(code: int, words: str) -> None:
    assert ending(code) == words
