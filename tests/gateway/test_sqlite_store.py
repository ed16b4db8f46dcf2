import asyncio
import os
import resource
import sqlite3
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentmail_gateway.problems import Problem
from agentmail_gateway.store.interface import Reader, Tx
from agentmail_gateway.store.migrate import SchemaTooNewError
from agentmail_gateway.store.schema import MIGRATIONS
from agentmail_gateway.store.sqlite_store import SqliteStore


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    made = SqliteStore(tmp_path / "store.db", lambda: 1_000)
    yield made
    await made.close()


def put(key: str, size: int = 10) -> Callable[[Tx], str]:
    def job(tx: Tx) -> str:
        tx.event(1, "kind", {})
        tx.execute("INSERT INTO meta (key, value) VALUES (?, ?)", (key, "x" * size))
        return key

    return job


def keys(reader: Reader) -> list[str]:
    return [row[0] for row in reader.execute("SELECT key FROM meta ORDER BY key").fetchall()]


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    """What a full disk does to a file that must grow."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_every_write_waits_for_the_disk(store: SqliteStore) -> None:
    def settings(tx: Tx) -> list[object]:
        return [tx.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous", "foreign_keys")]

    assert await store.write(settings) == ["wal", 2, 1]


async def test_a_full_disk_is_said_and_nothing_is_half_stored_and_it_works_again_with_room(store: SqliteStore) -> None:
    await store.write(put("before"))

    def fill(tx: Tx) -> None:
        pages = tx.execute("PRAGMA page_count").fetchone()[0]
        tx.execute(f"PRAGMA max_page_count = {pages}")
        put("too large", 100_000)(tx)

    jobs = [put("a"), fill, put("b")]
    results = await asyncio.gather(*map(store.write, jobs), return_exceptions=True)
    for result in results:
        assert isinstance(result, Problem)
        assert (result.status, result.code) == (503, "unavailable")
        assert "the disk is full" in result.detail
    assert store.read(keys) == ["before"]
    assert await store.write(put("after")) == "after"
    assert store.read(keys) == ["after", "before"]
    assert store.last_event == 2


async def test_an_error_of_the_disk_is_said_and_nothing_is_half_stored(store: SqliteStore, tmp_path: Path) -> None:
    await store.write(put("before"))
    log = (tmp_path / "store.db-wal").stat().st_size
    with files_no_larger_than(log + 8192):
        with pytest.raises(Problem) as caught:
            await store.write(put("large", 500_000))
        assert caught.value.code == "unavailable"
        assert "disk" in caught.value.detail
    assert store.read(keys) == ["before"]
    assert await store.write(put("after", 500_000)) == "after"
    assert store.read(keys) == ["after", "before"]


async def test_a_fault_at_commit_is_nobodys_success(store: SqliteStore, tmp_path: Path) -> None:
    """The jobs ran, the last page did not reach the disk: each caller must hear it."""
    await store.write(put("before"))
    log = (tmp_path / "store.db-wal").stat().st_size
    with files_no_larger_than(log):
        results = await asyncio.gather(*(store.write(put(key)) for key in "abc"), return_exceptions=True)
    assert all(isinstance(result, Problem) for result in results)
    assert store.read(keys) == ["before"]


async def test_a_folder_that_is_not_there_is_an_error_at_once(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db", lambda: 1_000)
    await store.write(put("a"))
    await store.close()
    with pytest.raises((sqlite3.Error, OSError)):
        SqliteStore(tmp_path / "nowhere" / "store.db", lambda: 1_000)


async def test_a_file_of_something_else_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_text("my diary\n" * 1000)
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        SqliteStore(path, lambda: 1_000)
    assert path.read_text() == "my diary\n" * 1000


async def test_the_store_of_a_newer_gateway_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.close()
    with pytest.raises(SchemaTooNewError, match="start the newer gateway"):
        SqliteStore(path, lambda: 1_000)


@pytest.mark.skipif(os.name == "nt", reason="no modes")
async def test_only_the_owner_reads_the_files(store: SqliteStore, tmp_path: Path) -> None:
    await store.write(put("a"))
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == dict.fromkeys(["store.db", "store.db-shm", "store.db-wal"], 0o600)


async def test_closing_leaves_one_file(store: SqliteStore, tmp_path: Path) -> None:
    await store.write(put("a"))
    store.read(keys)
    await store.read_aside(keys)
    await store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["store.db"]


async def test_the_log_does_not_grow_without_bound(store: SqliteStore, tmp_path: Path) -> None:
    for number in range(60):
        await store.write(put(f"{number}", 1_000_000))
    assert (tmp_path / "store.db-wal").stat().st_size < 40 * 1024 * 1024


async def test_writers_share_a_wait_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Group commit: a hundred writes at once are a few transactions, not a hundred."""
    statements: list[str] = []
    connect = SqliteStore._connect

    def traced(store: SqliteStore) -> sqlite3.Connection:
        connection = connect(store)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr(SqliteStore, "_connect", traced)
    store = SqliteStore(tmp_path / "store.db", lambda: 1_000)
    statements.clear()
    await asyncio.gather(*(store.write(put(f"{number}")) for number in range(100)))
    assert 1 <= statements.count("COMMIT") <= 20
    await store.close()
