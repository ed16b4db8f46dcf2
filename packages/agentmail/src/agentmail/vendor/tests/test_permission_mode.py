from itertools import product

import pytest

from ..permission_mode import TIERS, TierError, allows, capped, effective, least, parse, rank
from ..wire import Tier

ORDER = {"plan": 0, "workspace": 1, "full": 2}
LIMITS = ("agent cap", "sender trust", "thread taint", "sending turn")
EVERY = list(product((None, *TIERS), TIERS, TIERS, TIERS, (None, *TIERS)))


def test_the_tiers_rise_from_plan_over_workspace_to_full() -> None:
    assert TIERS == ("plan", "workspace", "full")
    assert [rank(tier) for tier in TIERS] == [0, 1, 2]


@pytest.mark.parametrize("text", ["plan", "workspace", "full", " Full\n", "WORKSPACE", "\tplan "])
def test_a_tier_is_read_whatever_its_case_and_blanks(text: str) -> None:
    assert parse(text) == text.strip().lower()


@pytest.mark.parametrize(
    "text", ["", "yolo", "plan,full", "fullest", "work space", "p\x00lan", "\ud800", "x" * 100_000]
)
def test_another_word_is_refused_naming_the_three(text: str) -> None:
    with pytest.raises(TierError) as caught:
        parse(text)
    message = str(caught.value)
    assert "plan, workspace, full" in message
    assert len(message) < 200
    assert message.isprintable()


def test_the_effective_tier_is_the_lowest_of_all_for_every_combination() -> None:
    assert len(EVERY) == 4 * 3 * 3 * 3 * 4
    for asked, cap, trust, taint, turn in EVERY:
        given = [asked or "plan", cap, trust, taint, turn or "full"]
        tier, _ = effective(asked, cap, trust, taint, turn)
        assert ORDER[tier] == min(ORDER[one] for one in given), given


def test_why_names_each_binding_limit_and_no_other_for_every_combination() -> None:
    for asked, cap, trust, taint, turn in EVERY:
        tier, why = effective(asked, cap, trust, taint, turn)
        if tier == (asked or "plan"):
            assert why == ("asked" if asked else "nothing asked"), (asked, cap, trust, taint, turn)
        else:
            limits = zip(LIMITS, (cap, trust, taint, turn), strict=True)
            assert set(why.split(", ")) == {name for name, limit in limits if limit == tier}, (why, cap, trust, taint)


def test_raising_exactly_the_named_limits_gives_more_for_every_combination() -> None:
    for asked, cap, trust, taint, turn in EVERY:
        tier, why = effective(asked, cap, trust, taint, turn)
        if why in {"asked", "nothing asked"}:
            continue
        named = why.split(", ")
        more, _ = effective(
            asked,
            "full" if "agent cap" in named else cap,
            "full" if "sender trust" in named else trust,
            "full" if "thread taint" in named else taint,
            "full" if "sending turn" in named else turn,
        )
        assert rank(more) > rank(tier), (asked, cap, trust, taint, turn)


@pytest.mark.parametrize(
    ("asked", "cap", "trust", "taint", "turn", "tier", "why"),
    [
        (None, "full", "full", "full", None, "plan", "nothing asked"),
        ("plan", "plan", "plan", "plan", "plan", "plan", "asked"),
        ("full", "workspace", "full", "full", None, "workspace", "agent cap"),
        ("full", "full", "workspace", "full", None, "workspace", "sender trust"),
        ("full", "full", "full", "plan", None, "plan", "thread taint"),
        ("full", "full", "full", "full", "workspace", "workspace", "sending turn"),
        ("full", "workspace", "plan", "plan", "full", "plan", "sender trust, thread taint"),
    ],
)
def test_the_reason_reads_as_words(
    asked: Tier | None, cap: Tier, trust: Tier, taint: Tier, turn: Tier | None, tier: Tier, why: str
) -> None:
    assert effective(asked, cap, trust, taint, turn) == (tier, why)


def test_least_and_allows_agree_with_the_order() -> None:
    for a, b in product(TIERS, TIERS):
        assert least(a, b) == TIERS[min(ORDER[a], ORDER[b])]
        assert allows(a, b) is (ORDER[b] <= ORDER[a])
    assert least("full") == "full"


def test_one_more_limit_only_ever_lowers_and_then_names_itself() -> None:
    for tier, bound in product(TIERS, TIERS):
        got = capped(tier, "sender trust", bound, "this bridge's own cap")
        assert got == ((bound, "this bridge's own cap") if ORDER[bound] < ORDER[tier] else (tier, "sender trust"))
