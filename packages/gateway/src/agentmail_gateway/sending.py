"""Sending mail: what is taken, from whom, and what the limits say."""

import hashlib
from functools import lru_cache
from typing import Final

import msgspec

from . import limits
from .accounts import Account
from .attachment_rows import attachable
from .boxes import SENT
from .checks import clean_body, clean_key, clean_subject, clean_workspace
from .core import Caller, Core
from .ids import head_at, milliseconds_of
from .mail_reads import read_mail
from .mail_rows import FRESH, Draft, StoredMail, Tail, store_mail, tail_of
from .principal import Principal
from .problems import Problem, invalid, not_found
from .queue_count import queued
from .store.interface import Tx
from .times import text
from .trust import asked_mode, mail_trust
from .vendor import addressing, wire
from .vendor.plain_text import one_line
from .visibility import thread_of

__all__ = ["send_mail", "shown"]

MAX_ATTACHMENTS: Final = 50
_LOCAL_HOSTS: Final = frozenset({None, "localhost", "agentmail"})
_COOL_DOWN_ROWS: Final = 200


class _Request(msgspec.Struct, frozen=True):
    caller: Caller
    to: tuple[Account, ...]
    cc: tuple[Account, ...]
    subject: str
    body: wire.SendMail
    key: bytes | None
    digest: bytes | None


async def send_mail(core: Core, who: Principal, body: wire.SendMail, key: str | None) -> tuple[wire.Mail, bool]:
    """Store a mail for everybody in `to` and `cc`; the mail, and whether it was made now.

    With a `key`, the same request of the same sender is answered with the same mail, for ever. Raises Problem:
    ``unknown_recipient``, ``invalid``, ``too_large``, ``not_found`` (`in_reply_to`, an attachment),
    ``idempotency_mismatch``, a limit's code. Nothing is half sent.
    """
    request = _checked(core, core.caller(who), body, key)
    draft, stored, earlier = await core.store.write(lambda tx: _send(core, tx, request))
    if stored is None:
        assert earlier is not None
        return earlier, False
    assert draft is not None
    return shown(core, draft, stored), True


def shown(core: Core, draft: Draft, stored: StoredMail) -> wire.Mail:
    """The mail that was just stored, as its sender sees it."""
    accepted = text(stored.created)
    return wire.Mail(
        stored.id,
        stored.thread_id,
        draft.sender.ref,
        tuple([account.ref for account in draft.to]),
        tuple([account.ref for account in draft.cc]),
        draft.subject,
        draft.body,
        accepted,
        None if draft.reply_to is None else core.ids.text("mail", draft.reply_to),
        draft.auto,
        asked_mode(draft.asked, draft.cap),
        draft.workspace,
        tuple([shown_as for _, shown_as in draft.attachments]),
        any(account is draft.sender for account in draft.to + draft.cc),
        tuple([wire.Receipt(agent.name, turn, "queued", None, accepted) for agent, turn in stored.turns]),
    )


def _checked(core: Core, caller: Caller, body: wire.SendMail, key: str | None) -> _Request:
    """The request with its recipients found and its texts checked; all that needs no look into the store."""
    to = _recipients(core, body.to)
    cc = tuple([account for account in _recipients(core, body.cc) if account not in to])
    if not to:
        raise invalid("`to` is empty; name at least one recipient.")
    if len(to) + len(cc) > limits.MAX_RECIPIENTS:
        raise invalid(f"{len(to) + len(cc)} recipients are too many; at most {limits.MAX_RECIPIENTS} are taken.")
    if len(body.attachments) > MAX_ATTACHMENTS:
        raise invalid(f"{len(body.attachments)} attachments are too many; at most {MAX_ATTACHMENTS} are taken.")
    clean_workspace(body.workspace)
    clean_body(body.body)
    hashed = digest = None
    if key is not None:
        scope = caller.turn.id if caller.turn else 0
        hashed = hashlib.sha256(b"%d %s" % (scope, clean_key(key).encode())).digest()[:16]
        digest = hashlib.sha256(msgspec.json.encode(body)).digest()[:16]
    return _Request(caller, to, cc, clean_subject(body.subject), body, hashed, digest)


def _recipients(core: Core, addresses: tuple[str, ...]) -> tuple[Account, ...]:
    found: dict[int, Account] = {}
    for address in addresses:
        account = _recipient(core, address)
        found[account.id] = account
    return tuple(found.values())


def _recipient(core: Core, address: str) -> Account:
    try:
        name, host = _parsed(address)
    except addressing.AddressError as error:
        raise invalid(f"A recipient is no address: {error}.") from None
    account = core.accounts.by_name.get(name)
    if account is None or host not in _LOCAL_HOSTS or account.kind == "system":
        raise Problem(
            "unknown_recipient", f"There is nobody called {one_line(address, 100)!r} here. Nothing was sent to anybody."
        )
    if account.disabled:
        raise Problem("unknown_recipient", f"{name} is disabled and gets no mail. Nothing was sent to anybody.")
    return account


@lru_cache(maxsize=2048)
def _parsed(address: str) -> tuple[str, str | None]:
    parsed = addressing.parse(address)
    return parsed.name, parsed.host


