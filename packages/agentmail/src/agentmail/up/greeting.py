"""The greeting of the first run: one mail to `echo` and its answer prove the whole path."""

from typing import TYPE_CHECKING

from ..outcome import answers_to, exit_for
from ..progress import Quiet
from ..vendor.wire import Mail, SendMail
from ..waiting import Follower

if TYPE_CHECKING:
    from ..vendor.gateway_client import GatewayClient

__all__ = ["GREETING", "greet"]

GREETING = SendMail(
    to=("echo",),
    subject="Hello",
    body="Hello echo, this is the first mail of this installation. If you can read it, please answer.",
)
# The same on every try: an `up` that is killed between the mail and its answer sends no second one.
_KEY = "agentmail-up-greeting-1"


async def greet(client: "GatewayClient", limit_s: float) -> Mail | str:
    """Send the greeting once and wait at most `limit_s` seconds; the answer, or why there is none."""
    async with Follower(client, Quiet()) as follower:
        mail = await client.send_mail(GREETING, _KEY)
        turn_ids = [receipt.turn_id for receipt in mail.receipts]
        turns = await follower.until_done(turn_ids, limit_s)
    answers = await answers_to(client, mail.id, turns)
    if answers.replies and not exit_for(turns):
        return answers.replies[-1]
    for turn in turns:
        if turn.failure:
            return turn.failure.message
    return f"its turn is {turns[0].state}" if turns else "the mail made no turn"
