"""What the parts of the gateway share: the store, and the small mirrors of it that every request needs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .accounts import Account, Accounts
from .events import LiveEvent
from .ids import IdMint, Ids, Prefix
from .live import LiveTurn, LiveTurns
from .principal import Principal
from .problems import Problem, not_found
from .store.interface import Store
from .times import Clock
from .vendor.wire import Limits

__all__ = ["Caller", "Core"]


@dataclass(frozen=True, slots=True)
class Caller:
    """A principal with its account; `turn` when it holds a turn key."""

    account: Account
    turn: LiveTurn | None = None

    @property
    def is_person(self) -> bool:
        """Whether a person asks."""
        return self.account.kind == "person"


@dataclass(slots=True)
class Core:
    """Handed to every function of the gateway.

    `waits` is when which turn may be claimed again, `asks` when which permission question runs out (milliseconds).
    `agent_changed` is told of an agent whose entry in the directory may have changed, `wake` that the next moment to
    look at the clock may have moved.
    """

    store: Store
    ids: Ids
    mint: IdMint
    clock: Clock
    data: Path
    accounts: Accounts = field(default_factory=Accounts)
    live: LiveTurns = field(default_factory=LiveTurns)
    limits: Limits = field(default_factory=Limits)
    waits: dict[int, int] = field(default_factory=dict)
    asks: dict[int, int] = field(default_factory=dict)
    tell_live: Callable[[LiveEvent], None] = lambda _event: None
    agent_changed: Callable[[int], None] = lambda _agent: None
    wake: Callable[[], None] = lambda: None

    def caller(self, who: Principal) -> Caller:
        """The account behind `who`. Raises Problem ``unauthorized`` when it is gone meanwhile."""
        account = self.accounts.by_name.get(who.name)
        if account is None or account.disabled:
            raise Problem("unauthorized", "This account doesn't exist any more, or is disabled.")
        if who.kind != "turn":
            return Caller(account)
        turn = self.live.get(self.ids.head("turn", who.turn_id or "") or 0)
        if turn is None or turn.agent != account.id:
            raise Problem("unauthorized", "The turn of this key has ended.")
        return Caller(account, turn)

    def administrator(self, who: Principal) -> Account:
        """The account behind `who`. Raises Problem ``forbidden`` unless it is an administrator's."""
        account = self.caller(who).account
        if not account.admin or account.kind != "person":
            raise Problem("forbidden", "Only an administrator may do this.")
        return account

    def bridge(self, who: Principal) -> Account:
        """The agent behind `who`. Raises Problem ``forbidden`` for people and for turn keys."""
        if who.kind != "agent":
            raise Problem("forbidden", "Only an agent's own key may do this, not a person's token or a turn key.")
        return self.caller(who).account

    def head(self, prefix: Prefix, text: str, what: str) -> int:
        """The head of an id in a request. Raises Problem ``not_found``."""
        head = self.ids.head(prefix, text)
        if head is None:
            raise not_found(what)
        return head

    @staticmethod
    def page_size(limit: int) -> int:
        """`limit` when it is 1 to 200. Raises Problem ``invalid``."""
        if not 1 <= limit <= 200:
            raise Problem("invalid", f"`limit` is {limit}; it must be 1 to 200.")
        return limit

    def cursor(self, prefix: Prefix, after: str | None) -> int:
        """The head after which a page starts, 0 for the first. Raises Problem ``invalid``."""
        if not after:
            return 0
        head = self.ids.head(prefix, after)
        if head is None:
            raise Problem("invalid", "The cursor in `after` is not one that this list gave as `next`.")
        return head
