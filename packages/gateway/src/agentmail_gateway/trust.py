"""Which tier a mail may ask for, and which one a turn gets.

Every mail carries the trust of its content: what its sender is trusted with, and for what a turn or its bridge writes
no more than the least trusted mail of that turn's thread. So a full-trust agent that read a stranger's mail can't pass
the stranger's wishes on under its own trust.
"""

from functools import lru_cache

from .vendor import permission_mode
from .vendor.wire import Tier

__all__ = ["asked_mode", "effective", "least", "mail_trust", "next_taint"]


@lru_cache(maxsize=64)
def least(first: Tier, second: Tier) -> Tier:
    """The lower of two tiers."""
    return permission_mode.least(first, second)


@lru_cache(maxsize=1024)
def effective(asked: Tier | None, agent_cap: Tier, trust: Tier, taint: Tier, cap: Tier | None) -> tuple[Tier, str]:
    """The tier of a turn and, in words, the limit that made it so; `cap` is the tier of the turn that sent the mail."""
    return permission_mode.effective(asked, agent_cap, trust, taint, cap)


def asked_mode(asked: Tier | None, cap: Tier | None) -> Tier:
    """The tier that a mail asks for: what its sender named (plan by default), and no more than the sending turn has."""
    named: Tier = asked or "plan"
    return named if cap is None else least(named, cap)


def mail_trust(sender: Tier, turn_taint: Tier | None) -> Tier:
    """The trust that a mail carries; `turn_taint` is that of the thread whose turn made it, None without a turn."""
    return sender if turn_taint is None else least(sender, turn_taint)


def next_taint(before: Tier | None, trust: Tier) -> Tier:
    """The taint of a thread after a mail of `trust`; `before` None: it is the first."""
    return trust if before is None else least(before, trust)
