"""Several bridges, old leases and a gateway that restarts: whatever the order, the ledger's promises hold."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from agentmail_gateway import ledger
from agentmail_gateway.ledger import LEASE_MS, MAX_ATTEMPTS, Refusal, State, decide
from agentmail_gateway.vendor.wire import FINAL_STATES, FinishOutcome

OUTCOMES = st.sampled_from(["answered_by_agent", "no_reply", "cancelled"])


class Ledger(RuleBasedStateMachine):
    leases = Bundle("leases")

    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self.turn = State()
        self.given: list[int] = []
        self.returned: set[int] = set()
        self.results = 0
        self.lost = 0
        self.cancel_wanted = False

    def happen(self, event: ledger.Event) -> State | Refusal:
        before = self.turn
        after = decide(before, event)
        if isinstance(after, State):
            assert after.lease >= before.lease
            if before.state in FINAL_STATES and before.state != "dead":
                assert after == before, "an end is an end"
            self.turn = after
        return after

    @rule(target=leases, paused=st.booleans(), earlier=st.booleans())
    def claim(self, paused: bool, earlier: bool) -> int:
        before = self.turn
        after = self.happen(ledger.Claim(self.now, paused, earlier))
        if isinstance(after, Refusal):
            assert paused or earlier or before.state != "queued" or (before.not_before or 0) > self.now
            return -1
        assert after.lease not in self.given, "a fencing number is given once"
        self.given.append(after.lease)
        return after.lease

    def may_write(self, lease: int) -> bool:
        return bool(self.given) and lease == self.given[-1] and lease not in self.returned

    @rule(lease=leases)
    def start(self, lease: int) -> None:
        ended = self.turn.state in FINAL_STATES
        assert isinstance(self.happen(ledger.Start(lease, self.now)), State) == (self.may_write(lease) and not ended)

    @rule(lease=leases)
    def renew(self, lease: int) -> None:
        ended = self.turn.state in FINAL_STATES
        after = self.happen(ledger.Renew(lease, self.now))
        assert isinstance(after, State) == (self.may_write(lease) and not ended)
        if isinstance(after, State):
            assert after.expires == self.now + LEASE_MS

    @rule(lease=consumes(leases), wait=st.none() | st.integers(0, 10**6))
    def release(self, lease: int, wait: int | None) -> None:
        before = self.turn
        after = self.happen(ledger.Release(lease, None if wait is None else self.now + wait))
        if isinstance(after, State) and before.held:
            self.returned.add(lease)
            assert after.state == ("cancelled" if before.cancel_requested else "queued")

    def result(self, lease: int, event: ledger.Reply | ledger.Finish) -> None:
        before = self.turn
        after = self.happen(event)
        if isinstance(after, State):
            assert self.may_write(lease)
            assert before.state not in FINAL_STATES or before.state == "dead"
            self.results += 1
        elif self.may_write(lease):
            assert before.state in FINAL_STATES - {"dead"} or after.code == "conflict", "an answer is not thrown away"

    @rule(lease=leases, ok=st.booleans(), mailed=st.booleans(), owed=st.booleans())
    def reply(self, lease: int, ok: bool, mailed: bool, owed: bool) -> None:
        self.result(lease, ledger.Reply(lease, ok, mailed, owed))

    @rule(lease=leases, outcome=OUTCOMES, mailed=st.booleans())
    def finish(self, lease: int, outcome: FinishOutcome, mailed: bool) -> None:
        self.result(lease, ledger.Finish(lease, outcome, mailed))

    @rule()
    def cancel(self) -> None:
        before = self.turn
        after = self.happen(ledger.Cancel())
        if before.state == "queued":
            assert self.turn.state == "cancelled"
        elif isinstance(after, State):
            assert after.cancel_requested
            assert after.state == before.state

    @rule(passed=st.integers(0, 2 * LEASE_MS))
    def time_passes(self, passed: int) -> None:
        self.now += passed
        before = self.turn
        self.happen(ledger.Expire(self.now))
        if before.state in ("leased", "running") and before.expires is not None and self.now >= before.expires:
            assert self.turn.state in ("queued", "dead", "cancelled")
            assert (self.turn.state == "cancelled") == before.cancel_requested
        else:
            assert self.turn == before

    @rule()
    def gateway_restarts(self) -> None:
        self.happen(ledger.Restart(self.now))
        if self.turn.state in ("leased", "running"):
            assert self.turn.expires == self.now + LEASE_MS

    @rule()
    def retry(self) -> None:
        was_dead = self.turn.state == "dead"
        assert isinstance(self.happen(ledger.Retry()), State) == was_dead

    @invariant()
    def it_ends_once_and_is_tried_three_times_at_most(self) -> None:
        assert self.results <= 1
        assert 0 <= self.turn.attempt <= MAX_ATTEMPTS
        assert (self.turn.expires is not None) == (self.turn.state in ("leased", "running"))
        assert not (self.turn.state == "queued" and self.turn.cancel_requested)


TestLedger = pytest.mark.timeout(110)(Ledger.TestCase)
TestLedger.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
