"""May this turn's text be mailed back by the bridge? One decision, made here and nowhere else. Pure.

    the mail is from …          text           nothing said         failed     cancelled            lease lost
    a person                    Reply          Fail                 Fail       Finish(cancelled)    Nothing
    a person, agent answered    Finish(a)      Finish(a)            Fail       Finish(cancelled)    Nothing
    an agent                    Finish(n)      Finish(n)            Fail       Finish(cancelled)    Nothing
    an agent, agent answered    Finish(a)      Finish(a)            Fail       Finish(cancelled)    Nothing
    itself, a machine           Finish(n)      Finish(n)            Finish(n)  Finish(cancelled)    Nothing

    Finish(a): answered_by_agent; Finish(n): no_reply. A person to whom no reply is owed is treated as an agent is.

Two agents whose bridges answer each other would never end (nanobot#3215), so a bridge answers people only, and what was
sent automatically (RFC 3834) starts nothing and is answered by nothing.
"""

from dataclasses import dataclass
from typing import Literal, assert_never

from .wire import AutoSubmitted, FinishOutcome, Kind

__all__ = ["Decision", "Ending", "Fail", "Finish", "Nothing", "Reply", "decide", "may_start"]

Ending = Literal["text", "empty", "failed", "cancelled", "lease_lost"]


@dataclass(frozen=True, slots=True)
class Reply:
    """Mail the turn's text back."""


@dataclass(frozen=True, slots=True)
class Fail:
    """Mail back why there is no answer; with the ending ``empty`` that is the class ``empty_answer``."""


@dataclass(frozen=True, slots=True)
class Finish:
    """End the turn in `outcome`, without a mail by the bridge."""

    outcome: FinishOutcome


@dataclass(frozen=True, slots=True)
class Nothing:
    """Say nothing at all: the turn belongs to another lease."""


Decision = Reply | Fail | Finish | Nothing


def may_start(*, sender: Kind, own: bool, auto_submitted: AutoSubmitted) -> bool:
    """Whether a mail may start a turn: not the agent's own, none of the system's, none that was sent automatically."""
    return sender != "system" and not own and auto_submitted == "no"


def decide(
    *,
    sender: Kind,
    own: bool,
    auto_submitted: AutoSubmitted,
    reply_owed: bool,
    ending: Ending,
    answered_by_agent: bool,
) -> Decision:
    """What the bridge says about a turn that came to `ending`.

    `sender`, `own` (the agent itself wrote it) and `auto_submitted` are those of the turn's mail, `reply_owed` is the
    gateway's word from the claim. `answered_by_agent`: the agent is known to have mailed the sender in this turn;
    where that is not known (False), the gateway still makes no second mail of a `Reply`.
    """
    silent = not may_start(sender=sender, own=own, auto_submitted=auto_submitted)
    ended = Finish("answered_by_agent") if answered_by_agent and not silent else Finish("no_reply")
    owed = sender == "person" and reply_owed and not silent and not answered_by_agent
    match ending:
        case "lease_lost":
            return Nothing()
        case "cancelled":
            return Finish("cancelled")
        case "failed":
            return Finish("no_reply") if silent else Fail()
        case "empty":
            return Fail() if owed else ended
        case "text":
            return Reply() if owed else ended
        case _:
            assert_never(ending)
