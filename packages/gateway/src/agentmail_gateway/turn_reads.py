"""Turns as callers see them: an agent its own, a person those of mail they sent or got, an administrator all."""

from collections.abc import Iterable
from typing import Final

from .core import Caller, Core
from .limits import MAX_RECIPIENTS
from .principal import Principal
from .problems import invalid, not_found
from .store.interface import Reader
from .turn_rows import TURN_COLUMNS, TurnRow, find_turn, row_of, shown_turn
from .vendor import wire

__all__ = ["get_turn", "list_turns", "sees_turn"]

_STATES: Final = frozenset({"queued", "leased", "running"}) | wire.FINAL_STATES
_MINE: Final = "EXISTS (SELECT 1 FROM box WHERE owner = ? AND sent IN (0, 1) AND mail = m.id)"
_BOX: Final = (
    "(SELECT mail FROM box WHERE owner = ? AND sent = 0 AND mail > ? "
    "UNION SELECT mail FROM box WHERE owner = ? AND sent = 1 AND mail > ? ORDER BY mail)"
)


async def list_turns(
    core: Core, who: Principal, states: Iterable[str], after: str | None, limit: int
) -> wire.Page[wire.Turn]:
    """A page of turns, oldest first, all or those in `states`. Raises Problem ``invalid``."""
    caller = core.caller(who)
    size = core.page_size(limit)
    start = core.cursor("turn", after)
    wanted = sorted(frozenset(states))
    unknown = [state for state in wanted if state not in _STATES]
    if unknown:
        raise invalid(f"There is no turn state {unknown[0][:40]!r}; there are {', '.join(sorted(_STATES))}.")
    sql, parameters = _query(caller, wanted, start)

    def page(reader: Reader) -> wire.Page[wire.Turn]:
        rows = reader.execute(f"{sql} ORDER BY t.id LIMIT ?", (*parameters, size + 1)).fetchall()
        items = tuple(shown_turn(core, row_of(row)) for row in rows[:size])
        return wire.Page(items, items[-1].id if len(rows) > size else None)

    if not caller.is_person and wanted == ["queued"]:
        return core.store.read(page)
    return await core.store.read_aside(page)


async def get_turn(core: Core, who: Principal, turn_id: str) -> wire.Turn:
    """One turn. Raises Problem ``not_found``."""
    caller = core.caller(who)
    number = core.head("turn", turn_id, "turn")

    def one(reader: Reader) -> wire.Turn:
        row = find_turn(reader, number)
        if not sees_turn(reader, caller, row):
            raise not_found("turn")
        return shown_turn(core, row)

    return core.store.read(one)


def sees_turn(reader: Reader, caller: Caller, row: TurnRow) -> bool:
    """Whether the caller may know of the turn; who wrote the mail always may."""
    if caller.turn is not None:
        return row.id == caller.turn.id
    if caller.account.admin or caller.account.id in (row.agent, row.sender):
        return True
    if not caller.is_person:
        return False
    found = reader.execute(
        "SELECT 1 FROM box WHERE owner = ? AND sent = 0 AND mail = ?", (caller.account.id, row.mail)
    ).fetchone()
    return found is not None


def _query(caller: Caller, states: list[str], start: int) -> tuple[str, tuple[object, ...]]:
    """The statement without its order, and its parameters; each kind of question has an index that fits it."""
    number = caller.account.id
    conditions, parameters = "t.id > ?", [start]
    narrow: list[object] = []
    if states:
        conditions += f" AND t.state IN ({', '.join('?' * len(states))})"
        narrow += states
    is_open = bool(states) and wire.FINAL_STATES.isdisjoint(states)
    if is_open:
        conditions += " AND t.finished IS NULL"
    if caller.turn is not None:
        conditions += " AND t.id = ?"
        narrow.append(caller.turn.id)
    table = "turns t JOIN mails m ON m.id = t.mail"
    if caller.account.admin:
        pass
    elif states == ["dead"] or (is_open and caller.is_person):
        conditions += f" AND {_MINE}" + (" AND t.state = 'dead'" if states == ["dead"] else "")
        narrow.append(number)
    elif not is_open:
        # The turns of a mail have the ids that follow its own, so a box in order of mails is in order of turns.
        table = (
            f"{_BOX} b CROSS JOIN mails m ON m.id = b.mail CROSS JOIN turns t ON t.id > m.id AND t.id <= m.id + m.turns"
        )
        before = max(start - MAX_RECIPIENTS - 1, 0)
        parameters = [number, before, number, before, start]
    if not caller.is_person:
        conditions += " AND t.agent = ?"
        narrow.append(number)
    return f"SELECT {TURN_COLUMNS} FROM {table} WHERE {conditions}", (*parameters, *narrow)  # noqa: S608 - own texts
