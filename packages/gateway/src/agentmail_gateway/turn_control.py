"""What the sender or an administrator does with a turn: cancel, retry, delete; and the receipt that it was pushed."""

from collections.abc import Callable, Iterable

from . import ledger
from .audit import note
from .core import Caller, Core
from .principal import Principal
from .problems import Problem, not_found
from .store.interface import Reader, Tx
from .turn_changes import change_turn
from .turn_reads import sees_turn
from .turn_rows import TurnRow, find_turn, shown_turn
from .vendor import wire

__all__ = ["cancel", "delete_turn", "retry", "store_pushed"]


async def cancel(core: Core, who: Principal, turn_id: str) -> wire.Turn:
    """End a queued turn at once; ask the bridge of a running one to end it. Raises Problem ``turn_final``."""
    return await _control(core, who, turn_id, "cancel", lambda tx, row: change_turn(core, tx, row, ledger.Cancel()))


async def retry(core: Core, who: Principal, turn_id: str) -> wire.Turn:
    """Put a dead turn back into the queue. Raises Problem ``conflict`` for any other."""
    return await _control(
        core,
        who,
        turn_id,
        "retry",
        lambda tx, row: change_turn(core, tx, row, ledger.Retry(), reason=None, failure=None),
    )


async def delete_turn(core: Core, who: Principal, turn_id: str) -> None:
    """Take a dead turn off the list. Raises Problem ``conflict`` for any other."""

    def delete(tx: Tx, row: TurnRow) -> TurnRow:
        if row.state != "dead":
            raise Problem("conflict", f"Only a dead turn can be deleted; this one is {row.state}.")
        tx.execute("DELETE FROM turns WHERE id = ?", (row.id,))
        return row

    await _control(core, who, turn_id, "delete", delete)


async def store_pushed(core: Core, turns: Iterable[int]) -> None:
    """Note that the agents' event streams were told of new turns just now."""
    numbers = tuple(turns)

    def job(tx: Tx) -> None:
        for number in numbers:
            tx.execute("UPDATE turns SET pushed = ? WHERE id = ? AND pushed IS NULL", (tx.now, number))

    await core.store.write(job)


async def _control(
    core: Core, who: Principal, turn_id: str, action: str, change: Callable[[Tx, TurnRow], TurnRow]
) -> wire.Turn:
    caller = core.caller(who)
    number = core.head("turn", turn_id, "turn")

    def job(tx: Tx) -> wire.Turn:
        row = find_turn(tx, number)
        if not sees_turn(tx, caller, row):
            raise not_found("turn")
        if not _may_control(tx, caller, row):
            raise Problem("forbidden", f"Only who sent the mail or an administrator can {action} its turn.")
        changed = change(tx, row)
        if changed != row or action == "delete":
            note(tx, caller.account, f"{action} turn", turn_id)
        return shown_turn(core, changed)

    return await core.store.write(job)


def _may_control(reader: Reader, caller: Caller, row: TurnRow) -> bool:
    if caller.turn is not None:
        sent_by = reader.execute("SELECT turn FROM mails WHERE id = ?", (row.mail,)).fetchone()[0]
        return bool(sent_by == caller.turn.id)
    return caller.account.admin or caller.account.id == row.sender
