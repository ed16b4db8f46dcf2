"""The one thread that writes: it puts all jobs that wait into one transaction (group commit).

A transaction costs one wait for the disk, however many jobs share it. Jobs check before they write, so one that fails
has nearly always written nothing, and the others go on. When one did write before it failed, everything is taken back
and each job runs again in a transaction of its own: the effect of a savepoint per job without its cost.
"""

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Final

import msgspec

from ..ids import IdMint
from ..problems import Problem
from ..times import Clock
from .faults import is_fault, unavailable
from .interface import EventRow, Tx

__all__ = ["Done", "Writer"]

_LOG = logging.getLogger(__name__)
_LARGEST_BATCH: Final = 256
_QUIET_S: Final = 0.2
_PRESSURE: Final = 10_000

Future = asyncio.Future[Any]
Job = tuple[Callable[[Tx], Any], Future | None]
Outcome = tuple[Future | None, Any, Exception | None]


@dataclass(slots=True)
class Done:
    """What one or more transactions came to, for the event loop."""

    outcomes: list[Outcome] = field(default_factory=list)
    callbacks: list[Callable[[], object]] = field(default_factory=list)
    events: list[EventRow] = field(default_factory=list)


class _UndoneError(Exception):
    """A job failed after it had written; its neighbours must run again."""


class _Tx:
    __slots__ = ("callbacks", "events", "execute", "memo", "mint", "now")

    def __init__(self, mint: IdMint) -> None:
        self.mint = mint
        self.now = 0
        self.memo: dict[Any, Any] = {}
        self.events: list[tuple[int, str, Mapping[str, Any]]] = []
        self.callbacks: list[Callable[[], object]] = []
        self.execute: Any = None

    def event(self, account: int, kind: str, data: Mapping[str, Any]) -> None:
        self.events.append((account, kind, data))

    def then(self, callback: Callable[[], object]) -> None:
        self.callbacks.append(callback)


class Writer:
    """Owns the writing connection; `deliver` is called on its thread with what was committed.

    `connect` opens a connection in autocommit mode; it is called again after a fault, so that the store works as soon
    as the cause is gone. `last_event` is the id of the newest event ever stored.
    """

    def __init__(
        self,
        connect: Callable[[], sqlite3.Connection],
        *,
        clock: Clock,
        mint: IdMint,
        last_event: int,
        deliver: Callable[[Done], None],
    ) -> None:
        self._connect = connect
        self._connection: sqlite3.Connection | None = None
        self._clock = clock
        self._last_event = last_event
        self._deliver = deliver
        self._tx = _Tx(mint)
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._work: list[Callable[[Tx], bool]] = []
        self._since_work = 0
        self._restless = True
        self._thread = threading.Thread(target=self._main, name="store-writer", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def submit(self, job: Callable[[Tx], Any], future: Future) -> None:
        """Take `job`; `future` comes back with its outcome."""
        self._queue.put((job, future))

    def add_work(self, work: Callable[[Tx], bool]) -> None:
        """Add something to do when it is quiet."""
        self._work.append(work)

    def stop(self) -> None:
        """Run what was submitted, move everything into the main file, and end the thread (blocks until then)."""
        self._queue.put(None)
        self._thread.join()

    def _main(self) -> None:
        stopping = False
        while not stopping:
            try:
                first = self._queue.get(timeout=_QUIET_S if self._restless else None)
            except Empty:
                self._use_the_quiet()
                continue
            batch: list[Job] = []
            stopping = first is None
            if first is not None:
                batch.append(first)
            with suppress(Empty):
                while len(batch) < _LARGEST_BATCH and not stopping:
                    following = self._queue.get_nowait()
                    stopping = following is None
                    if following is not None:
                        batch.append(following)
            if batch:
                self._run(batch)
                self._restless = True
                self._since_work += len(batch)
                if self._since_work >= _PRESSURE:
                    self._run_work()
        self._leave()

    def _run(self, batch: list[Job]) -> Done:
        done = Done()
        try:
            self._transaction(batch, done)
        except _UndoneError:
            for job in batch:
                self._transaction([job], done)
        self._deliver(done)
        return done

    def _transaction(self, batch: list[Job], done: Done) -> None:
        tx = self._tx
        tx.events.clear()
        tx.callbacks.clear()
        outcomes: list[Outcome] = []
        try:
            if self._connection is None:
                self._connection = self._connect()
            connection = self._connection
            tx.execute = connection.execute
            connection.execute("BEGIN IMMEDIATE")
            tx.now = self._clock()
            for job, future in batch:
                mark = connection.total_changes, len(tx.events), len(tx.callbacks)
                try:
                    outcomes.append((future, job(tx), None))
                except Exception as error:
                    if is_fault(error):
                        raise
                    if connection.total_changes != mark[0]:
                        if len(batch) > 1:
                            raise _UndoneError from None
                        self._take_back()
                        done.outcomes.append((future, None, error))
                        return
                    del tx.events[mark[1] :], tx.callbacks[mark[2] :]
                    outcomes.append((future, None, error))
            events = self._store_events(connection)
            connection.execute("COMMIT")
        except _UndoneError:
            self._take_back()
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, every caller gets an answer and the thread lives on
            self._take_back()
            self._drop_connection()
            _LOG.error("the store failed: %s", error)
            done.outcomes.extend((future, None, unavailable(error)) for _, future in batch)
            return
        if events:
            self._last_event = events[-1][0]
            done.events.extend(events)
        done.outcomes.extend(outcomes)
        done.callbacks.extend(tx.callbacks)

    def _store_events(self, connection: sqlite3.Connection) -> list[EventRow]:
        if not self._tx.events:
            return []
        rows: list[EventRow] = [
            (number, *event) for number, event in enumerate(self._tx.events, start=self._last_event + 1)
        ]
        connection.executemany(
            "INSERT INTO events (id, account, type, data) VALUES (?, ?, ?, ?)",
            [(number, account, kind, msgspec.json.encode(data).decode()) for number, account, kind, data in rows],
        )
        return rows

    def _take_back(self) -> None:
        self._tx.memo.clear()
        with suppress(sqlite3.Error):
            if self._connection is not None and self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _drop_connection(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _use_the_quiet(self) -> None:
        """Background work, piece by piece; when there is no more, move the log into the main file."""
        while self._run_work():
            if not self._queue.empty():
                return
        self._restless = False
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _run_work(self) -> bool:
        more = False
        for work in self._work:
            for _, result, error in self._run([(work, None)]).outcomes:
                if isinstance(error, Problem):
                    return False
                if error is not None:
                    _LOG.error("background work failed", exc_info=error)
                more = more or bool(result)
        if not more:
            self._since_work = 0
        return more

    def _leave(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._drop_connection()
