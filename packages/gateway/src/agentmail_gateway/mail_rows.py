"""Storing a mail: the row, the boxes of everybody it concerns, its turns and its events, in one job."""

from functools import lru_cache
from typing import Any, Final

import msgspec

from .accounts import Account
from .boxes import SENT, UNREAD
from .core import Core
from .limits import next_hops
from .queue_count import change_queue
from .store.interface import Reader, Tx
from .trust import effective, next_taint
from .vendor import wire

__all__ = ["FRESH", "Draft", "StoredMail", "Tail", "store_mail", "tail_of"]

_INSERT_MAIL: Final = (
    "INSERT INTO mails (id, thread, sender, created, reply_to, auto, mode, workspace, trust, taint, hops, turn, cap, "
    "turns, to_ids, cc_ids, key, digest, attachments, subject, body) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (sender, key) WHERE key IS NOT NULL DO NOTHING"
)
_INSERT_TURN: Final = (
    "INSERT INTO turns (id, mail, thread, agent, state, mode, workspace, created) "
    "VALUES (?, ?, ?, ?, 'queued', ?, ?, ?)"
)


# Structs of msgspec instead of dataclasses: these are made for each mail, and at a sixth of the cost.
class Tail(msgspec.Struct, frozen=True):
    """What the next mail of a thread builds on: the lowest trust so far, and the hops since a person wrote."""

    taint: wire.Tier | None
    hops: int


FRESH: Final = Tail(None, 0)


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A mail that may be stored: everything about it is decided.

    `thread` None starts one. `cap` is the tier of the turn `turn` that sends it. `attachments` are pairs of the number
    and what is shown. `key` and `digest` are hashes of the idempotency key and of the request.
    """

    sender: Account
    to: tuple[Account, ...]
    subject: str
    body: str
    trust: wire.Tier
    cc: tuple[Account, ...] = ()
    auto: wire.AutoSubmitted = "no"
    asked: wire.Tier | None = None
    workspace: str | None = None
    reply_to: int | None = None
    thread: int | None = None
    tail: Tail = FRESH
    turn: int | None = None
    cap: wire.Tier | None = None
    attachments: tuple[tuple[int, wire.Attachment], ...] = ()
    key: bytes | None = None
    digest: bytes | None = None


class StoredMail(msgspec.Struct, frozen=True):
    """What `store_mail` made: numbers, ids as text, and the turns with the account of each."""

    number: int
    thread: int
    created: int
    id: str
    thread_id: str
    turns: tuple[tuple[Account, str], ...]


def tail_of(reader: Reader, thread: int) -> Tail:
    """The tail of a thread that has mails."""
    row = reader.execute(
        "SELECT taint, hops FROM mails WHERE thread = ? ORDER BY id DESC LIMIT 1", (thread,)
    ).fetchone()
    return Tail(row[0], row[1])


def store_mail(core: Core, tx: Tx, draft: Draft) -> StoredMail | None:
    """Store `draft` with everything that follows from it; None when its key was used before (nothing is stored then).

    A turn is made for each agent in `to`, unless it wrote the mail itself or the mail is automatic (nanobot#3215).
    """
    sender = draft.sender
    plain = draft.auto == "no"
    agents = [account for account in draft.to if account.kind == "agent" and account.id != sender.id] if plain else []
    number = tx.mint.block(1 + len(agents), tx.now)
    thread = draft.thread or number
    taint = next_taint(draft.tail.taint, draft.trust)
    hops = next_hops(draft.tail.hops, by_person=sender.kind == "person", to_agents=bool(agents))
    inserted = tx.execute(
        _INSERT_MAIL,
        (
            number,
            thread,
            sender.id,
            tx.now,
            draft.reply_to,
            draft.auto,
            draft.asked,
            draft.workspace,
            draft.trust,
            taint,
            hops,
            draft.turn,
            draft.cap,
            len(agents),
            _numbers(draft.to),
            _numbers(draft.cc),
            draft.key,
            draft.digest,
            _attachments(draft),
            draft.subject,
            draft.body,
        ),
    )
    if inserted.rowcount == 0:
        return None
    recipients = draft.to + draft.cc
    auto = int(not plain)
    boxes: list[Any] = [sender.id, SENT, number, thread, sender.id, auto]
    for account in recipients:
        boxes += (account.id, UNREAD, number, thread, sender.id, auto)
    tx.execute(_insert_boxes(1 + len(recipients)), boxes)
    for attachment, _ in draft.attachments:
        tx.execute("INSERT OR IGNORE INTO attached (attachment, mail) VALUES (?, ?)", (attachment, number))
        tx.execute("UPDATE attachments SET used = 1 WHERE id = ? AND used = 0", (attachment,))
    mail_id = core.ids.text("mail", number)
    thread_id = core.ids.text("thr", thread) if draft.thread else f"thr{mail_id[4:]}"
    turns: list[tuple[Account, str]] = []
    told = {"mail_id": mail_id, "thread_id": thread_id}
    for turn, agent in enumerate(agents, start=number + 1):
        mode, _ = effective(draft.asked, agent.max_mode, draft.trust, taint, draft.cap)
        tx.execute(_INSERT_TURN, (turn, number, thread, agent.id, mode, draft.workspace, tx.now))
        change_queue(tx, agent.id, 1)
        turn_id = core.ids.text("turn", turn)
        turns.append((agent, turn_id))
        tx.event(agent.id, "new_mail", {**told, "turn_id": turn_id})
    for account in recipients:
        if account not in agents:
            tx.event(account.id, "new_mail", told)
    return StoredMail(number, thread, tx.now, mail_id, thread_id, tuple(turns))


def _numbers(accounts: tuple[Account, ...]) -> str:
    return ",".join([str(account.id) for account in accounts])


def _attachments(draft: Draft) -> str | None:
    if not draft.attachments:
        return None
    return msgspec.json.encode([shown for _, shown in draft.attachments]).decode()


@lru_cache(maxsize=128)
def _insert_boxes(count: int) -> str:
    values = ", ".join(["(?, ?, ?, ?, ?, ?)"] * count)
    return f"INSERT INTO box (owner, place, mail, thread, sender, auto) VALUES {values}"  # noqa: S608 - no data
