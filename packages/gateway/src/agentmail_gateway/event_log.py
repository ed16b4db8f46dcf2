"""Stored events: read from a cursor on, and trimmed to a number."""

from typing import Final

import msgspec

from .core import Core
from .events import StoredEvent
from .principal import Principal
from .store.interface import EventRow, Reader, Tx

__all__ = ["events_after", "events_of", "trim_events"]

_KEEP: Final = 100_000
_SLACK: Final = 1_000


async def events_after(core: Core, who: Principal, cursor: int, limit: int) -> list[StoredEvent] | None:
    """The caller's next events after `cursor`, oldest first; None when the cursor is not one or too old.

    A turn key gets the agent's ``new_mail`` only. Fewer than `limit` events mean that there are no more now.
    """
    caller = core.caller(who)

    def page(reader: Reader) -> list[StoredEvent] | None:
        oldest = reader.execute("SELECT min(id) FROM events").fetchone()[0]
        if not (oldest or newest + 1) - 1 <= cursor <= newest:
            return None
        sql = "SELECT id, type, data FROM events WHERE id > ? AND account = ?"
        if caller.turn is not None:
            sql += " AND type = 'new_mail'"
        rows = reader.execute(f"{sql} ORDER BY id LIMIT ?", (cursor, caller.account.id, limit)).fetchall()
        return [StoredEvent(number, who.name, kind, msgspec.json.decode(data)) for number, kind, data in rows]

    newest = core.store.last_event
    if cursor == newest:
        return []
    return await core.store.read_aside(page)


def events_of(core: Core, rows: list[EventRow]) -> list[StoredEvent]:
    """Rows of a commit as events."""
    by_id = core.accounts.by_id
    return [StoredEvent(number, by_id[account].name, kind, data) for number, account, kind, data in rows]


def trim_events(tx: Tx) -> bool:
    """Remove events beyond the number that is kept, some at a time; whether there are more."""
    oldest, newest = tx.execute("SELECT (SELECT min(id) FROM events), (SELECT max(id) FROM events)").fetchone()
    if oldest is None or newest - oldest < _KEEP + _SLACK:
        return False
    tx.execute("DELETE FROM events WHERE id <= ?", (min(newest - _KEEP, oldest + _SLACK),))
    return True
