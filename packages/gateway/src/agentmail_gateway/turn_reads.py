"""Turns as callers see them: an agent its own, a person those of mail they sent or got, an administrator all."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from . import turn_work
from .boxes import INBOX, LAST, SENT, box_rows
from .core import Caller, Core
from .limits import MAX_RECIPIENTS
from .mail_reads import turns_of_mails
from .principal import Principal
from .problems import invalid, not_found
from .store.interface import Reader
from .turn_rows import TURN_COLUMNS, TurnRow, find_turn, row_of, shown_turn
from .vendor import wire

__all__ = ["get_turn", "list_turns", "recent_progress", "sees_turn"]

_STATES: Final = frozenset({"queued", "leased", "running"}) | wire.FINAL_STATES
_MINE: Final = "EXISTS (SELECT 1 FROM box WHERE owner = ? AND place IN (0, 1, 2) AND mail = m.id)"
_STEP: Final = 500


async def list_turns(
    core: Core, who: Principal, states: Iterable[str], order: wire.ListOrder, after: str | None, limit: int
) -> wire.Page[wire.Turn]:
    """A page of turns in `order`, all or those in `states`. Raises Problem ``invalid``."""
    caller = core.caller(who)
    size = core.page_size(limit)
    newest = order == "newest"
    start = core.cursor("turn", after) or (LAST if newest else 0)
    wanted = sorted(frozenset(states))
    unknown = [state for state in wanted if state not in _STATES]
    if unknown:
        raise invalid(f"There is no turn state {unknown[0][:40]!r}; there are {', '.join(sorted(_STATES))}.")

    def page(reader: Reader) -> wire.Page[wire.Turn]:
        rows = list(islice(_matching(reader, caller, wanted, start, newest), size + 1))
        items = tuple([shown_turn(core, row) for row in rows[:size]])
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


async def recent_progress(core: Core, who: Principal, turn_id: str) -> tuple[wire.ProgressEvent, ...]:
    """The latest progress of a running turn, oldest first; nothing of one that doesn't run. Raises ``not_found``."""
    await get_turn(core, who, turn_id)
    return turn_work.recent_progress(core.live.get(core.head("turn", turn_id, "turn")))


def sees_turn(reader: Reader, caller: Caller, row: TurnRow) -> bool:
    """Whether the caller may know of the turn; who wrote the mail always may."""
    if caller.turn is not None:
        return row.id == caller.turn.id
    if caller.account.admin or caller.account.id in (row.agent, row.sender):
        return True
    if not caller.is_person:
        return False
    found = reader.execute(
        "SELECT 1 FROM box WHERE owner = ? AND place IN (0, 1) AND mail = ?", (caller.account.id, row.mail)
    ).fetchone()
    return found is not None


def _matching(reader: Reader, caller: Caller, states: list[str], start: int, newest: bool) -> Iterator[TurnRow]:
    """The caller's turns in `states` beyond `start`, in order; each kind of question takes the way that is short."""
    if caller.turn is not None:
        row = find_turn(reader, caller.turn.id)
        beyond = row.id < start if newest else row.id > start
        return iter([row] if beyond and (not states or row.state in states) else [])
    if states and wire.FINAL_STATES.isdisjoint(states):
        return _in_table(reader, caller, "turns t INDEXED BY turns_open", "t.finished IS NULL", states, start, newest)
    if states == ["dead"]:
        return _in_table(reader, caller, "turns t INDEXED BY turns_dead", "t.state = 'dead'", states, start, newest)
    if caller.account.admin:
        return _in_table(reader, caller, "turns t", "TRUE", states, start, newest)
    return _in_box(reader, caller, states, start, newest)


def _in_table(
    reader: Reader, caller: Caller, table: str, condition: str, states: list[str], start: int, newest: bool
) -> Iterator[TurnRow]:
    """Turns from `table` (this module's own text), as they come from an index that holds few others."""
    parameters: list[object] = [start, *states]
    if states:
        condition += f" AND t.state IN ({', '.join('?' * len(states))})"
    if not caller.is_person:
        condition += " AND t.agent = ?"
        parameters.append(caller.account.id)
    elif not caller.account.admin:
        condition += f" AND {_MINE}"
        parameters.append(caller.account.id)
    beyond, order = ("<", "DESC") if newest else (">", "ASC")
    sql = (
        f"SELECT {TURN_COLUMNS} FROM {table} CROSS JOIN mails m ON m.id = t.mail "  # noqa: S608 - own texts
        f"WHERE t.id {beyond} ? AND {condition} ORDER BY t.id {order} LIMIT ?"
    )
    return map(row_of, reader.execute(sql, (*parameters, 201)).fetchall())


def _in_box(reader: Reader, caller: Caller, states: list[str], start: int, newest: bool) -> Iterator[TurnRow]:
    """Turns of the mail in the caller's box; their ids follow their mail's, so the order of mails is that of turns."""
    number = caller.account.id
    after, before = max(start - MAX_RECIPIENTS - 1, 0), start if newest else None
    while True:
        rows = box_rows(reader, caller, (*INBOX, SENT), after=after, before=before, limit=_STEP)
        turns = turns_of_mails(reader, [row[0] for row in rows])
        for turn in reversed(turns) if newest else turns:
            beyond = turn.id < start if newest else turn.id > start
            if beyond and (not states or turn.state in states) and (caller.is_person or turn.agent == number):
                yield turn
        if len(rows) < _STEP:
            return
        after, before = rows[-1][0], rows[-1][0] if newest else None
