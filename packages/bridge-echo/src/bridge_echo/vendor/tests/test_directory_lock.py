"""Nobody works in a directory, above it or below it at the same time."""

import multiprocessing
import os
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from ..directory_lock import DirectoryLock, lock_directory


def taken(path: Path) -> DirectoryLock:
    lock = lock_directory(path)
    assert lock is not None
    return lock


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / "x").mkdir()
    return tmp_path.resolve()


@pytest.mark.parametrize("wanted", ["a/b", "a/b/c", "a"])
def test_a_directory_is_taken_with_all_above_and_below_it(tree: Path, wanted: str) -> None:
    with taken(tree / "a" / "b"):
        assert lock_directory(tree / wanted) is None
    taken(tree / wanted).release()


def test_directories_beside_each_other_are_free(tree: Path) -> None:
    with taken(tree / "a"):
        taken(tree / "x").release()


def test_a_lock_that_failed_holds_nothing(tree: Path) -> None:
    with taken(tree / "a"):
        assert lock_directory(tree / "a" / "b" / "c") is None
    taken(tree / "a" / "b").release()


def test_a_directory_that_can_not_be_opened_is_not_refused(tree: Path) -> None:
    lock = taken(tree / "gone")
    lock.release()
    lock.release()


def _hold(path: Path, ready: Connection) -> None:
    held = lock_directory(path)
    ready.send(held is not None)
    ready.recv()


def test_the_end_of_a_process_gives_its_directory_free(tree: Path) -> None:
    """takopi#254: a stale lock kept everybody out."""
    here, there = multiprocessing.Pipe()
    other = multiprocessing.get_context("spawn").Process(target=_hold, args=(tree / "a", there))
    other.start()
    try:
        assert here.poll(30)
        assert here.recv() is True
        assert lock_directory(tree / "a") is None
        other.kill()
        other.join(30)
    finally:
        other.kill()
    taken(tree / "a").release()


def test_no_child_program_inherits_the_lock(tree: Path) -> None:
    with taken(tree / "a") as lock:
        assert all(not os.get_inheritable(descriptor) for descriptor in lock._descriptors)
