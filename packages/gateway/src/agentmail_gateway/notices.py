"""What the gateway itself writes: ``auto-generated`` mail (RFC 3834) that informs and never starts a turn."""

from typing import Final

from .core import Core
from .mail_rows import Draft, store_mail, tail_of
from .store.interface import Tx
from .times import text
from .trust import mail_trust
from .turn_rows import TurnRow
from .vendor.bounded import clip
from .vendor.plain_text import one_line, printable
from .vendor.wire import Failure

__all__ = ["reply_subject", "tell_dead", "tell_waiting"]

_QUOTED_BYTES: Final = 4_000


def reply_subject(subject: str) -> str:
    """The subject of an answer: one ``Re:``, whatever was there before."""
    return subject if subject[:3].lower() == "re:" else one_line(f"Re: {subject}", 500)


def tell_dead(core: Core, tx: Tx, turn: TurnRow) -> None:
    """Tell the sender that every try was lost."""
    agent = core.accounts.by_id[turn.agent].name
    _tell(
        core,
        tx,
        turn,
        f"{agent} did not finish this mail: its bridge took it up {turn.attempt} times and each time went silent "
        f"before an answer came. It is not tried again by itself.\n\n"
        f"Look at the bridge of {agent} on its machine, then retry the turn {core.ids.text('turn', turn.id)}, "
        "or send the mail again.",
    )


def tell_waiting(core: Core, tx: Tx, turn: TurnRow, failure: Failure, not_before: int | None) -> None:
    """Tell the sender that the turn waits for the agent's quota."""
    agent = core.accounts.by_id[turn.agent].name
    until = f"until {text(not_before)}" if not_before is not None else "until the agent's bridge takes it up again"
    lines = [f"{agent} waits {until}. The mail stays in its queue and is worked on by itself then."]
    lines += [printable(clip(part, _QUOTED_BYTES)) for part in (failure.message, failure.next_step) if part]
    _tell(core, tx, turn, "\n\n".join(lines))


def _tell(core: Core, tx: Tx, turn: TurnRow, body: str) -> None:
    tail = tail_of(tx, turn.thread)
    store_mail(
        core,
        tx,
        Draft(
            sender=core.accounts.system,
            to=(core.accounts.by_id[turn.sender],),
            subject=reply_subject(turn.subject),
            body=body,
            # It may quote what the agent's provider said, so it is trusted no more than the agent.
            trust=mail_trust(core.accounts.by_id[turn.agent].trust, tail.taint),
            auto="auto-generated",
            reply_to=turn.mail,
            thread=turn.thread,
            tail=tail,
        ),
    )
