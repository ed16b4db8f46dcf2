"""Mails that the agent itself sent during its turn, and how the turn's end is told because of them. Pure.

Only the gateway knows for certain which mails were sent with the turn's key, and only it decides that a turn was
answered by the agent. What a bridge sees in the thread is a good guess, made where guessing wrong would say something
twice: before it mails that a turn ended without a word.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, assert_never

from .wire import Mail, TurnState

__all__ = ["Told", "answered_already", "told"]


@dataclass(frozen=True, slots=True)
class Told:
    """How a turn ended: who mailed the sender, if anybody did, and one line for the log."""

    mailed_by: Literal["bridge", "agent", "nobody"]
    line: str


def answered_already(mails: Iterable[Mail], *, agent: str, turn_mail: Mail, since: str) -> bool:
    """Whether `agent` itself mailed the sender of `turn_mail`, in its thread, at or after `since`.

    `mails` are those of the thread, in any order; `since` is RFC 3339 in UTC with milliseconds, as in every mail. A
    bridge's own answers and notices don't count: they are marked as sent automatically (RFC 3834).
    """
    sender = turn_mail.from_.name
    return any(
        mail.thread_id == turn_mail.thread_id
        and mail.id != turn_mail.id
        and (mail.from_.kind, mail.from_.name) == ("agent", agent)
        and mail.auto_submitted == "no"
        and mail.created_at >= since
        and any(ref.name == sender for ref in (*mail.to, *mail.cc))
        for mail in mails
    )


def told(state: TurnState, mail_id: str | None = None) -> Told:
    """How to tell that the gateway moved a turn to `state`; `mail_id` is the mail it made of the bridge's words."""
    by: Literal["bridge", "nobody"] = "nobody" if mail_id is None else "bridge"
    mail = mail_id or "no mail"
    match state:
        case "answered":
            return Told(by, f"answered: {mail}")
        case "answered_by_agent":
            return Told("agent", "answered by the agent's own mail; its final text was not sent as well")
        case "failed":
            return Told(by, f"failed, and the sender was told: {mail}" if mail_id else "failed")
        case "no_reply":
            return Told("nobody", "ended; nobody waits for an answer")
        case "cancelled":
            return Told("nobody", "cancelled by its sender")
        case "dead":
            return Told("nobody", "given up by the gateway; it is among the dead letters and can be retried")
        case "queued":
            return Told("nobody", "back in the queue")
        case "leased" | "running":
            return Told("nobody", f"goes on ({state})")
        case _:
            assert_never(state)
