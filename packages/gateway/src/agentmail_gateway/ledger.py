"""The turn ledger: what may happen to a turn, as one pure function.

A turn goes from `queued` to one final state. A claim hands out a lease with a fencing number; whoever holds the newest
lease may write, also after it expired, as long as no newer one was given and the turn was not given back. `dead` is
final for everybody but the sender's retry and the late result of its last lease: an answer that exists is never thrown
away (openclaw#29106).
"""

from dataclasses import dataclass, replace
from typing import Final, Literal, assert_never

from .vendor.wire import FINAL_STATES, FinishOutcome, TurnState

__all__ = [
    "LEASE_MS",
    "MAX_ATTEMPTS",
    "Cancel",
    "Claim",
    "Event",
    "Expire",
    "Finish",
    "Refusal",
    "Release",
    "Renew",
    "Reply",
    "Restart",
    "Retry",
    "Start",
    "State",
    "decide",
]

LEASE_MS: Final = 90_000
MAX_ATTEMPTS: Final = 3


@dataclass(frozen=True, slots=True)
class State:
    """What the ledger knows of a turn; times are milliseconds.

    `held` says that lease number `lease` may still write, `running` that this attempt was started.
    """

    state: TurnState = "queued"
    attempt: int = 0
    lease: int = 0
    held: bool = False
    running: bool = False
    cancel_requested: bool = False
    not_before: int | None = None
    expires: int | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """The agent's bridge wants the turn. `earlier_open`: an earlier turn of this thread and agent has not ended."""

    now: int
    paused: bool = False
    earlier_open: bool = False


@dataclass(frozen=True, slots=True)
class Start:
    """The agent's process is being started."""

    lease: int
    now: int


@dataclass(frozen=True, slots=True)
class Renew:
    """The bridge is still there."""

    lease: int
    now: int


@dataclass(frozen=True, slots=True)
class Release:
    """The bridge gives the turn back without an attempt, to be claimed from `not_before` on."""

    lease: int
    not_before: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """The turn's text is here. `mailed`: the agent itself mailed the sender. `owed`: the sender is owed an answer."""

    lease: int
    ok: bool
    mailed: bool = False
    owed: bool = True


@dataclass(frozen=True, slots=True)
class Finish:
    """The turn ended without a mail by the bridge."""

    lease: int
    outcome: FinishOutcome
    mailed: bool = False


@dataclass(frozen=True, slots=True)
class Cancel:
    """The sender or an administrator wants it to end."""


@dataclass(frozen=True, slots=True)
class Expire:
    """Time has passed."""

    now: int


@dataclass(frozen=True, slots=True)
class Retry:
    """A dead letter is to be tried again."""


@dataclass(frozen=True, slots=True)
class Restart:
    """The gateway was away: whoever holds a lease could not renew it meanwhile."""

    now: int


Event = Claim | Start | Renew | Release | Reply | Finish | Cancel | Expire | Retry | Restart


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an event can't happen now: a code of `problems` and what to do."""

    code: Literal["not_claimable", "lease_stale", "turn_final", "conflict"]
    detail: str


def decide(turn: State, event: Event) -> State | Refusal:
    """What `turn` becomes by `event`, the same state when nothing changes, or why it can't happen."""
    match event:
        case Claim():
            return _claim(turn, event)
        case Start() | Renew():
            return _refused(turn, event.lease) or _alive(turn, event)
        case Release():
            return _released(turn, event)
        case Reply() | Finish():
            return _result(turn, event)
        case Cancel():
            return _cancelled(turn)
        case Expire():
            return _expired(turn, event.now)
        case Retry():
            if turn.state != "dead":
                return Refusal("conflict", f"Only a dead turn can be retried; this one is {turn.state}.")
            return State(lease=turn.lease, held=turn.held)
        case Restart():
            if turn.state not in ("leased", "running"):
                return turn
            return replace(turn, expires=event.now + LEASE_MS)
        case _:
            assert_never(event)


