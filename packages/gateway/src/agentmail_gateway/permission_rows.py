"""Permission questions in the store."""

from typing import Any, Final

from .core import Core
from .store.interface import Reader, Tx
from .times import text
from .vendor import wire
from .watchers import deciders_of

__all__ = ["PERMISSION_COLUMNS", "PermissionRow", "decide_row", "find_permission", "reject_open", "shown_permission"]

PERMISSION_COLUMNS: Final = (
    "p.id, p.turn, p.thread, p.agent, p.tier, p.created, p.expires, p.decision, p.decided, p.decided_by, "
    "p.tool, p.summary, p.scope, p.detail"
)
PermissionRow = tuple[Any, ...]


def find_permission(reader: Reader, number: int) -> PermissionRow | None:
    """The row of `PERMISSION_COLUMNS`."""
    row: PermissionRow | None = reader.execute(
        f"SELECT {PERMISSION_COLUMNS} FROM permissions p WHERE p.id = ?",  # noqa: S608 - constant
        (number,),
    ).fetchone()
    return row


def shown_permission(core: Core, row: PermissionRow) -> wire.PermissionRequest:
    """The question as callers see it."""
    number, turn, thread, agent, _, created, expires, decision, decided, decided_by, tool, summary, scope, detail = row
    return wire.PermissionRequest(
        id=core.ids.text("perm", number),
        turn_id=core.ids.text("turn", turn),
        thread_id=core.ids.text("thr", thread),
        agent=core.accounts.by_id[agent].name,
        tool=tool,
        summary=summary,
        created_at=text(created),
        detail=detail,
        scope_hint=scope,
        expires_at=text(expires),
        decision=decision,
        decided_by=None if decided_by is None else core.accounts.by_id[decided_by].name,
        decided_at=text(decided),
    )


def decide_row(
    core: Core, tx: Tx, number: int, decision: wire.PermissionDecision, by: int | None
) -> wire.PermissionRequest:
    """Store the decision of an open question and tell the agent and those who were asked; `by` None: time decided."""
    tx.execute(
        "UPDATE permissions SET decision = ?, decided = ?, decided_by = ? WHERE id = ?", (decision, tx.now, by, number)
    )
    row = find_permission(tx, number)
    assert row is not None
    shown = shown_permission(core, row)
    data = {"id": shown.id, "turn_id": shown.turn_id, "decision": decision, "decided_by": shown.decided_by}
    for account in (row[3], *deciders_of(core, tx, row[1], row[4])):
        tx.event(account, "permission_decision", data)
    tx.then(lambda: core.asks.pop(number, None))
    return shown


def reject_open(core: Core, tx: Tx, turn: int) -> None:
    """Nobody needs to answer the questions of a turn that has ended."""
    for (number,) in tx.execute("SELECT id FROM permissions WHERE turn = ? AND decision IS NULL", (turn,)).fetchall():
        decide_row(core, tx, number, "reject", None)
