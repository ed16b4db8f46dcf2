"""Permission questions: a running turn asks, a person answers, and silence is no."""

from functools import partial
from typing import Final

from .audit import note
from .core import Caller, Core
from .permission_rows import PERMISSION_COLUMNS, PermissionRow, decide_row, find_permission, shown_permission
from .principal import Principal
from .problems import Problem, invalid, not_found
from .store.interface import Reader, Tx
from .turn_changes import own_turn
from .vendor import wire
from .vendor.plain_text import one_line, printable
from .watchers import deciders_of

__all__ = ["ask_permission", "decide_permission", "get_permission", "list_permissions"]

_WAIT_MS: Final = 540_000
_OPEN: Final = 50
_DETAIL: Final = 20_000


async def ask_permission(core: Core, who: Principal, body: wire.PermissionAsk) -> wire.PermissionRequest:
    """Put a running turn's question to the people who may answer it.

    Raises Problem ``lease_stale``, ``not_found``, or ``conflict`` when the turn has very many open questions already.
    """
    agent, turn = core.bridge(who), core.head("turn", body.turn_id, "turn")

    def job(tx: Tx) -> wire.PermissionRequest:
        row = own_turn(core, tx, agent.id, turn)
        if row.state not in ("leased", "running") or row.lease != body.lease:
            raise Problem("lease_stale", "This lease doesn't run any more. Stop working on the turn.")
        waiting = tx.execute("SELECT count(*) FROM permissions WHERE turn = ? AND decision IS NULL", (turn,))
        if waiting.fetchone()[0] >= _OPEN:
            raise Problem("conflict", f"{_OPEN} questions of this turn are open already; wait for their answers.")
        number = tx.mint.head()
        expires = tx.now + _WAIT_MS
        tx.execute(
            "INSERT INTO permissions (id, turn, thread, agent, tier, created, expires, tool, summary, scope, detail) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                number,
                turn,
                row.thread,
                agent.id,
                row.mode,
                tx.now,
                expires,
                one_line(body.tool, 200),
                one_line(body.summary, 500),
                one_line(body.scope_hint, 500),
                printable(body.detail[:_DETAIL]),
            ),
        )
        stored = find_permission(tx, number)
        assert stored is not None
        shown = shown_permission(core, stored)
        data = {
            "id": shown.id,
            "turn_id": shown.turn_id,
            "thread_id": shown.thread_id,
            "agent": shown.agent,
            "tool": shown.tool,
            "summary": shown.summary,
            "expires_at": shown.expires_at,
        }
        for account in deciders_of(core, tx, turn, row.mode):
            tx.event(account, "permission_request", data)
        tx.then(partial(core.asks.update, {number: expires}))
        tx.then(core.wake)
        return shown

    return await core.store.write(job)


async def list_permissions(
    core: Core, who: Principal, state: str | None, after: str | None, limit: int
) -> wire.Page[wire.PermissionRequest]:
    """A page of the questions that the caller asked or may answer, oldest first; `state` is ``open`` or ``decided``."""
    caller = core.caller(who)
    size = core.page_size(limit)
    start = core.cursor("perm", after)
    if state not in (None, "open", "decided"):
        raise invalid("`state` is `open` or `decided`.")
    conditions = {None: "", "open": " AND p.decision IS NULL", "decided": " AND p.decision IS NOT NULL"}[state]

    def page(reader: Reader) -> wire.Page[wire.PermissionRequest]:
        items: list[wire.PermissionRequest] = []
        position = start
        while True:
            rows = reader.execute(
                f"SELECT {PERMISSION_COLUMNS} FROM permissions p WHERE p.id > ?{conditions} "  # noqa: S608 - constants
                "ORDER BY p.id LIMIT ?",
                (position, size + 1),
            ).fetchall()
            for row in rows:
                if len(items) == size:
                    return wire.Page(tuple(items), items[-1].id)
                if _sees(core, reader, caller, row):
                    items.append(shown_permission(core, row))
            if len(rows) <= size:
                return wire.Page(tuple(items))
            position = rows[-1][0]

    return await core.store.read_aside(page)


async def get_permission(core: Core, who: Principal, permission_id: str) -> wire.PermissionRequest:
    """One question. Raises Problem ``not_found``."""
    caller = core.caller(who)
    number = core.head("perm", permission_id, "permission question")

    def one(reader: Reader) -> wire.PermissionRequest:
        return shown_permission(core, _find(core, reader, caller, number))

    return core.store.read(one)


async def decide_permission(
    core: Core, who: Principal, permission_id: str, decision: wire.PermissionDecision
) -> wire.PermissionRequest:
    """Answer a question; the same answer again is the same.

    Only an administrator, or a person who sees the turn and is trusted with its tier, may: never an agent, whatever a
    mail says. Raises Problem ``forbidden``, ``not_found``, ``conflict`` when it was answered otherwise or is too late.
    """
    caller = core.caller(who)
    number = core.head("perm", permission_id, "permission question")

    def job(tx: Tx) -> wire.PermissionRequest:
        row = _find(core, tx, caller, number)
        if caller.account.id not in deciders_of(core, tx, row[1], row[4]):
            raise Problem("forbidden", f"Only an administrator or a person trusted for {row[4]} answers this.")
        if row[7] is not None:
            if row[7] == decision and row[9] == caller.account.id:
                return shown_permission(core, row)
            raise Problem("conflict", f"This was answered already: {row[7]}.")
        if row[6] <= tx.now:
            raise Problem("conflict", "The time to answer is over; the agent was told no.")
        note(tx, caller.account, "decide permission", permission_id, decision)
        return decide_row(core, tx, number, decision, caller.account.id)

    return await core.store.write(job)


def _find(core: Core, reader: Reader, caller: Caller, number: int) -> PermissionRow:
    row = find_permission(reader, number)
    if row is None or not _sees(core, reader, caller, row):
        raise not_found("permission question")
    return row


def _sees(core: Core, reader: Reader, caller: Caller, row: PermissionRow) -> bool:
    """The agent sees what it asked, a turn key nothing, people what they may answer."""
    if caller.turn is not None:
        return False
    return bool(row[3] == caller.account.id) or caller.account.id in deciders_of(core, reader, row[1], row[4])
