import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .. import state_lock
from ..state_lock import StateLock, StateLocked

HOLDER = """
import pathlib, runpy, subprocess, sys
lock = runpy.run_path(sys.argv[1])["StateLock"].acquire(pathlib.Path(sys.argv[2]), "bridge-x, process 7")
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=sys.stdin, close_fds=False)
print(child.pid, flush=True)
child.wait()
"""


@pytest.fixture
def hold() -> Iterator[Callable[[Path], "subprocess.Popen[bytes]"]]:
    """Starts another process that locks a folder and starts a child program; both are gone after the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start(folder: Path) -> "subprocess.Popen[bytes]":
        argv = [sys.executable, "-I", "-c", HOLDER, str(state_lock.__file__), str(folder)]
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout
        assert process.stdout.readline().strip().isdigit()
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_second_owner_of_a_folder_is_refused_and_told_who_has_it(
    tmp_path: Path, hold: Callable[[Path], "subprocess.Popen[bytes]"]
) -> None:
    """mcp_agent_mail#123"""
    hold(tmp_path)
    with pytest.raises(StateLocked, match="in use by bridge-x, process 7") as caught:
        StateLock.acquire(tmp_path, "second")
    assert (caught.value.folder, caught.value.holder) == (tmp_path, "bridge-x, process 7")


def test_a_killed_owner_leaves_the_folder_free_even_while_its_children_live(
    tmp_path: Path, hold: Callable[[Path], "subprocess.Popen[bytes]"]
) -> None:
    process = hold(tmp_path)
    process.kill()
    process.wait()
    StateLock.acquire(tmp_path, "second").release()


@pytest.mark.parametrize(
    "note",
    [str(os.getpid()), "1", "bridge-x, process 1", "", "\0\x1b[31m", "\ud800x"],
    ids=["a living process", "the first process", "a name", "nothing", "controls", "no text"],
)
def test_a_lock_file_that_was_left_behind_blocks_nobody_whatever_it_says(tmp_path: Path, note: str) -> None:
    """takopi#254"""
    (tmp_path / "lock").write_bytes(note.encode("utf-8", "surrogatepass"))
    with StateLock.acquire(tmp_path, "me"):
        assert (tmp_path / "lock").read_bytes() == b"me"


def test_two_locks_in_one_process_exclude_each_other_until_the_first_is_released(tmp_path: Path) -> None:
    first = StateLock.acquire(tmp_path, "first, and a long note")
    with pytest.raises(StateLocked, match="first"):
        StateLock.acquire(tmp_path, "second")
    first.release()
    first.release()
    with StateLock.acquire(tmp_path, "2nd"):
        assert (tmp_path / "lock").read_bytes() == b"2nd"
        with pytest.raises(StateLocked, match="2nd"):
            StateLock.acquire(tmp_path, "third")
    StateLock.acquire(tmp_path, "third").release()


def test_a_refusal_leaves_no_open_file_behind(tmp_path: Path) -> None:
    with StateLock.acquire(tmp_path, "first"):
        before = len(list(Path("/dev/fd").iterdir())) if Path("/dev/fd").exists() else 0
        for _ in range(5):
            with pytest.raises(StateLocked):
                StateLock.acquire(tmp_path, "second")
        assert (len(list(Path("/dev/fd").iterdir())) if before else 0) == before


def test_a_file_that_was_removed_meanwhile_is_not_taken_for_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = state_lock._lock
    calls: list[int] = []

    def removed_first(descriptor: int) -> bool:
        calls.append(descriptor)
        if len(calls) == 1:
            (tmp_path / "lock").unlink()
        return real(descriptor)

    monkeypatch.setattr(state_lock, "_lock", removed_first)
    with StateLock.acquire(tmp_path, "me"):
        assert len(calls) == 2
        assert (tmp_path / "lock").read_bytes() == b"me"


def test_the_folder_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    with StateLock.acquire(tmp_path / "a" / "b", "me"):
        assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700
        assert stat.S_IMODE((tmp_path / "a" / "b" / "lock").stat().st_mode) == 0o600


def test_a_folder_that_can_not_be_used_is_an_ordinary_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        StateLock.acquire(tmp_path / "file", "me")
    (tmp_path / "lock").mkdir()
    with pytest.raises(OSError, match="lock"):
        StateLock.acquire(tmp_path, "me")
