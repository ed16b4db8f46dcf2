"""What a refusal of an outcome means, and a smaller outcome in its place. Pure."""

from typing import Literal

from msgspec.structs import replace

from .bounded import clip
from .gateway_errors import GatewayProblem
from .wire import Failure, ReplyBody

__all__ = ["LONGEST_BODY", "Verdict", "judge", "reduced"]

Verdict = Literal["later", "refused", "over", "stale", "reduce"]
LONGEST_BODY = 256 * 1024
SMALL_BODY = 16 * 1024


def judge(problem: GatewayProblem) -> Verdict:
    """`later`: try again. `refused`: the key is not taken. `over`: the turn has ended. `stale`: there is a newer lease.

    `reduce`: the gateway will never take it as it is.
    """
    match problem.code:
        case "lease_stale":
            return "stale"
        case "turn_final" | "not_found" | "gone":
            return "over"
        case "bad_answer":
            return "later"
    if problem.status in (401, 403):
        return "refused"
    return "later" if problem.status >= 500 or problem.status in (408, 425, 429) else "reduce"


def reduced(body: ReplyBody, problem: GatewayProblem) -> ReplyBody | None:
    """What to send when `body` was refused for what it is: less, then a failure, then nothing.

    First the attachments go, then most of the text, then a failure says that the answer could not be stored.
    """
    why = f"(The gateway did not take the answer as it was: {problem})"
    if body.attachments:
        return replace(body, attachments=(), body=f"{body.body}\n\nThe attachments are missing. {why}")
    if len(body.body.encode()) > SMALL_BODY:
        return replace(body, body=f"{clip(body.body, SMALL_BODY - 2000, 'middle')}\n\n{clip(why, 1000)}")
    if body.outcome == "ok":
        failure = Failure(
            "bridge_error", f"The turn was done, but its answer could not be stored: {problem}", "Write again."
        )
        return ReplyBody(body.lease, "failed", f"{failure.message}\n\n{failure.next_step}", failure=failure)
    return None
