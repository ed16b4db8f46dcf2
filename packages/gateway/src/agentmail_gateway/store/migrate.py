"""Bring a store's file to the newest schema, with a copy of it made before anything is changed."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from .private_file import make_private

__all__ = ["SchemaTooNewError", "migrate"]


class SchemaTooNewError(Exception):
    """The file was written by a newer gateway; the message says what to do."""


def migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[Sequence[str]]) -> Path | None:
    """Run the migrations that `path`, open as `connection`, has not seen; each is one transaction.

    Returns the copy that was made, None when the file was new or up to date. The copy stands beside the file, named
    after the version it has, and replaces an earlier one of that version. Raises `SchemaTooNewError`, or
    `sqlite3.Error` with the file as it was.
    """
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > len(migrations):
        raise SchemaTooNewError(
            f"{path} has schema version {version}, this gateway knows {len(migrations)}; start the newer gateway, or "
            f"move the file away"
        )
    copy = _copy(connection, path, version) if 0 < version < len(migrations) else None
    for number in range(version, len(migrations)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in migrations[number]:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    return copy


def _copy(connection: sqlite3.Connection, path: Path, version: int) -> Path:
    target = path.with_name(f"{path.name}.version-{version}")
    target.unlink(missing_ok=True)
    make_private(target)
    copy = sqlite3.connect(target)
    try:
        connection.backup(copy)
    finally:
        copy.close()
    return target
