"""The record of what administrators and people decided: who did what to whom."""

from .accounts import Account
from .core import Core
from .principal import Principal
from .store.interface import Reader, Tx
from .times import text
from .vendor.wire import AuditEntry, Page

__all__ = ["list_audit", "note"]


def note(tx: Tx, actor: Account, action: str, target: str = "", detail: str = "") -> None:
    """Add a line in the transaction of what it tells of. Secrets never go in."""
    tx.execute(
        "INSERT INTO audit (id, at, actor, action, target, detail) VALUES (?, ?, ?, ?, ?, ?)",
        (tx.mint.head(), tx.now, actor.name, action, target, detail),
    )


async def list_audit(core: Core, who: Principal, after: str | None, limit: int) -> Page[AuditEntry]:
    """A page of the record, oldest first, for an administrator."""
    core.administrator(who)
    size = core.page_size(limit)
    start = core.cursor("aud", after)

    def page(reader: Reader) -> Page[AuditEntry]:
        rows = reader.execute(
            "SELECT id, at, actor, action, target, detail FROM audit WHERE id > ? ORDER BY id LIMIT ?",
            (start, size + 1),
        ).fetchall()
        items = tuple(
            AuditEntry(core.ids.text("aud", number), text(at), actor, action, target, detail)
            for number, at, actor, action, target, detail in rows[:size]
        )
        return Page(items, items[-1].id if len(rows) > size else None)

    return await core.store.read_aside(page)
