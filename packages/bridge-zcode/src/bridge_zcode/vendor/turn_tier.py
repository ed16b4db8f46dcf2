"""Which tier a turn runs under at this bridge: the gateway's, the bridge's own cap, and what is enforced here. Pure.

A tier that nothing was seen to enforce (level ``advisory``) is a request to the agent and no more: whoever writes gets
whatever the OS user may do. So only a sender trusted with ``full`` gets it; for anybody else the turn goes down to the
highest lower tier that is enforced, and where there is none it is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from . import permission_mode
from .wire import Claim, Enforcement, Failure, Tier

__all__ = ["TierChoice", "choose_tier"]

OWN_CAP = "this bridge's cap"
NOT_ENFORCED = "what is enforced here"


@dataclass(frozen=True, slots=True)
class TierChoice:
    """The tier and the limit that made it so; `lowered` says in a sentence what this bridge took away, or is empty."""

    tier: Tier
    why: str
    lowered: str = ""


def choose_tier(claim: Claim, max_mode: Tier, enforcement: Mapping[Tier, Enforcement]) -> TierChoice | Failure:
    """The tier that the claimed turn runs under, or why it can't run.

    `max_mode` is the bridge's own cap, `enforcement` what its runner observed per tier; a tier that is missing there
    counts as advisory. ``full`` means no limit, so nothing has to enforce it.
    """
    allowed, why = permission_mode.capped(claim.effective_mode, claim.why_mode, max_mode, OWN_CAP)
    if claim.sender_trust == "full" or _enforced(allowed, enforcement):
        return TierChoice(allowed, why, _lowered(claim.effective_mode, allowed, OWN_CAP))
    for tier in reversed(permission_mode.TIERS[: permission_mode.rank(allowed)]):
        if _enforced(tier, enforcement):
            return TierChoice(tier, NOT_ENFORCED, _lowered(claim.effective_mode, tier, NOT_ENFORCED))
    seen = enforcement.get(allowed)
    because = f" ({seen.why})" if seen is not None and seen.why else ""
    return Failure(
        "tier_unenforceable",
        f"On this machine nothing was seen to hold the agent to the tier {allowed}{because}, and mail from you may not"
        " run without that.",
        "Ask the person who runs the bridge: its --check says what is missing. An administrator can also raise your"
        " trust to full.",
    )


def _enforced(tier: Tier, enforcement: Mapping[Tier, Enforcement]) -> bool:
    if tier == "full":
        return True
    seen = enforcement.get(tier)
    return seen is not None and seen.level != "advisory"


def _lowered(asked: Tier, tier: Tier, limit: str) -> str:
    if asked == tier:
        return ""
    return f"This ran under the tier {tier} instead of {asked}: the limit is {limit}."
