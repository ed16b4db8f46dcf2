"""What bounds the mail of agents, as pure decisions: each returns the refusal, or None when the mail may pass.

Only mail that agents write themselves is bounded. What a bridge or the gateway says is never refused (an answer would
be lost) and never starts a turn (nanobot#3215), so it can't be part of a loop.
"""

from typing import Final

from .problems import Problem
from .vendor.wire import Limits

__all__ = ["HOUR_MS", "MAX_RECIPIENTS", "cool_down", "hop_limit", "next_hops", "queue_length", "quota"]

HOUR_MS: Final = 3_600_000
MAX_RECIPIENTS: Final = 100


def next_hops(before: int, *, by_person: bool, to_agents: bool) -> int:
    """Hops of a thread after a mail: those between agents since the last mail by a person."""
    if by_person:
        return 0
    return before + 1 if to_agents else before


def hop_limit(hops: int, limits: Limits) -> Problem | None:
    """`hops`: what the thread would have with this mail."""
    if hops <= limits.hops:
        return None
    return Problem(
        "hop_limit",
        f"Agents have written {hops - 1} mails to each other since the last mail by a person; the limit is "
        f"{limits.hops}. A mail by a person in this thread lifts it. Mail to people passes.",
    )


def cool_down(last: int | None, now: int, other: str, limits: Limits) -> Problem | None:
    """`last`: when the two agents' last mail to each other in this thread was sent, milliseconds."""
    if last is None:
        return None
    wait = last + int(limits.cool_down_s * 1000) - now
    if wait <= 0:
        return None
    return Problem(
        "cool_down",
        f"The last mail between this agent and {other} in this thread is less than {limits.cool_down_s:g} s old. "
        f"Wait {wait / 1000:.1f} s.",
        wait / 1000,
    )


def quota(sent: int, oldest: int, now: int, limits: Limits) -> Problem | None:
    """`sent`: the agent's mails within the last hour, the first of them at `oldest`, milliseconds."""
    if sent < limits.mails_per_hour:
        return None
    wait = max(oldest + HOUR_MS - now, 1) / 1000
    return Problem(
        "quota_mails",
        f"This agent has sent {sent} mails within an hour; the limit is {limits.mails_per_hour}. "
        f"The next may go in {wait:.0f} s, or when an administrator raises the limit.",
        wait,
    )


def queue_length(agent: str, waiting: int, limits: Limits) -> Problem | None:
    """`waiting`: queued turns of `agent`."""
    if waiting < limits.queue_length:
        return None
    return Problem(
        "queue_full",
        f"{waiting} mails wait for {agent}; the limit is {limits.queue_length}. Nothing was sent to anybody. "
        f"Send again when {agent} has worked some of them off.",
        30.0,
    )
