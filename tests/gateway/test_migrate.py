import sqlite3
from pathlib import Path

import pytest

from agentmail_gateway.store.migrate import SchemaTooNewError, migrate

FIRST = ("CREATE TABLE one (a)", "INSERT INTO one VALUES (1)")
SECOND = ("ALTER TABLE one ADD COLUMN b", "UPDATE one SET b = 2")
BROKEN = ("CREATE TABLE two (a)", "INSERT INTO nowhere VALUES (1)")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def run(path: Path, *migrations: tuple[str, ...]) -> Path | None:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        return migrate(connection, path, migrations)
    finally:
        connection.close()


def rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def test_a_new_file_gets_every_migration_and_no_copy(path: Path) -> None:
    assert run(path, FIRST, SECOND) is None
    assert rows(path, "SELECT * FROM one") == [(1, 2)]
    assert rows(path, "PRAGMA user_version") == [(2,)]


def test_an_old_file_gets_what_is_new_and_a_copy_is_kept(path: Path) -> None:
    run(path, FIRST)
    copy = run(path, FIRST, SECOND)
    assert copy == path.with_name("store.db.version-1")
    assert rows(copy, "SELECT * FROM one") == [(1,)]
    assert rows(path, "SELECT * FROM one") == [(1, 2)]
    assert copy.stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_up_to_date_is_left_alone(path: Path) -> None:
    run(path, FIRST)
    assert run(path, FIRST) is None
    assert [each.name for each in path.parent.iterdir()] == ["store.db"]


def test_a_migration_that_fails_changes_nothing(path: Path) -> None:
    run(path, FIRST)
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        run(path, FIRST, BROKEN)
    assert rows(path, "PRAGMA user_version") == [(1,)]
    assert rows(path, "SELECT name FROM sqlite_master") == [("one",)]


def test_a_file_from_the_future_is_refused(path: Path) -> None:
    run(path, FIRST, SECOND)
    with pytest.raises(SchemaTooNewError, match="version 2, this gateway knows 1"):
        run(path, FIRST)