def _send(core: Core, tx: Tx, request: _Request) -> tuple[Draft | None, StoredMail | None, wire.Mail | None]:
    """The job: a new mail (first two), or the one that was made for the same key before."""
    try:
        draft = _draft(core, tx, request)
        stored = store_mail(core, tx, draft)
    except Problem:
        # A repeat is answered even when a limit would refuse it now.
        earlier = _earlier(core, tx, request)
        if earlier is None:
            raise
        return None, None, earlier
    if stored is None:
        return None, None, _earlier(core, tx, request)
    return draft, stored, None


def _earlier(core: Core, tx: Tx, request: _Request) -> wire.Mail | None:
    """The mail that was made for the request's key. Raises Problem ``idempotency_mismatch``."""
    if request.key is None:
        return None
    row = tx.execute(
        "SELECT id, digest FROM mails WHERE sender = ? AND key = ? AND key IS NOT NULL",
        (request.caller.account.id, request.key),
    ).fetchone()
    if row is None:
        return None
    if row[1] != request.digest:
        raise Problem(
            "idempotency_mismatch", "This Idempotency-Key was used for a mail with other content; use a new key."
        )
    return read_mail(core, tx, request.caller, row[0])


def _draft(core: Core, tx: Tx, request: _Request) -> Draft:
    caller, body = request.caller, request.body
    sender, turn = caller.account, caller.turn
    reply_to = thread = None
    tail = FRESH
    if body.in_reply_to is not None:
        # The thread is the parent's, whatever the subject says (hermes-agent#26277).
        reply_to = core.head("mail", body.in_reply_to, "mail (`in_reply_to`)")
        thread = thread_of(tx, caller, reply_to)
        if thread is None:
            raise not_found("mail (`in_reply_to`)")
        tail = tail_of(tx, thread)
    turn_taint = None
    if turn is not None:
        _still_running(tx, turn.id, turn.lease)
        own = tail if thread == turn.thread else tail_of(tx, turn.thread)
        turn_taint = own.taint
        tail = Tail(tail.taint, max(tail.hops, own.hops))
    if sender.kind == "agent":
        _limit(core, tx, request, thread, tail)
    for account in request.to:
        if account.kind == "agent" and account.id != sender.id:
            _pass(limits.queue_length(account.name, queued(tx, account.id), core.limits))
    return Draft(
        sender=sender,
        to=request.to,
        cc=request.cc,
        subject=request.subject,
        body=body.body,
        asked=body.permission_mode,
        workspace=body.workspace or None if turn is None else _inside(body.workspace, turn.workspace),
        trust=mail_trust(sender.trust, turn_taint),
        reply_to=reply_to,
        thread=thread,
        tail=tail,
        turn=None if turn is None else turn.id,
        cap=None if turn is None else turn.mode,
        attachments=attachable(core, tx, caller, body.attachments) if body.attachments else (),
        key=request.key,
        digest=request.digest,
    )


def _still_running(tx: Tx, turn: int, lease: int) -> None:
    """Raise Problem ``unauthorized`` when the turn ended while the request was on its way: its answer may be out."""
    row = tx.execute("SELECT lease, held, finished FROM turns WHERE id = ?", (turn,)).fetchone()
    if row != (lease, 1, None):
        raise Problem("unauthorized", "The turn of this key has ended.")


def _inside(asked: str | None, own: str | None) -> str | None:
    """The workspace of a mail that a turn sends: the turn's own, or what was asked for when that lies inside of it."""
    if asked is None or own is None or ".." in asked.split("/"):
        return own
    return asked if asked == own or asked.startswith(f"{own}/") else own


def _limit(core: Core, tx: Tx, request: _Request, thread: int | None, tail: Tail) -> None:
    """Raise the Problem of the first limit that an agent's mail breaks."""
    sender = request.caller.account
    others = [account for account in request.to if account.kind == "agent" and account.id != sender.id]
    if others:
        _pass(limits.hop_limit(limits.next_hops(tail.hops, by_person=False, to_agents=True), core.limits))
    sent, first = tx.execute(
        "SELECT count(*), min(mail) FROM (SELECT mail FROM box WHERE owner = ? AND place = ? AND mail >= ? "
        "AND auto = 0 ORDER BY mail DESC LIMIT ?)",
        (sender.id, SENT, head_at(tx.now - limits.HOUR_MS), core.limits.mails_per_hour),
    ).fetchone()
    _pass(limits.quota(sent, milliseconds_of(first or 0), tx.now, core.limits))
    if thread is not None:
        for other in others:
            last = _last_between(core, tx, thread, sender.id, other.id)
            _pass(limits.cool_down(last, tx.now, other.name, core.limits))


def _last_between(core: Core, tx: Tx, thread: int, one: int, other: int) -> int | None:
    """When one of the two agents last wrote to the other in the thread, as far as the cool-down reaches back."""
    since = head_at(tx.now - int(core.limits.cool_down_s * 1000))
    rows = tx.execute(
        "SELECT sender, created, to_ids FROM mails WHERE thread = ? AND id >= ? AND auto = 'no' "
        "ORDER BY id DESC LIMIT ?",
        (thread, since, _COOL_DOWN_ROWS),
    ).fetchall()
    for sender, created, to_ids in rows:
        recipients = to_ids.split(",")
        if (sender == one and str(other) in recipients) or (sender == other and str(one) in recipients):
            # A clock that was set back must not turn seconds into hours.
            return min(int(created), tx.now)
    return None


def _pass(refusal: Problem | None) -> None:
    if refusal is not None:
        raise refusal
