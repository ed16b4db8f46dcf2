"""Threads: a list with the newest activity first, and one whole."""

from collections.abc import Iterator
from typing import Final

from .boxes import INBOX, LAST, SENT, UNREAD, box_rows
from .core import Caller, Core
from .mail_reads import mails_of, turns_of_mails, visible_in_thread
from .principal import Principal
from .problems import not_found
from .store.interface import Reader
from .times import text
from .turn_rows import shown_turn
from .vendor import wire
from .visibility import SEEN, seen_parameters

__all__ = ["get_thread", "list_threads"]

_NEWEST: Final = 1_000
_STEP: Final = 200
_SUMMARY: Final = (
    "SELECT m.created, m.sender, m.to_ids, m.cc_ids, m.subject, EXISTS (SELECT 1 FROM box "  # noqa: S608 - constants
    f"WHERE owner = ? AND place = {UNREAD} AND mail = m.id) FROM mails m WHERE thread = ? AND {SEEN} ORDER BY id"
)


async def list_threads(core: Core, who: Principal, after: str | None, limit: int) -> wire.Page[wire.ThreadSummary]:
    """A page of the caller's threads, newest activity first; `next` is the last mail of the last one."""
    caller = core.caller(who)
    size = core.page_size(limit)
    start = core.cursor("mail", after) or LAST

    def page(reader: Reader) -> wire.Page[wire.ThreadSummary]:
        found: list[tuple[int, int]] = []
        for thread, mail in _newest_first(reader, caller, start):
            found.append((thread, mail))
            if len(found) > size:
                break
        items = tuple(_summary(core, reader, caller, thread) for thread, _ in found[:size])
        return wire.Page(items, core.ids.text("mail", found[size - 1][1]) if len(found) > size else None)

    return await core.store.read_aside(page)


async def get_thread(core: Core, who: Principal, thread_id: str) -> wire.Thread:
    """The caller's mails of a thread and their turns, oldest first.

    Of a very long thread the newest: at most 1,000 mails, and at most 4 Mi characters beyond the last mail. Raises
    Problem ``not_found``.
    """
    caller = core.caller(who)
    number = core.head("thr", thread_id, "thread")

    def one(reader: Reader) -> wire.Thread:
        numbers = visible_in_thread(reader, caller, number, _NEWEST)
        if not numbers:
            raise not_found("thread")
        mails = mails_of(core, reader, caller, numbers[::-1])[::-1]
        turns = turns_of_mails(reader, numbers[-len(mails) :])
        if not caller.is_person:
            turns = [turn for turn in turns if caller.account.id in (turn.agent, turn.sender)]
        return wire.Thread(thread_id, mails[0].subject, mails, tuple([shown_turn(core, turn) for turn in turns]))

    return await core.store.read_aside(one) if _is_long(core, number) else core.store.read(one)


def _is_long(core: Core, thread: int) -> bool:
    """Whether reading the thread may hold up the event loop."""
    return core.store.read(
        lambda reader: (
            len(reader.execute("SELECT 1 FROM mails WHERE thread = ? LIMIT 100", (thread,)).fetchall()) == 100
        )
    )


def _newest_first(reader: Reader, caller: Caller, before: int) -> Iterator[tuple[int, int]]:
    """Threads with the newest mail that the caller sees, for those whose newest is older than the mail `before`."""
    seen: set[int] = set()
    position = before
    while True:
        rows = box_rows(reader, caller, (*INBOX, SENT), columns="mail, thread", before=position, limit=_STEP)
        for mail, thread in rows:
            if thread in seen:
                continue
            seen.add(thread)
            if before == LAST or not _has_newer(reader, caller, thread, before):
                yield thread, mail
        if len(rows) < _STEP:
            return
        position = rows[-1][0]


def _has_newer(reader: Reader, caller: Caller, thread: int, mail: int) -> bool:
    found = reader.execute(
        f"SELECT 1 FROM mails m WHERE thread = ? AND id >= ? AND {SEEN} LIMIT 1",  # noqa: S608 - constant
        (thread, mail, *seen_parameters(caller)),
    ).fetchone()
    return found is not None


def _summary(core: Core, reader: Reader, caller: Caller, thread: int) -> wire.ThreadSummary:
    rows = reader.execute(
        _SUMMARY,
        (caller.account.id, thread, *seen_parameters(caller)),
    ).fetchall()
    people: dict[int, None] = {}
    for _, sender, to_ids, cc_ids, _, _ in rows:
        people[sender] = None
        people.update(dict.fromkeys(int(number) for number in f"{to_ids},{cc_ids}".split(",") if number))
    running = reader.execute(
        "SELECT count(*) FROM mails m CROSS JOIN turns t ON t.id > m.id AND t.id <= m.id + m.turns "
        "WHERE m.thread = ? AND m.turns > 0 AND t.finished IS NULL AND t.state != 'queued'",
        (thread,),
    ).fetchone()[0]
    return wire.ThreadSummary(
        id=core.ids.text("thr", thread),
        subject=rows[0][4],
        last_mail_at=text(rows[-1][0]),
        mails=len(rows),
        unread=sum(row[5] for row in rows),
        participants=tuple(core.accounts.by_id[number].name for number in people),
        running=running,
    )
