"""Rows of the turn ledger: read, shown, and written back after `ledger.decide`."""

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from .core import Core
from .ledger import State
from .problems import not_found
from .queue_count import change_queue
from .store.interface import Reader, Tx
from .times import text
from .vendor import wire

__all__ = ["TURN_COLUMNS", "TurnRow", "find_turn", "receipt_of", "row_of", "save_state", "shown_turn"]

TURN_COLUMNS: Final = (
    "t.id, t.mail, t.thread, t.agent, t.state, t.attempt, t.lease, t.held, t.cancel, t.told, t.mode, t.workspace, "
    "t.created, t.not_before, t.expires, t.pushed, t.leased, t.started, t.output, t.finished, t.reply, t.key_digest, "
    "t.reply_key, t.reason, t.usage, t.failure, m.sender, m.subject"
)
_decode_failure = msgspec.json.Decoder(wire.Failure).decode
_decode_usage = msgspec.json.Decoder(wire.Usage).decode


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn as stored, with the sender and the subject of its mail; numbers, times in milliseconds, JSON texts."""

    id: int
    mail: int
    thread: int
    agent: int
    state: wire.TurnState
    attempt: int
    lease: int
    held: int
    cancel: int
    told: int
    mode: wire.Tier
    workspace: str | None
    created: int
    not_before: int | None
    expires: int | None
    pushed: int | None
    leased: int | None
    started: int | None
    output: int | None
    finished: int | None
    reply: int | None
    key_digest: bytes | None
    reply_key: str | None
    reason: str | None
    usage: str | None
    failure: str | None
    sender: int
    subject: str

    @property
    def ledger(self) -> State:
        """What `ledger.decide` needs to know."""
        return State(
            state=self.state,
            attempt=self.attempt,
            lease=self.lease,
            held=bool(self.held),
            running=self.started is not None,
            cancel_requested=bool(self.cancel),
            not_before=self.not_before,
            expires=self.expires,
        )


def row_of(row: tuple[Any, ...]) -> TurnRow:
    """The turn of a row of `TURN_COLUMNS`."""
    return TurnRow(*row)


def find_turn(reader: Reader, turn: int) -> TurnRow:
    """The turn of that number. Raises Problem ``not_found``."""
    row = reader.execute(
        f"SELECT {TURN_COLUMNS} FROM turns t JOIN mails m ON m.id = t.mail WHERE t.id = ?",  # noqa: S608 - constant
        (turn,),
    ).fetchone()
    if row is None:
        raise not_found("turn")
    return TurnRow(*row)


def save_state(tx: Tx, row: TurnRow, new: State, **columns: object) -> None:
    """Store what became of `row`, with other `columns` (names of this module's own making)."""
    values: dict[str, object] = {
        "state": new.state,
        "attempt": new.attempt,
        "lease": new.lease,
        "held": int(new.held),
        "cancel": int(new.cancel_requested),
        "not_before": new.not_before,
        "expires": new.expires,
        "finished": tx.now if new.state in wire.FINAL_STATES else None,
        **columns,
    }
    assignments = ", ".join(f"{name} = ?" for name in values)
    tx.execute(f"UPDATE turns SET {assignments} WHERE id = ?", (*values.values(), row.id))  # noqa: S608 - own names
    change_queue(tx, row.agent, int(new.state == "queued") - int(row.state == "queued"))


def shown_turn(core: Core, row: TurnRow) -> wire.Turn:
    """The turn as callers see it."""
    accounts = core.accounts.by_id
    return wire.Turn(
        id=core.ids.text("turn", row.id),
        mail_id=core.ids.text("mail", row.mail),
        thread_id=core.ids.text("thr", row.thread),
        agent=accounts[row.agent].name,
        state=row.state,
        attempt=row.attempt,
        lease=row.lease,
        created_at=text(row.created),
        not_before=text(row.not_before),
        expires_at=text(row.expires),
        cancel_requested=bool(row.cancel),
        effective_mode=row.mode,
        workspace=row.workspace,
        pushed_at=text(row.pushed),
        leased_at=text(row.leased),
        started_at=text(row.started),
        last_output_at=text(_last_output(core, row)),
        finished_at=text(row.finished),
        reply_id=None if row.reply is None else core.ids.text("mail", row.reply),
        failure=None if row.failure is None else _decode_failure(row.failure),
        usage=None if row.usage is None else _decode_usage(row.usage),
        reason=row.reason,
        subject=row.subject,
        sender=accounts[row.sender].name,
    )


def receipt_of(core: Core, row: TurnRow) -> wire.Receipt:
    """What became of the turn's mail at the turn's agent."""
    return wire.Receipt(
        to=core.accounts.by_id[row.agent].name,
        turn_id=core.ids.text("turn", row.id),
        state=row.state,
        outcome=row.state if row.state in wire.FINAL_STATES else None,
        accepted_at=text(row.created),
        pushed_at=text(row.pushed),
        leased_at=text(row.leased),
        started_at=text(row.started),
        last_output_at=text(_last_output(core, row)),
        finished_at=text(row.finished),
        reply_id=None if row.reply is None else core.ids.text("mail", row.reply),
        attempt=row.attempt,
        failure=None if row.failure is None else _decode_failure(row.failure),
    )


def _last_output(core: Core, row: TurnRow) -> int | None:
    """The time of the last progress: the one in memory is newer, since it is not stored each time."""
    live = core.live.get(row.id)
    return row.output if live is None or live.output is None else live.output
