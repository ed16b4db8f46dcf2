"""What SQLite says when the machine fails it, as a Problem for the caller."""

import sqlite3

from ..problems import Problem

__all__ = ["is_fault", "unavailable"]

_CAUSES = {
    "SQLITE_FULL": "the disk is full; free some space",
    "SQLITE_READONLY": "the data folder can't be written; check its permissions and how the disk is mounted",
    "SQLITE_IOERR": "the disk reports an input/output error; check it and the space that is left",
    "SQLITE_CANTOPEN": "the database file can't be opened; check the data folder and the limit of open files",
    "SQLITE_BUSY": "another program holds the database; end it",
    "SQLITE_LOCKED": "another program holds the database; end it",
    "SQLITE_NOMEM": "the machine is out of memory",
    "SQLITE_CORRUPT": "the database file is damaged; restore it from a copy",
    "SQLITE_NOTADB": "the database file is damaged; restore it from a copy",
    "SQLITE_PROTOCOL": "the database could not be locked; try again",
    "SQLITE_INTERRUPT": "the operation was interrupted; try again",
}


def _primary(error: sqlite3.Error) -> str:
    name = getattr(error, "sqlite_errorname", None) or ""
    return "_".join(name.split("_")[:2])


def is_fault(error: BaseException) -> bool:
    """Whether `error` is the machine's doing, and so concerns every write of the transaction."""
    return isinstance(error, OSError) or (isinstance(error, sqlite3.Error) and _primary(error) in _CAUSES)


def unavailable(error: BaseException) -> Problem:
    """The Problem to answer with after `error`."""
    if isinstance(error, sqlite3.Error):
        cause = _CAUSES.get(_primary(error), f"the database says: {error}")
    else:
        cause = f"the system says: {error}"
    return Problem("unavailable", f"The store can't be used now: {cause}. Nothing was half done; try again later.", 5.0)
