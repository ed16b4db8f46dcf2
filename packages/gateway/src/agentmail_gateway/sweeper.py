"""What happens because time passes: leases run out, turns may be claimed again, permission questions are answered no.

The next moment is computed, not polled for: the mirror knows it, and a timer waits until then. Leases are times of the
wall clock, which may be set, and the machine may sleep: a lease that has more time left than any lease gets, or ran out
long before anybody looked, is given a fresh time, as after a start. Its holder could not have renewed it.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from . import ledger
from .core import Core
from .permission_rows import decide_row, find_permission
from .problems import Problem
from .store.interface import Tx
from .turn_changes import change_turn, mirror, tell_agent_queued
from .turn_rows import TURN_COLUMNS, find_turn, row_of

__all__ = ["Sweeper", "load_timers"]

_LOG = logging.getLogger(__name__)
_AGAIN_S: Final = 5.0
_LONGEST_S: Final = 3600.0
_SHORTEST_S: Final = 0.01
_AWAY_MS: Final = 30_000


@dataclass(slots=True)
class Sweeper:
    """Runs `sweep` when it is due; `later` runs a callback in so many seconds (an event loop's ``call_later``)."""

    core: Core
    later: Callable[[float, Callable[[], None]], asyncio.TimerHandle]
    _timer: asyncio.TimerHandle | None = None
    _at: int | None = None
    _running: asyncio.Task[None] | None = None
    _closed: bool = False

    def wake(self) -> None:
        """Set the timer to what is next."""
        due = self.next_due()
        if self._closed or self._running is not None or (self._timer is not None and self._at == due):
            return
        self._at = due
        wait = _LONGEST_S if due is None else (due - self.core.clock()) / 1000
        self._set(min(wait, ledger.LEASE_MS / 1000) if len(self.core.live) else wait)

    def next_due(self) -> int | None:
        """The next moment at which something happens by itself, milliseconds."""
        core = self.core
        moments = [turn.expires for turn in core.live]
        moments += core.waits.values()
        moments += core.asks.values()
        return min(moments, default=None)

    async def close(self) -> None:
        """Stop; a sweep that runs ends first."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._running is not None:
            await self._running

    async def sweep(self) -> None:
        """Do all that is due. Raises Problem ``unavailable``; nothing is lost then, it stays due."""
        core, now = self.core, self.core.clock()
        adrift = [turn.id for turn in core.live if not now - _AWAY_MS < turn.expires <= now + ledger.LEASE_MS]
        expired = [turn.id for turn in core.live if turn.expires <= now and turn.id not in adrift]
        waited = [turn for turn, at in core.waits.items() if at <= now]
        asked = [number for number, at in core.asks.items() if at <= now]
        if adrift or expired or waited or asked:
            await core.store.write(lambda tx: _sweep(core, tx, adrift, expired, waited, asked))

    def _set(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.later(min(max(seconds, _SHORTEST_S), _LONGEST_S), self._begin)

    def _begin(self) -> None:
        self._timer = None
        self._running = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        pause = 0.0
        try:
            await self.sweep()
        except Problem as problem:
            _LOG.warning("time passed, but %s", problem.detail)
            pause = _AGAIN_S
        finally:
            self._running = None
        if pause and not self._closed:
            self._set(pause)
        else:
            self.wake()


def load_timers(core: Core, tx: Tx) -> None:
    """At the start: every lease gets a fresh time, since its holder could not renew it, and what waits is known."""
    rows = tx.execute(
        f"SELECT {TURN_COLUMNS} FROM turns t JOIN mails m ON m.id = t.mail WHERE t.finished IS NULL "  # noqa: S608
        "AND (t.state != 'queued' OR t.not_before IS NOT NULL)"
    ).fetchall()
    for row in map(row_of, rows):
        mirror(core, tx, change_turn(core, tx, row, ledger.Restart(tx.now)))
    asks = tx.execute("SELECT id, expires FROM permissions WHERE decision IS NULL").fetchall()
    tx.then(lambda: core.asks.update(asks))


def _sweep(core: Core, tx: Tx, adrift: list[int], expired: list[int], waited: list[int], asked: list[int]) -> None:
    for number in adrift:
        row = find_turn(tx, number)
        change_turn(core, tx, row, ledger.Restart(tx.now))
    for number in expired:
        row = find_turn(tx, number)
        change_turn(core, tx, row, ledger.Expire(tx.now))
    for number in waited:
        row = find_turn(tx, number)
        if row.state == "queued" and row.not_before is not None and row.not_before <= tx.now:
            tx.execute("UPDATE turns SET not_before = NULL WHERE id = ?", (number,))
            tell_agent_queued(core, tx, row.agent, row.thread)
        tx.then(partial(core.waits.pop, number, None))
    for number in asked:
        question = find_permission(tx, number)
        if question is not None and question[7] is None and question[6] <= tx.now:
            decide_row(core, tx, number, "reject", None)
        else:
            tx.then(partial(core.asks.pop, number, None))
