"""The permission tiers, plan < workspace < full, and which of them a turn runs under.

Pure: nothing here reads a clock, a file or a setting.
"""

from .wire import Tier

__all__ = ["TIERS", "TierError", "allows", "capped", "effective", "least", "parse", "rank"]

TIERS: tuple[Tier, ...] = ("plan", "workspace", "full")


class TierError(ValueError):
    """A text that names no tier; its message names the three there are."""


def parse(text: str) -> Tier:
    """The tier that `text` names, whatever its case and surrounding blanks. Raises `TierError`."""
    word = text.strip().lower()
    for tier in TIERS:
        if word == tier:
            return tier
    raise TierError(f"{text[:40]!r} is no permission tier; use one of {', '.join(TIERS)}")


def rank(tier: Tier) -> int:
    """0 for plan, 1 for workspace, 2 for full."""
    return TIERS.index(tier)


def least(first: Tier, *others: Tier) -> Tier:
    """The lowest of the given tiers."""
    return min((first, *others), key=rank)


def allows(tier: Tier, needed: Tier) -> bool:
    """Whether a turn under `tier` may do what needs `needed`."""
    return rank(needed) <= rank(tier)


def effective(
    asked: Tier | None, agent_cap: Tier, sender_trust: Tier, thread_taint: Tier, sending_turn: Tier | None = None
) -> tuple[Tier, str]:
    """The tier a turn gets and the limit that made it so.

    `asked` is what the mail asks for (None: plan), `agent_cap` the highest tier of the agent, `sender_trust` that of
    the sender, `thread_taint` the lowest trust among the thread's mails, `sending_turn` the tier of the turn that sent
    the mail (None: no turn sent it). The reason is ``asked`` or ``nothing asked`` when no limit took anything away,
    otherwise every limit that must be raised before more is possible: ``sender trust, thread taint``.
    """
    wish: Tier = asked or "plan"
    limits: list[tuple[str, Tier]] = [
        ("agent cap", agent_cap),
        ("sender trust", sender_trust),
        ("thread taint", thread_taint),
    ]
    if sending_turn is not None:
        limits.append(("sending turn", sending_turn))
    tier = least(wish, *(limit for _, limit in limits))
    if tier == wish:
        return tier, "asked" if asked else "nothing asked"
    return tier, ", ".join(name for name, limit in limits if limit == tier)


def capped(tier: Tier, why: str, bound: Tier, reason: str) -> tuple[Tier, str]:
    """`tier` with its `why`, or `bound` with `reason` when that is lower: one more limit on an effective tier."""
    return (bound, reason) if rank(bound) < rank(tier) else (tier, why)
