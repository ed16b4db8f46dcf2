"""From how turns ended to an exit code and the answers to show."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .errors import Exit
from .vendor.wire import Mail, Turn

if TYPE_CHECKING:
    from .vendor.gateway_client import GatewayClient

__all__ = ["Answers", "answers_to", "exit_for"]


class Answers(NamedTuple):
    """A mail as it stands, the turns it made and the mails that answer it."""

    mail: Mail
    turns: tuple[Turn, ...]
    replies: tuple[Mail, ...]


def exit_for(turns: Sequence[Turn]) -> Exit:
    """The exit code for `turns`: a turn that is still open outweighs one that failed, that outweighs success."""
    worst = Exit.OK
    for turn in turns:
        match turn.state:
            case "answered" | "answered_by_agent" | "no_reply":
                pass
            case "failed" | "cancelled" | "dead":
                worst = Exit.TURN_FAILED if worst is Exit.OK else worst
            case "queued" | "leased" | "running":
                worst = Exit.TIMED_OUT
    return worst


async def answers_to(client: "GatewayClient", mail_id: str, turns: Sequence[Turn]) -> Answers:
    """The mail again, with its receipts, and what was answered: by the bridge, or by the agent itself in the thread."""
    mail = await client.get_mail(mail_id)
    replies = [await client.get_mail(turn.reply_id) for turn in turns if turn.reply_id]
    silent = {turn.agent for turn in turns if turn.state == "answered_by_agent" and not turn.reply_id}
    if silent:
        thread = await client.get_thread(mail.thread_id)
        later = [other for other in thread.mails if other.created_at > mail.created_at]
        replies += [other for other in later if other.from_.name in silent]
    return Answers(mail, tuple(turns), tuple(sorted(replies, key=lambda reply: reply.created_at)))
