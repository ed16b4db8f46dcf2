"""Mail as callers see it: one, a box, a thread's. Reading changes nothing (mcp_agent_mail#254)."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from .boxes import INBOX, LAST, READ, SENT, UNREAD, box_rows
from .core import Caller, Core
from .principal import Principal
from .problems import invalid, not_found
from .store.interface import Reader, Tx
from .times import text
from .trust import asked_mode
from .turn_rows import TURN_COLUMNS, TurnRow, receipt_of, row_of
from .vendor import addressing, wire
from .visibility import SEEN, seen_parameters, thread_of

__all__ = ["get_mail", "list_mails", "mails_of", "read_mail", "set_read", "turns_of_mails", "visible_in_thread"]

_COLUMNS: Final = (
    "m.id, m.thread, m.sender, m.created, m.reply_to, m.auto, m.mode, m.cap, m.workspace, "  # noqa: S608 - constant
    "m.turns, m.to_ids, m.cc_ids, m.attachments, m.subject, m.body, "
    f"EXISTS (SELECT 1 FROM box WHERE owner = ? AND place = {UNREAD} AND mail = m.id)"
)
ROOM: Final = 4 * 1024 * 1024
"""How many characters of bodies one answer holds beyond its first mail."""

_decode_attachments = msgspec.json.Decoder(tuple[wire.Attachment, ...]).decode


async def list_mails(
    core: Core,
    who: Principal,
    *,
    box: str,
    unread: bool | None,
    sender: str | None,
    thread: str | None,
    order: wire.ListOrder,
    after: str | None,
    limit: int,
) -> wire.Page[wire.Mail]:
    """A page of the caller's mail in `order`; `box` is ``inbox``, ``sent`` or ``all``.

    `after` is `next` of the page before. `unread` True or False, `sender` (a name) and `thread` narrow it. Raises
    Problem ``invalid``.
    """
    caller = core.caller(who)
    size = core.page_size(limit)
    start = core.cursor("mail", after)
    before = (start or LAST) if order == "newest" else None
    if box not in ("inbox", "sent", "all"):
        raise invalid("`box` is `inbox`, `sent` or `all`.")
    places = {"inbox": INBOX, "sent": (SENT,), "all": (*INBOX, SENT)}[box]
    if unread is not None:
        # What was sent is not unread.
        places = tuple([place for place in places if (place == UNREAD) == unread])
    narrow: list[tuple[str, int]] = []
    if sender is not None:
        account = core.accounts.by_name.get(_name(sender))
        narrow.append(("sender", 0 if account is None else account.id))
    if thread is not None:
        narrow.append(("thread", core.ids.head("thr", thread) or 0))
    if not places:
        return wire.Page(())

    def page(reader: Reader) -> wire.Page[wire.Mail]:
        rows = box_rows(reader, caller, places, after=start, before=before, narrow=narrow, limit=size + 1)
        mails = mails_of(core, reader, caller, [row[0] for row in rows[:size]])
        return wire.Page(mails, mails[-1].id if len(rows) > len(mails) else None)

    return await core.store.read_aside(page) if narrow else core.store.read(page)


async def get_mail(core: Core, who: Principal, mail_id: str) -> wire.Mail:
    """One mail. Raises Problem ``not_found``."""
    caller = core.caller(who)
    number = core.head("mail", mail_id, "mail")

    def one(reader: Reader) -> wire.Mail:
        if thread_of(reader, caller, number) is None:
            raise not_found("mail")
        return read_mail(core, reader, caller, number)

    return core.store.read(one)


async def set_read(core: Core, who: Principal, mail_id: str, read: bool) -> None:
    """Mark a mail in the caller's inbox as read or unread; again is the same. Raises Problem ``not_found``."""
    caller = core.caller(who)
    number = core.head("mail", mail_id, "mail")

    def mark(tx: Tx) -> None:
        changed = tx.execute(
            "UPDATE box SET place = ? WHERE owner = ? AND place = ? AND mail = ?",
            (READ if read else UNREAD, caller.account.id, UNREAD if read else READ, number),
        )
        if changed.rowcount == 0 and thread_of(tx, caller, number) is None:
            raise not_found("mail")

    await core.store.write(mark)