def _claim(turn: State, event: Claim) -> State | Refusal:
    reason = ""
    if turn.state in FINAL_STATES:
        reason = f"it has ended: {turn.state}"
    elif turn.state != "queued":
        reason = f"it is {turn.state} under lease {turn.lease}"
    elif event.paused:
        reason = "the agent is paused; an administrator can resume it"
    elif turn.not_before is not None and event.now < turn.not_before:
        reason = "it waits for a time that has not come"
    elif event.earlier_open:
        reason = "an earlier turn of this agent in this thread has not ended"
    if reason:
        return Refusal("not_claimable", f"The turn can't be claimed: {reason}.")
    return State(
        state="leased",
        attempt=turn.attempt + 1,
        lease=turn.lease + 1,
        held=True,
        expires=event.now + LEASE_MS,
    )


def _refused(turn: State, lease: int) -> Refusal | None:
    """Why `lease` may not go on with the turn."""
    if turn.state in FINAL_STATES:
        return Refusal("lease_stale", f"The turn has ended: {turn.state}. Stop working on it.")
    if lease != turn.lease or not turn.held:
        return Refusal("lease_stale", f"Lease {lease} is not the turn's newest any more. Stop working on it.")
    return None


def _alive(turn: State, event: Start | Renew) -> State:
    running = turn.running or isinstance(event, Start)
    return replace(
        turn,
        state="running" if running else "leased",
        running=running,
        not_before=None,
        expires=event.now + LEASE_MS,
    )


def _released(turn: State, event: Release) -> State | Refusal:
    if turn.state == "queued" and not turn.held and event.lease == turn.lease > 0:
        return turn
    refusal = _refused(turn, event.lease)
    if refusal is not None:
        return refusal
    if turn.cancel_requested:
        return _ended(turn, "cancelled")
    return State(attempt=max(turn.attempt - 1, 0), lease=turn.lease, not_before=event.not_before)


def _result(turn: State, event: Reply | Finish) -> State | Refusal:
    if turn.state in FINAL_STATES and not (turn.state == "dead" and turn.held):
        return Refusal("turn_final", f"The turn has ended already: {turn.state}. Nothing more is taken for it.")
    if event.lease != turn.lease or not turn.held:
        return Refusal(
            "lease_stale", f"Lease {event.lease} is not the turn's newest any more; its result is not taken."
        )
    match event:
        case Reply(ok=False):
            return _ended(turn, "failed")
        case Reply(mailed=True):
            return _ended(turn, "answered_by_agent")
        case Reply(owed=False):
            return _ended(turn, "no_reply")
        case Reply():
            return _ended(turn, "answered")
        case Finish(outcome="cancelled"):
            return _ended(turn, "cancelled")
        case Finish(mailed=True):
            return _ended(turn, "answered_by_agent")
        case Finish(outcome="answered_by_agent"):
            return Refusal("conflict", "The agent did not mail the sender in this thread; reply, or finish otherwise.")
        case Finish():
            return _ended(turn, "no_reply")
        case _:
            assert_never(event)


def _cancelled(turn: State) -> State | Refusal:
    if turn.state in FINAL_STATES:
        return Refusal("turn_final", f"The turn has ended already: {turn.state}.")
    if turn.state == "queued":
        return _ended(turn, "cancelled")
    return replace(turn, cancel_requested=True)


def _expired(turn: State, now: int) -> State:
    if turn.state not in ("leased", "running") or turn.expires is None or now < turn.expires:
        return turn
    if turn.cancel_requested:
        return _ended(turn, "cancelled")
    if turn.attempt >= MAX_ATTEMPTS:
        return replace(_ended(turn, "dead"), held=turn.held)
    return replace(turn, state="queued", expires=None)


def _ended(turn: State, state: TurnState) -> State:
    return State(state=state, attempt=turn.attempt, lease=turn.lease, cancel_requested=turn.cancel_requested)
