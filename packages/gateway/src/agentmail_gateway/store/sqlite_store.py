"""The embedded store: SQLite in WAL mode with ``synchronous=FULL``."""

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

from ..ids import IdMint
from ..problems import Problem
from ..times import Clock
from .faults import is_fault, unavailable
from .interface import EventRow, Reader, Tx
from .migrate import migrate
from .private_file import make_private
from .schema import MIGRATIONS
from .writer import Done, Writer

__all__ = ["SqliteStore"]

T = TypeVar("T")
_LOG = logging.getLogger(__name__)
_BUSY_MS: Final = 5_000
_CHECKPOINT_PAGES: Final = 4_000
_LOG_BYTES: Final = 32 * 1024 * 1024
_READERS: Final = 2


class SqliteStore:
    """A `Store` in one file; see `interface` for what it promises.

    At most `capacity` writes wait at once; one more is refused with a Problem, never kept waiting without bound.
    """

    def __init__(self, path: Path, clock: Clock, capacity: int = 2_000) -> None:
        self._path = path
        self._capacity = capacity
        self._loop = asyncio.get_running_loop()
        self._listener: Callable[[list[EventRow]], None] = lambda _events: None
        self._closed = False
        self._waiting = 0
        self._aside = threading.local()
        self._aside_connections: list[sqlite3.Connection] = []
        self._readers = ThreadPoolExecutor(_READERS, "store-reader")
        self._reading: sqlite3.Connection | None = None
        make_private(path)
        connection = self._connect()
        try:
            migrate(connection, path, MIGRATIONS)
            last_event: int = connection.execute(
                "SELECT max(coalesce((SELECT max(id) FROM events), 0), "
                "coalesce((SELECT value FROM meta WHERE key = 'events_newest'), 0))"
            ).fetchone()[0]
            last_id: int = connection.execute(
                "SELECT max(coalesce((SELECT max(id) FROM mails), 0), coalesce((SELECT max(id) FROM turns), 0), "
                "coalesce((SELECT max(id) FROM attachments), 0), coalesce((SELECT max(id) FROM permissions), 0), "
                "coalesce((SELECT max(id) FROM audit), 0))"
            ).fetchone()[0]
        finally:
            connection.close()
        self._last_event = last_event
        self.mint = IdMint(clock, last_id)
        self._writer = Writer(
            self._connect, clock=clock, mint=self.mint, last_event=last_event, deliver=self._deliver_soon
        )
        self._writer.start()

    @property
    def last_event(self) -> int:
        return self._last_event

    @property
    def waiting(self) -> int:
        return self._waiting

    async def write(self, job: Callable[[Tx], T]) -> T:
        if self._closed:
            raise Problem("unavailable", "The gateway is shutting down; try again when it is back.", 5.0)
        if self._waiting >= self._capacity:
            raise Problem("unavailable", f"{self._waiting} writes are waiting for the disk already; try again.", 1.0)
        self._waiting += 1
        future: asyncio.Future[Any] = self._loop.create_future()
        self._writer.submit(job, future)
        result: T = await future
        return result

    def read(self, query: Callable[[Reader], T]) -> T:
        try:
            if self._reading is None:
                self._reading = self._connect_reader()
            return _in_one_state(self._reading, query)
        except (sqlite3.Error, OSError) as error:
            if self._reading is not None:
                self._reading.close()
                self._reading = None
            if is_fault(error):
                raise unavailable(error) from error
            raise

    async def read_aside(self, query: Callable[[Reader], T]) -> T:
        return await self._loop.run_in_executor(self._readers, self._read_on_thread, query)

    def on_events(self, listener: Callable[[list[EventRow]], None]) -> None:
        self._listener = listener

    def on_quiet(self, work: Callable[[Tx], bool]) -> None:
        self._writer.add_work(work)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._readers.shutdown(wait=True)
        for connection in self._aside_connections:
            connection.close()
        if self._reading is not None:
            self._reading.close()
            self._reading = None
        # The outcomes of the last writes arrive as callbacks of this loop, before the one that ends this wait.
        await asyncio.to_thread(self._writer.stop)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=_BUSY_MS / 1000, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
            connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect_reader(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=_BUSY_MS / 1000, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        connection.execute("PRAGMA query_only = ON")
        return connection

    def _read_on_thread(self, query: Callable[[Reader], T]) -> T:
        connection: sqlite3.Connection | None = getattr(self._aside, "connection", None)
        try:
            if connection is None:
                connection = self._connect_reader()
                self._aside.connection = connection
                self._aside_connections.append(connection)
            return _in_one_state(connection, query)
        except (sqlite3.Error, OSError) as error:
            if is_fault(error):
                raise unavailable(error) from error
            raise

    def _deliver_soon(self, done: Done) -> None:
        self._loop.call_soon_threadsafe(self._deliver, done)

    def _deliver(self, done: Done) -> None:
        for callback in done.callbacks:
            try:
                callback()
            except Exception:  # noqa: BLE001 - one caller's bookkeeping must not cost the others their answer
                _LOG.exception("what had to follow a commit failed")
        if done.events:
            self._last_event = done.events[-1][0]
            try:
                self._listener(done.events)
            except Exception:  # noqa: BLE001 - as above
                _LOG.exception("the listener to events failed")
        for future, result, error in done.outcomes:
            if future is None:
                continue
            self._waiting -= 1
            if future.done():
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)


def _in_one_state(connection: sqlite3.Connection, query: Callable[[Reader], T]) -> T:
    connection.execute("BEGIN")
    try:
        return query(connection)
    finally:
        if connection.in_transaction:
            connection.execute("COMMIT")
