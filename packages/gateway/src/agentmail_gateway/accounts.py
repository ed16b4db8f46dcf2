"""People, agents and the gateway itself, all in memory: they are few, and every request needs them.

One namespace: an address never means two. Changed on the event loop only, after the commit that changed the store;
the writer's thread reads, and never sees half a change because an account is replaced whole.
"""

from dataclasses import dataclass
from typing import Any, Final, cast

from .principal import Principal
from .store.interface import Reader
from .vendor import wire

__all__ = ["ACCOUNT_COLUMNS", "SYSTEM", "Account", "Accounts", "account_of"]

SYSTEM: Final = "postmaster"
ACCOUNT_COLUMNS: Final = "id, name, kind, display, admin, trust, max_mode, paused, disabled, created, digest"


@dataclass(frozen=True, slots=True, eq=False)
class Account:
    """Somebody who writes or gets mail. `own_trust` is what an administrator set; `digest` the key's SHA-256.

    Compared by identity; two reads of one account are told to be the same by `id`.
    """

    id: int
    name: str
    kind: wire.Kind
    display: str
    admin: bool
    own_trust: wire.Tier | None
    max_mode: wire.Tier
    paused: bool
    disabled: bool
    created: int
    digest: bytes | None
    ref: wire.AddressRef

    @property
    def trust(self) -> wire.Tier:
        """The highest tier that this one's mail may ask for."""
        if self.own_trust is not None:
            return self.own_trust
        return "full" if self.admin else "workspace"

    @property
    def principal(self) -> Principal:
        """This account as a caller."""
        return Principal("person" if self.kind == "person" else "agent", self.name, self.admin)


def account_of(row: tuple[Any, ...]) -> Account:
    """The account of a row of `ACCOUNT_COLUMNS`."""
    number, name, kind, display, admin, trust, max_mode, paused, disabled, created, digest = row
    return Account(
        id=number,
        name=name,
        kind=cast("wire.Kind", kind),
        display=display,
        admin=bool(admin),
        own_trust=cast("wire.Tier | None", trust),
        max_mode=cast("wire.Tier", max_mode),
        paused=bool(paused),
        disabled=bool(disabled),
        created=created,
        digest=digest,
        ref=wire.AddressRef(name, cast("wire.Kind", kind), display or None),
    )


class Accounts:
    """All accounts, by name, by number and by key."""

    def __init__(self) -> None:
        self.by_name: dict[str, Account] = {}
        self.by_id: dict[int, Account] = {}
        self._by_digest: dict[bytes, Account] = {}

    def load(self, reader: Reader) -> None:
        """Read all of them."""
        rows = reader.execute(f"SELECT {ACCOUNT_COLUMNS} FROM accounts ORDER BY id").fetchall()  # noqa: S608 - constant
        self._set({row[0]: account_of(row) for row in rows})

    def put(self, account: Account) -> None:
        """Add `account`, or put it in the place of its earlier self."""
        self._set({**self.by_id, account.id: account})

    def _set(self, by_id: dict[int, Account]) -> None:
        # Whole new dictionaries: the writer's thread may be going through the old ones.
        self.by_id = by_id
        self.by_name = {account.name: account for account in by_id.values()}
        self._by_digest = {account.digest: account for account in by_id.values() if account.digest is not None}

    def of_digest(self, digest: bytes) -> Account | None:
        """The account whose key has the SHA-256 `digest`, disabled or not."""
        return self._by_digest.get(digest)

    @property
    def system(self) -> Account:
        """The gateway itself, the sender of its notices."""
        return self.by_name[SYSTEM]

    def people(self) -> list[Account]:
        """All people, in the order they were added."""
        return [account for account in self.by_id.values() if account.kind == "person"]

    def agents(self) -> list[Account]:
        """All agents, in the order they were added."""
        return [account for account in self.by_id.values() if account.kind == "agent"]
