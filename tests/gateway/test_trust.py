import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmail_gateway import trust
from agentmail_gateway.vendor.permission_mode import TIERS, rank
from agentmail_gateway.vendor.wire import Tier

TIER = st.sampled_from(TIERS)


@given(TIER, st.none() | TIER)
def test_what_a_turn_writes_is_trusted_no_more_than_what_it_read(sender: Tier, taint: Tier | None) -> None:
    given_trust = trust.mail_trust(sender, taint)
    assert rank(given_trust) <= rank(sender)
    assert taint is None or rank(given_trust) <= rank(taint)


@given(st.lists(TIER, min_size=1, max_size=10))
def test_the_taint_of_a_thread_is_the_lowest_trust_of_its_mails(mails: list[Tier]) -> None:
    taint: Tier | None = None
    for mail in mails:
        taint = trust.next_taint(taint, mail)
    assert taint == min(mails, key=rank)


@pytest.mark.parametrize(
    ("asked", "cap", "shown"),
    [(None, None, "plan"), ("full", None, "full"), ("full", "workspace", "workspace"), ("plan", "full", "plan")],
)
def test_a_mail_asks_for_no_more_than_the_turn_that_sends_it(asked: Tier | None, cap: Tier | None, shown: Tier) -> None:
    assert trust.asked_mode(asked, cap) == shown


def test_the_limit_that_binds_is_named() -> None:
    assert trust.effective("full", "full", "full", "full", None) == ("full", "asked")
    assert trust.effective("full", "full", "full", "full", "plan") == ("plan", "sending turn")