def read_mail(core: Core, reader: Reader, caller: Caller, number: int) -> wire.Mail:
    """The mail of that number, which the caller is known to see."""
    return mails_of(core, reader, caller, (number,))[0]


def mails_of(
    core: Core, reader: Reader, caller: Caller, numbers: Sequence[int], room: int = ROOM
) -> tuple[wire.Mail, ...]:
    """The mails of those numbers, all known to be seen by the caller, in the order that is given.

    The first is always there; the others as long as their bodies have at most `room` characters together.
    """
    found = reader.execute(
        f"SELECT {_COLUMNS} FROM json_each(?) j CROSS JOIN mails m ON m.id = j.value",  # noqa: S608 - constant
        (caller.account.id, _json(numbers)),
    )
    rows: list[Any] = []
    # Row by row in the order of the list, so that what doesn't fit is not even read.
    while (row := found.fetchone()) is not None:
        room -= len(row[14]) if rows else 0
        if room < 0:
            break
        rows.append(row)
    turns: dict[int, list[TurnRow]] = {}
    for turn in turns_of_mails(reader, [row[0] for row in rows if row[9]]):
        turns.setdefault(turn.mail, []).append(turn)
    return tuple([_mail(core, caller, row, turns.get(row[0], ())) for row in rows])


def turns_of_mails(reader: Reader, numbers: Sequence[int]) -> list[TurnRow]:
    """The turns of mails, oldest first."""
    if not numbers:
        return []
    rows = reader.execute(
        f"SELECT {TURN_COLUMNS} FROM json_each(?) j CROSS JOIN mails m ON m.id = j.value "  # noqa: S608 - constants
        "CROSS JOIN turns t ON t.id > m.id AND t.id <= m.id + m.turns ORDER BY t.id",
        (_json(numbers),),
    ).fetchall()
    return [row_of(row) for row in rows]


def visible_in_thread(reader: Reader, caller: Caller, thread: int, newest: int, last: int = (1 << 63) - 1) -> list[int]:
    """The numbers of the `newest` mails of a thread, up to the mail `last`, that the caller sees; oldest first."""
    rows = reader.execute(
        f"SELECT id FROM mails m WHERE thread = ? AND id <= ? AND {SEEN} ORDER BY id DESC LIMIT ?",  # noqa: S608
        (thread, last, *seen_parameters(caller), newest),
    ).fetchall()
    return [row[0] for row in reversed(rows)]


def _mail(core: Core, caller: Caller, row: tuple[Any, ...], turns: Iterable[TurnRow]) -> wire.Mail:
    number, thread, sender, created, reply_to, auto, asked, cap, workspace = row[:9]
    _, to_ids, cc_ids, attachments, subject, body, unread = row[9:]
    everything = caller.is_person or sender == caller.account.id
    return wire.Mail(
        core.ids.text("mail", number),
        core.ids.text("thr", thread),
        core.accounts.by_id[sender].ref,
        _refs(core, to_ids),
        _refs(core, cc_ids),
        subject,
        body,
        text(created),
        None if reply_to is None else core.ids.text("mail", reply_to),
        auto,
        asked_mode(asked, cap),
        workspace,
        () if attachments is None else _decode_attachments(attachments),
        bool(unread),
        tuple([receipt_of(core, turn) for turn in turns if everything or turn.agent == caller.account.id]),
    )


def _refs(core: Core, numbers: str) -> tuple[wire.AddressRef, ...]:
    if not numbers:
        return ()
    by_id = core.accounts.by_id
    return tuple([by_id[int(number)].ref for number in numbers.split(",")])


def _json(numbers: Sequence[int]) -> str:
    return f"[{','.join(map(str, numbers))}]"


def _name(text_: str) -> str:
    try:
        return addressing.parse(text_).name
    except addressing.AddressError as error:
        raise invalid(f"`from` is no address: {error}.") from None
