from collections.abc import Callable
from dataclasses import replace

import pytest

from agentmail_gateway.ledger import (
    LEASE_MS,
    Cancel,
    Claim,
    Event,
    Expire,
    Finish,
    Refusal,
    Release,
    Renew,
    Reply,
    Restart,
    Retry,
    Start,
    State,
    decide,
)

NOW = 1_000_000
LATER = NOW + LEASE_MS

QUEUED = State()
LEASED = State("leased", 1, 1, held=True, expires=LATER)
RUNNING = replace(LEASED, state="running", running=True)
EXPIRED = replace(LEASED, state="queued", expires=None)
EXPIRED_RUNNING = replace(RUNNING, state="queued", expires=None)
RELEASED = State("queued", 0, 1)
FLAGGED = replace(RUNNING, cancel_requested=True)
LAST = replace(RUNNING, attempt=3, lease=3)
DEAD = State("dead", 3, 3, held=True)
ANSWERED = State("answered", 1, 1)
BY_AGENT = State("answered_by_agent", 1, 1)
FAILED = State("failed", 1, 1)
NO_REPLY = State("no_reply", 1, 1)
CANCELLED = State("cancelled", 1, 1)

STATES = {
    "queued": QUEUED,
    "leased": LEASED,
    "running": RUNNING,
    "expired": EXPIRED,
    "expired_running": EXPIRED_RUNNING,
    "released": RELEASED,
    "flagged": FLAGGED,
    "last": LAST,
    "dead": DEAD,
    "answered": ANSWERED,
    "answered_by_agent": BY_AGENT,
    "failed": FAILED,
    "no_reply": NO_REPLY,
    "cancelled": CANCELLED,
}

STALE, FINAL, NOT, CONFLICT, SAME = "lease_stale", "turn_final", "not_claimable", "conflict", "same"

# Which lease an event carries: the newest one of the state.
EVENTS: dict[str, Callable[[int], Event]] = {
    "claim": lambda lease: Claim(NOW),
    "claim while paused": lambda lease: Claim(NOW, paused=True),
    "claim out of order": lambda lease: Claim(NOW, earlier_open=True),
    "start": lambda lease: Start(lease, NOW),
    "renew": lambda lease: Renew(lease, NOW),
    "release": lambda lease: Release(lease),
    "reply": lambda lease: Reply(lease, ok=True),
    "reply, agent mailed": lambda lease: Reply(lease, ok=True, mailed=True),
    "reply, not owed": lambda lease: Reply(lease, ok=True, owed=False),
    "reply failed": lambda lease: Reply(lease, ok=False, mailed=True),
    "finish no_reply": lambda lease: Finish(lease, "no_reply"),
    "finish no_reply, agent mailed": lambda lease: Finish(lease, "no_reply", mailed=True),
    "finish answered_by_agent": lambda lease: Finish(lease, "answered_by_agent"),
    "finish answered_by_agent, mailed": lambda lease: Finish(lease, "answered_by_agent", mailed=True),
    "finish cancelled": lambda lease: Finish(lease, "cancelled", mailed=True),
    "cancel": lambda lease: Cancel(),
    "expire too early": lambda lease: Expire(LATER - 1),
    "expire": lambda lease: Expire(LATER),
    "retry": lambda lease: Retry(),
    "restart": lambda lease: Restart(NOW),
}

FINALS = ("answered", "answered_by_agent", "failed", "no_reply", "cancelled")
HOLDING = ("leased", "running", "expired", "expired_running", "flagged", "last", "dead")

# (state, event) -> state's name, code, or "same". What is not here is worked out below, and nothing is left over.
TABLE: dict[tuple[str, str], str] = {}


def _fill(event: str, **outcomes: str) -> None:
    for name in STATES:
        TABLE[name, event] = outcomes.get(name, outcomes["others"])


_fill("claim", queued="leased", expired="leased", expired_running="leased", released="leased", others=NOT)
_fill("claim while paused", others=NOT)
_fill("claim out of order", others=NOT)
_fill(
    "start",
    leased="running",
    running="running",
    expired="running",
    expired_running="running",
    flagged="running",
    last="running",
    others=STALE,
)
_fill(
    "renew",
    leased="leased",
    running="running",
    expired="leased",
    expired_running="running",
    flagged="running",
    last="running",
    others=STALE,
)
_fill(
    "release",
    leased="queued",
    running="queued",
    expired="queued",
    expired_running="queued",
    last="queued",
    flagged="cancelled",
    released=SAME,
    others=STALE,
)
for _event, _state in {
    "reply": "answered",
    "reply, agent mailed": "answered_by_agent",
    "reply, not owed": "no_reply",
    "reply failed": "failed",
    "finish no_reply": "no_reply",
    "finish no_reply, agent mailed": "answered_by_agent",
    "finish answered_by_agent": CONFLICT,
    "finish answered_by_agent, mailed": "answered_by_agent",
    "finish cancelled": "cancelled",
}.items():
    _fill(
        _event,
        **dict.fromkeys(HOLDING, _state),
        **dict.fromkeys(FINALS, FINAL),
        queued=STALE,
        released=STALE,
        others="",
    )
