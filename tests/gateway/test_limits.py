import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmail_gateway import limits
from agentmail_gateway.problems import Problem
from agentmail_gateway.vendor.wire import Limits

LIMITS = Limits()


@pytest.mark.parametrize(
    ("before", "by_person", "to_agents", "after"),
    [(5, True, True, 0), (5, True, False, 0), (5, False, True, 6), (5, False, False, 5)],
)
def test_hops_count_mail_between_agents_since_a_person_wrote(
    before: int, by_person: bool, to_agents: bool, after: int
) -> None:
    assert limits.next_hops(before, by_person=by_person, to_agents=to_agents) == after


def check(problem: Problem | None, code: str | None, retry_after_s: float | None = None) -> None:
    if code is None:
        assert problem is None
        return
    assert problem is not None
    assert (problem.status, problem.code) == (429, code)
    assert problem.retry_after_s == retry_after_s
    assert problem.detail.endswith(".")


@pytest.mark.parametrize(("hops", "code"), [(1, None), (6, None), (7, "hop_limit")])
def test_the_sixth_hop_is_the_last(hops: int, code: str | None) -> None:
    check(limits.hop_limit(hops, LIMITS), code)


@pytest.mark.parametrize(
    ("last", "now", "code", "wait"),
    [(None, 0, None, None), (1000, 5999, "cool_down", 0.001), (1000, 6000, None, None), (1000, 1000, "cool_down", 5.0)],
)
def test_two_agents_pause_between_mails(last: int | None, now: int, code: str | None, wait: float | None) -> None:
    check(limits.cool_down(last, now, "pi", LIMITS), code, wait)


def test_an_agent_sends_sixty_mails_an_hour() -> None:
    check(limits.quota(59, 0, 1000, LIMITS), None)
    check(limits.quota(60, 1000, 2000, LIMITS), "quota_mails", 3599.0)


@given(st.integers(60, 100), st.integers(0, 10**13), st.integers(0, 10**13))
def test_the_wait_for_the_quota_is_never_negative(sent: int, oldest: int, now: int) -> None:
    problem = limits.quota(sent, oldest, now, LIMITS)
    assert problem is not None
    assert problem.retry_after_s is not None
    assert problem.retry_after_s > 0


def test_two_hundred_turns_wait_for_an_agent_at_most() -> None:
    check(limits.queue_length("zcode", 199, LIMITS), None)
    check(limits.queue_length("zcode", 200, LIMITS), "queue_full", 30.0)


def test_a_limit_of_nothing_lets_nothing_pass() -> None:
    none = Limits(hops=0, mails_per_hour=0, queue_length=0, cool_down_s=0)
    check(limits.hop_limit(1, none), "hop_limit")
    check(limits.quota(0, 0, 0, none), "quota_mails", 3600.0)
    check(limits.queue_length("pi", 0, none), "queue_full", 30.0)
    check(limits.cool_down(5, 5, "pi", none), None)
