"""What becomes of a turn's outcome: an answer, a failure mail, an end without mail, a way back into the queue. Pure.

A reason to stop that the driver gave goes before what the runner made of it: an agent that was ended reports all kinds
of things. Only an answer that was complete all the same is kept (but not when its sender cancelled).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from msgspec.structs import replace

from . import relay_policy
from .answer_text import answer_body, empty_answer, failure_body, made_safe, timed_out
from .bridge_log import rfc3339
from .turn import Outcome, StopReason
from .wire import Claim, Failure, FinishBody, ReleaseBody, ReplyBody, Usage

__all__ = ["Circumstances", "Conclusion", "conclude", "is_empty"]

SHORTEST_WAIT_S = 60.0
LONGEST_WAIT_S = 8 * 24 * 3600.0
SHUTDOWN = "the bridge was stopped"
Conclusion = ReplyBody | FinishBody | ReleaseBody | None


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What the outcome doesn't say itself.

    `own`: this agent wrote the mail. `answered_by_agent`: it is known that the agent mailed the sender during the turn.
    `remarks`: on how the turn ran. `duration_s` and `limit_s`: how long it took, and could have. `now`: seconds since
    the epoch. `secrets`: must not show in a failure.
    """

    own: bool
    answered_by_agent: bool
    remarks: tuple[str, ...]
    left_files: tuple[str, ...]
    workspace: str | None
    context_lost: bool
    duration_s: float
    limit_s: float
    now: float
    secrets: tuple[str, ...] = ()


def is_empty(outcome: Outcome) -> bool:
    """Whether the turn ended by itself with nothing said."""
    if outcome.failure is not None:
        return outcome.failure.class_ == "empty_answer"
    return outcome.stopped is None and not outcome.text.strip()


def conclude(claim: Claim, outcome: Outcome, stop: StopReason | None, around: Circumstances) -> Conclusion:
    """The request that ends this turn at the gateway; None: say nothing, another attempt owns the turn.

    `stop` is the reason that the driver gave to stop, if any. The files of an answer are not in it yet.
    """
    reason = _stopped(outcome, stop)
    ending: relay_policy.Ending
    failure: Failure | None = None
    partial = ""
    match reason:
        case "shutdown":
            return ReleaseBody(claim.lease, SHUTDOWN)
        case "lease_lost":
            ending = "lease_lost"
        case "cancelled":
            ending = "cancelled"
        case "timed_out":
            ending, failure, partial = "failed", timed_out(around.limit_s), outcome.text
        case None:
            if outcome.failure is not None and outcome.failure.class_ != "empty_answer":
                ending, failure, partial = "failed", made_safe(outcome.failure, around.secrets), outcome.text
                until = _wait_until(outcome, around.now)
                if until is not None:
                    return ReleaseBody(claim.lease, failure.message, until, failure)
            elif is_empty(outcome):
                ending, failure = "empty", outcome.failure or empty_answer()
            else:
                ending = "text"
    decision = relay_policy.decide(
        sender=claim.mail.from_.kind,
        own=around.own,
        auto_submitted=claim.mail.auto_submitted,
        reply_owed=claim.reply_owed,
        ending=ending,
        answered_by_agent=around.answered_by_agent,
    )
    match decision:
        case relay_policy.Nothing():
            return None
        case relay_policy.Finish(finish):
            return FinishBody(claim.lease, finish, _usage(outcome, around), outcome.native_session_id, around.workspace)
        case relay_policy.Reply() | relay_policy.Fail():
            return _reply(claim, outcome, around, failure, partial)


def _stopped(outcome: Outcome, stop: StopReason | None) -> StopReason | None:
    whole = outcome.stopped is None and outcome.failure is None and bool(outcome.text.strip())
    if stop is None:
        return outcome.stopped
    return None if whole and stop in ("timed_out", "shutdown") else stop


def _wait_until(outcome: Outcome, now: float) -> str | None:
    """When a used-up quota lets the turn run: within bounds, so that a wrong clock can't make a turn spin or vanish."""
    if outcome.failure is None or outcome.failure.class_ != "quota" or outcome.wait_until is None:
        return None
    try:
        moment = datetime.fromisoformat(outcome.wait_until)
        until = moment.timestamp()
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None or until > now + LONGEST_WAIT_S:
        return None
    return rfc3339(max(until, now + SHORTEST_WAIT_S))


def _usage(outcome: Outcome, around: Circumstances) -> Usage:
    usage = outcome.usage or Usage()
    return usage if usage.duration_ms is not None else replace(usage, duration_ms=round(around.duration_s * 1000))


def _reply(claim: Claim, outcome: Outcome, around: Circumstances, failure: Failure | None, partial: str) -> ReplyBody:
    remarks = [*around.remarks, *_left(around.left_files)]
    if outcome.context_lost and not around.context_lost:
        remarks.append(
            "The agent could not go on with its earlier session and started afresh, without its memory of it."
        )
    if failure is None:
        body = answer_body(outcome.text, note=outcome.note, denied_tools=outcome.denied_tools, remarks=remarks)
    else:
        body = failure_body(failure, partial=partial, remarks=[*remarks, outcome.note])
    return ReplyBody(
        lease=claim.lease,
        outcome="ok" if failure is None else "failed",
        body=body,
        failure=failure,
        usage=_usage(outcome, around),
        native_session_id=outcome.native_session_id,
        workspace=around.workspace,
        context_lost=around.context_lost or outcome.context_lost,
    )


def _left(files: Iterable[str]) -> list[str]:
    files = list(files)
    return [f"Not attached: {', '.join(files[:20])}."] if files else []
