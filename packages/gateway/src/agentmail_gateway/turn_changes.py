"""Carrying out what the ledger decided: the row, the events that tell of it, and the mirror of leases."""

from . import ledger
from .core import Core
from .live import LiveTurn
from .notices import tell_dead
from .permission_rows import reject_open
from .problems import Problem, not_found
from .store.interface import Reader, Tx
from .turn_rows import TurnRow, find_turn, save_state
from .vendor import wire
from .watchers import watchers_of

__all__ = ["change_turn", "mirror", "own_turn", "tell_agent_queued"]


def own_turn(core: Core, reader: Reader, agent: int, turn: int) -> TurnRow:
    """The turn, if it is this agent's. Raises Problem ``not_found``."""
    row = find_turn(reader, turn)
    if row.agent != agent:
        raise not_found("turn")
    return row


def change_turn(core: Core, tx: Tx, row: TurnRow, event: ledger.Event, **columns: object) -> TurnRow:
    """Let `event` happen to the turn and tell everybody whom it concerns; the turn as it is then.

    `columns` are stored along. Raises Problem with the ledger's refusal.
    """
    new = ledger.decide(row.ledger, event)
    if isinstance(new, ledger.Refusal):
        raise Problem(new.code, new.detail)
    if new == row.ledger and not columns:
        return row
    save_state(tx, row, new, **columns)
    changed = find_turn(tx, row.id)
    if new.state != row.state:
        _tell_state(core, tx, changed)
    if isinstance(event, ledger.Cancel) and row.held and not row.cancel:
        tx.event(row.agent, "turn_cancel", {"turn_id": core.ids.text("turn", row.id)})
    mirror(core, tx, changed)
    return changed


def tell_agent_queued(core: Core, tx: Tx, agent: int, thread: int | None = None) -> None:
    """Tell the agent of the turns that it may claim now: the first open one of the thread, or of each thread."""
    rows = tx.execute(
        "SELECT min(id), state, not_before FROM turns WHERE agent = ? AND finished IS NULL "
        "AND thread = coalesce(?, thread) GROUP BY thread ORDER BY 1",
        (agent, thread),
    ).fetchall()
    for number, state, not_before in rows:
        if state == "queued" and (not_before is None or not_before <= tx.now):
            tx.event(agent, "turn_state", {"turn_id": core.ids.text("turn", number), "state": "queued"})


def mirror(core: Core, tx: Tx, row: TurnRow) -> None:
    """Let memory follow what the store knows of the turn's lease and of when it may be claimed."""
    live = _live_turn(core, tx, row)

    def follow() -> None:
        if live is None:
            core.live.end(row.id)
        else:
            core.live.put(live)
        if row.state == "queued" and row.not_before is not None:
            core.waits[row.id] = row.not_before
        else:
            core.waits.pop(row.id, None)
        core.wake()

    tx.then(follow)


def _live_turn(core: Core, reader: Reader, row: TurnRow) -> LiveTurn | None:
    """The mirror of the turn's lease; None when nobody holds one that runs."""
    if row.state not in ("leased", "running") or row.key_digest is None or row.expires is None:
        return None
    return LiveTurn(
        id=row.id,
        mail=row.mail,
        thread=row.thread,
        agent=row.agent,
        lease=row.lease,
        expires=row.expires,
        mode=row.mode,
        workspace=row.workspace,
        digest=row.key_digest,
        watchers=watchers_of(core, reader, row.mail),
        output_stored=row.output or 0,
    )


def _tell_state(core: Core, tx: Tx, row: TurnRow) -> None:
    data = {"turn_id": core.ids.text("turn", row.id), "state": row.state}
    for person in watchers_of(core, tx, row.mail):
        tx.event(person, "turn_state", data)
    if row.state in wire.FINAL_STATES:
        reject_open(core, tx, row.id)
    if row.state == "queued" or row.state in wire.FINAL_STATES:
        tell_agent_queued(core, tx, row.agent, row.thread)
    if row.state == "dead":
        tell_dead(core, tx, row)
    tx.then(lambda: core.agent_changed(row.agent))
