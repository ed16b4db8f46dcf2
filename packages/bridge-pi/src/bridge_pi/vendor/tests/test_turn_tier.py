"""The tier of a turn at the bridge: every combination of tier, cap, trust and enforcement."""

from itertools import product

import pytest

from .. import permission_mode
from ..permission_mode import TIERS
from ..turn_tier import TierChoice, choose_tier
from ..wire import AddressRef, Claim, ClaimThread, Enforcement, Failure, Mail, Session, Tier

LEVELS = ("sandbox", "native", "advisory", None)


def claim_with(effective: Tier, trust: Tier) -> Claim:
    mail = Mail(
        id="mail_1",
        thread_id="thr_1",
        from_=AddressRef("ada", "person"),
        to=(AddressRef("zcode", "agent"),),
        cc=(),
        subject="",
        body="",
        created_at="",
        in_reply_to=None,
        auto_submitted="no",
        permission_mode=effective,
        workspace=None,
    )
    return Claim("turn_1", 1, "", 1, "", mail, ClaimThread("thr_1", ()), Session(None), effective, "asked", True, trust)


def enforced(**levels: str | None) -> dict[Tier, Enforcement]:
    return {
        tier: Enforcement(level, f"seen to be {level}")  # type: ignore[arg-type]
        for tier, level in zip(TIERS, (levels.get("plan"), levels.get("workspace"), None), strict=True)
        if level is not None
    }


@pytest.mark.parametrize(
    ("effective", "cap", "trust", "plan", "workspace"),
    [case for case in product(TIERS, TIERS, TIERS, LEVELS, LEVELS) if permission_mode.allows(case[2], case[0])],
)
def test_the_whole_table(effective: Tier, cap: Tier, trust: Tier, plan: str | None, workspace: str | None) -> None:
    choice = choose_tier(claim_with(effective, trust), cap, enforced(plan=plan, workspace=workspace))
    limit = permission_mode.least(effective, cap)
    held = {"plan": plan, "workspace": workspace, "full": "none needed"}
    fit = [tier for tier in TIERS if permission_mode.allows(limit, tier) and held[tier] not in ("advisory", None)]
    if trust == "full":
        assert isinstance(choice, TierChoice)
        assert choice.tier == limit
    elif fit:
        assert isinstance(choice, TierChoice)
        assert choice.tier == fit[-1]
    else:
        assert isinstance(choice, Failure)
        assert choice.class_ == "tier_unenforceable"
    if isinstance(choice, TierChoice):
        assert permission_mode.allows(limit, choice.tier)
        assert bool(choice.lowered) == (choice.tier != effective)


def test_an_advisory_tier_is_not_given_to_a_sender_without_trust() -> None:
    choice = choose_tier(
        claim_with("plan", "plan"), "workspace", {"plan": Enforcement("advisory", "the list is empty")}
    )
    assert isinstance(choice, Failure)
    assert "the list is empty" in choice.message


def test_what_the_bridge_took_away_is_said_in_a_sentence() -> None:
    choice = choose_tier(claim_with("full", "full"), "workspace", enforced(plan="native", workspace="native"))
    assert isinstance(choice, TierChoice)
    assert choice.lowered == "This ran under the tier workspace instead of full: the limit is this bridge's cap."