_fill(
    "cancel",
    queued="cancelled",
    expired="cancelled",
    expired_running="cancelled",
    released="cancelled",
    leased="leased",
    running="running",
    last="running",
    flagged=SAME,
    others=FINAL,
)
_fill("expire too early", others=SAME)
_fill("expire", leased="queued", running="queued", last="dead", flagged="cancelled", others=SAME)
_fill("retry", dead="queued", others=CONFLICT)
_fill("restart", leased="leased", running="running", flagged="running", last="running", others=SAME)


def test_the_table_leaves_no_case_out() -> None:
    assert set(TABLE) == {(state, event) for state in STATES for event in EVENTS}
    assert "" not in TABLE.values()


@pytest.mark.parametrize(("state", "event"), sorted(TABLE))
def test_every_event_in_every_state(state: str, event: str) -> None:
    turn = STATES[state]
    after = decide(turn, EVENTS[event](turn.lease))
    expected = TABLE[state, event]
    if isinstance(after, Refusal):
        assert after.code == expected
        assert after.detail.endswith(".")
    elif expected == SAME:
        assert after == turn
    else:
        assert after.state == expected


@pytest.mark.parametrize(
    "event",
    [Start(1, NOW), Renew(1, NOW), Release(1), Reply(1, ok=True), Finish(1, "no_reply")],
)
def test_a_lease_can_not_write_once_a_newer_one_was_given(event: Event) -> None:
    newer = decide(EXPIRED, Claim(NOW))
    assert isinstance(newer, State)
    for turn in (newer, replace(newer, state="queued", expires=None), replace(newer, state="dead", attempt=3)):
        refusal = decide(turn, event)
        assert isinstance(refusal, Refusal)
        assert refusal.code == "lease_stale"


def test_a_claim_counts_the_attempt_and_the_lease_and_gives_ninety_seconds() -> None:
    assert decide(EXPIRED_RUNNING, Claim(NOW)) == State("leased", 2, 2, held=True, expires=NOW + 90_000)


def test_a_turn_that_waits_can_be_claimed_when_its_time_has_come() -> None:
    waiting = State(not_before=NOW)
    assert isinstance(decide(waiting, Claim(NOW - 1)), Refusal)
    assert decide(waiting, Claim(NOW)) == LEASED


def test_a_release_is_no_attempt() -> None:
    assert decide(RUNNING, Release(1, LATER)) == State("queued", 0, 1, not_before=LATER)
    assert decide(LAST, Release(3)) == State("queued", 2, 3)


def test_a_renewed_lease_has_ninety_seconds_from_now() -> None:
    assert decide(RUNNING, Renew(1, NOW + 5)) == replace(RUNNING, expires=NOW + 5 + 90_000)


def test_a_lease_that_ran_out_goes_on_when_its_holder_comes_back_first() -> None:
    assert decide(EXPIRED_RUNNING, Renew(1, NOW)) == replace(RUNNING, expires=NOW + 90_000)


def test_three_lost_attempts_are_dead() -> None:
    turn: State | Refusal = QUEUED
    for attempt in (1, 2, 3):
        assert isinstance(turn, State)
        turn = decide(turn, Claim(NOW))
        assert isinstance(turn, State)
        assert turn.attempt == attempt
        turn = decide(turn, Expire(LATER))
    assert turn == State("dead", 3, 3, held=True)


def test_a_retry_starts_to_count_again_but_fences_go_on() -> None:
    turn = decide(DEAD, Retry())
    assert turn == State("queued", 0, 3, held=True)
    assert decide(turn, Claim(NOW)) == State("leased", 1, 4, held=True, expires=LATER)


def test_an_answer_that_comes_late_is_taken_as_long_as_nobody_else_works_on_it() -> None:
    """openclaw#29106"""
    retried = decide(DEAD, Retry())
    assert isinstance(retried, State)
    for turn in (EXPIRED, EXPIRED_RUNNING, DEAD, retried):
        after = decide(turn, Reply(turn.lease, ok=True))
        assert isinstance(after, State)
        assert after.state == "answered"


def test_a_cancelled_turn_keeps_running_until_its_bridge_ends_it() -> None:
    flagged = decide(RUNNING, Cancel())
    assert flagged == FLAGGED
    assert isinstance(flagged, State)
    done = decide(flagged, Finish(1, "cancelled"))
    assert isinstance(done, State)
    assert done.state == "cancelled"


def test_a_restart_gives_every_lease_a_fresh_time() -> None:
    assert decide(replace(RUNNING, expires=NOW - 5), Restart(NOW)) == replace(RUNNING, expires=NOW + 90_000)
