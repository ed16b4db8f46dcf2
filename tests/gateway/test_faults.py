import errno
import sqlite3

import pytest

from agentmail_gateway.store.faults import is_fault, unavailable


def sqlite_error(name: str) -> sqlite3.Error:
    error = sqlite3.OperationalError("what SQLite says")
    error.sqlite_errorname = name
    return error


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SQLITE_FULL", "disk is full"),
        ("SQLITE_IOERR_WRITE", "input/output error"),
        ("SQLITE_READONLY_DBMOVED", "can't be written"),
        ("SQLITE_CANTOPEN", "can't be opened"),
        ("SQLITE_BUSY_SNAPSHOT", "another program"),
        ("SQLITE_CORRUPT_INDEX", "damaged"),
        ("SQLITE_NOMEM", "out of memory"),
    ],
)
def test_what_the_machine_does_is_named(name: str, words: str) -> None:
    error = sqlite_error(name)
    assert is_fault(error)
    problem = unavailable(error)
    assert (problem.status, problem.code, problem.retry_after_s) == (503, "unavailable", 5.0)
    assert words in problem.detail


@pytest.mark.parametrize("name", ["SQLITE_CONSTRAINT_UNIQUE", "SQLITE_ERROR", "SQLITE_MISUSE"])
def test_what_the_code_does_is_no_fault_of_the_machine(name: str) -> None:
    assert not is_fault(sqlite_error(name))


def test_an_error_of_the_system_is_a_fault() -> None:
    error = OSError(errno.ENOSPC, "No space left on device")
    assert is_fault(error)
    assert "No space left on device" in unavailable(error).detail


def test_other_errors_are_none() -> None:
    assert not is_fault(ValueError())
    assert not is_fault(sqlite3.ProgrammingError("closed"))
