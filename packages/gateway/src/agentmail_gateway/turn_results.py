"""How a turn ends: the bridge's reply, or its word that none is due. All of it in one transaction, and once."""

import msgspec

from . import ledger
from .attachment_rows import attachable
from .checks import clean_body, clean_failure, clean_key, clean_native, clean_workspace
from .core import Caller, Core
from .mail_reads import read_mail
from .mail_rows import Draft, store_mail, tail_of
from .notices import reply_subject
from .principal import Principal
from .sessions import remember_session
from .store.interface import Reader, Tx
from .trust import mail_trust
from .turn_changes import change_turn, own_turn
from .turn_rows import TurnRow, shown_turn
from .vendor import wire

__all__ = ["finish", "reply"]


async def reply(core: Core, who: Principal, turn_id: str, body: wire.ReplyBody, key: str) -> wire.ReplyAnswer:
    """End the turn with the bridge's mail to the sender; the same `key` again is answered the same.

    No mail is made when the agent mailed the sender itself and the outcome is ``ok`` or an empty answer, nor with
    ``ok`` when an agent wrote (bridges never answer agents). Raises Problem ``lease_stale``, ``turn_final``,
    ``too_large``, ``not_found`` (an attachment).
    """
    agent, number = core.bridge(who), core.head("turn", turn_id, "turn")
    clean_key(key)
    clean_body(body.body)
    workspace, native = clean_workspace(body.workspace), clean_native(body.native_session_id)
    failure = clean_failure(body.failure)
    silent = failure is not None and failure.class_ == "empty_answer"

    def job(tx: Tx) -> wire.ReplyAnswer:
        row = own_turn(core, tx, agent.id, number)
        if row.reply_key == key:
            return _answer(core, tx, Caller(agent), row)
        sender = core.accounts.by_id[row.sender]
        mailed = _mailed(tx, row)
        # An agent that mailed its answer in an earlier attempt has nothing to say in the next one.
        well = body.outcome == "ok" or (silent and mailed)
        event = ledger.Reply(body.lease, ok=well, mailed=mailed, owed=sender.kind == "person")
        decided = ledger.decide(row.ledger, event)
        mail = None
        if isinstance(decided, ledger.State) and decided.state in ("answered", "failed"):
            mail = _store_reply(core, tx, row, body)
        changed = change_turn(
            core,
            tx,
            row,
            event,
            reply=mail,
            reply_key=key,
            reason=None,
            failure=_json(None if well else failure),
            usage=_json(body.usage),
            workspace=workspace or row.workspace,
        )
        remember_session(tx, row.thread, row.agent, changed.workspace, native, lost=body.context_lost)
        return _answer(core, tx, Caller(agent), changed)

    return await core.store.write(job)


async def finish(core: Core, who: Principal, turn_id: str, body: wire.FinishBody) -> wire.Turn:
    """End the turn without a mail by the bridge; the same again is answered the same.

    Raises Problem ``lease_stale``, ``turn_final``, and ``conflict`` for ``answered_by_agent`` when the agent mailed
    nobody: only the gateway knows that.
    """
    agent, number = core.bridge(who), core.head("turn", turn_id, "turn")
    workspace, native = clean_workspace(body.workspace), clean_native(body.native_session_id)

    def job(tx: Tx) -> wire.Turn:
        row = own_turn(core, tx, agent.id, number)
        mailed = _mailed(tx, row)
        ended: wire.TurnState = body.outcome if body.outcome == "cancelled" or not mailed else "answered_by_agent"
        if row.state == ended and row.lease == body.lease:
            return shown_turn(core, row)
        changed = change_turn(
            core,
            tx,
            row,
            ledger.Finish(body.lease, body.outcome, mailed),
            usage=_json(body.usage),
            workspace=workspace or row.workspace,
        )
        remember_session(tx, row.thread, row.agent, changed.workspace, native)
        return shown_turn(core, changed)

    return await core.store.write(job)


def _mailed(reader: Reader, row: TurnRow) -> bool:
    """Whether the agent, with a key of this turn, mailed the sender in the turn's thread."""
    found = reader.execute(
        "SELECT 1 FROM mails m CROSS JOIN box b ON b.owner = ? AND b.place IN (0, 1) AND b.mail = m.id "
        "WHERE m.thread = ? AND m.id > ? AND m.turn = ? LIMIT 1",
        (row.sender, row.thread, row.mail, row.id),
    ).fetchone()
    return found is not None


def _store_reply(core: Core, tx: Tx, row: TurnRow, body: wire.ReplyBody) -> int:
    agent = core.accounts.by_id[row.agent]
    tail = tail_of(tx, row.thread)
    stored = store_mail(
        core,
        tx,
        Draft(
            sender=agent,
            to=(core.accounts.by_id[row.sender],),
            subject=reply_subject(row.subject),
            body=body.body,
            trust=mail_trust(agent.trust, tail.taint),
            auto="auto-replied" if body.outcome == "ok" else "auto-generated",
            workspace=body.workspace or row.workspace,
            reply_to=row.mail,
            thread=row.thread,
            tail=tail,
            attachments=attachable(core, tx, Caller(agent), body.attachments),
        ),
    )
    assert stored is not None
    return stored.number


def _answer(core: Core, reader: Reader, caller: Caller, row: TurnRow) -> wire.ReplyAnswer:
    return wire.ReplyAnswer(None if row.reply is None else read_mail(core, reader, caller, row.reply), row.state)


def _json(value: object) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()
