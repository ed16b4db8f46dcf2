"""Accounts in the store: adding, changing, giving new keys; and who a key belongs to."""

from collections.abc import Callable
from typing import Any

from .accounts import ACCOUNT_COLUMNS, Account, account_of
from .audit import note
from .core import Core
from .keys import Kind, digest_of, equal, new_secret
from .principal import Principal
from .problems import Problem, invalid, not_found
from .store.interface import Reader, Tx
from .vendor import addressing, wire

__all__ = [
    "add_account",
    "authenticate",
    "authenticate_secret",
    "change_account",
    "insert_account",
    "rotate",
    "stored_account",
    "the_account",
]


def authenticate(core: Core, token: str) -> Principal | None:
    """Who holds the bearer secret `token`: a person, an agent or a turn; None for nobody."""
    digest = digest_of(token)
    if token.startswith("amt_"):
        turn = core.live.of_digest(digest)
        if turn is None or turn.expires <= core.clock():
            return None
        agent = core.accounts.by_id[turn.agent]
        return None if agent.disabled else Principal("turn", agent.name, turn_id=core.ids.text("turn", turn.id))
    account = core.accounts.of_digest(digest)
    return None if account is None or account.disabled else account.principal


def authenticate_secret(core: Core, name: str, secret: str) -> Principal | None:
    """The agent `name` if `secret` is its key (``X-Agent-Name`` and ``X-Agent-Secret``)."""
    try:
        account = core.accounts.by_name.get(addressing.normal_name(name))
    except addressing.AddressError:
        return None
    known = account is not None and account.kind == "agent" and not account.disabled and account.digest
    # Without such an agent the same work is done, so that the time doesn't tell which names there are.
    if not equal(digest_of(secret), known or b"\0" * 32) or account is None or not known:
        return None
    return account.principal


def insert_account(
    tx: Tx,
    *,
    name: str,
    kind: wire.Kind,
    display: str = "",
    admin: bool = False,
    max_mode: wire.Tier = "workspace",
    digest: bytes | None = None,
) -> Account:
    """Add an account. Raises Problem ``conflict`` when the name is taken: people and agents share one namespace."""
    inserted = tx.execute(
        "INSERT INTO accounts (name, kind, display, admin, max_mode, created, digest) VALUES (?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (name) DO NOTHING",
        (name, kind, display, int(admin), max_mode, tx.now, digest),
    )
    if inserted.rowcount == 0:
        raise Problem("conflict", f"There is somebody called {name} already; choose another name.")
    return stored_account(tx, name)


def stored_account(reader: Reader, name: str) -> Account:
    """The account called `name`, as stored."""
    row = reader.execute(
        f"SELECT {ACCOUNT_COLUMNS} FROM accounts WHERE name = ?",  # noqa: S608 - constant
        (name,),
    ).fetchone()
    return account_of(row)


async def add_account(
    core: Core,
    who: Principal,
    kind: wire.Kind,
    name: str,
    *,
    display: str = "",
    admin: bool = False,
    max_mode: wire.Tier = "workspace",
) -> tuple[Account, str]:
    """Add a person or an agent for an administrator: the account, and its key, which is shown this once."""
    actor = core.administrator(who)
    try:
        name, display = addressing.normal_name(name), addressing.normal_display(display)
    except addressing.AddressError as error:
        raise invalid(f"{error}.") from None
    secret = new_secret(_key_kind(kind))

    def add(tx: Tx) -> Account:
        account = insert_account(
            tx, name=name, kind=kind, display=display, admin=admin, max_mode=max_mode, digest=digest_of(secret)
        )
        note(tx, actor, f"add {kind}", name, "administrator" if admin else "")
        tx.then(lambda: core.accounts.put(account))
        return account

    return await core.store.write(add), secret


async def rotate(core: Core, who: Principal, kind: wire.Kind, name: str) -> str:
    """Give a person or an agent a new key; the old one and every signed-in browser end. Raises ``not_found``."""
    secret = new_secret(_key_kind(kind))

    def also(tx: Tx, account: Account) -> None:
        tx.execute("DELETE FROM web_sessions WHERE account = ?", (account.id,))

    await change_account(core, who, kind, name, {"digest": digest_of(secret)}, f"rotate {kind}", also=also)
    return secret


async def change_account(
    core: Core,
    who: Principal,
    kind: wire.Kind,
    name: str,
    columns: dict[str, object],
    action: str,
    detail: str = "",
    also: Callable[[Tx, Account], None] | None = None,
) -> Account:
    """Set `columns` (names of this package's own making) of an account; the account as it is then.

    An administrator asks. `also` runs in the same transaction with the changed account. Raises Problem ``not_found``,
    or ``conflict`` when no administrator would be left who can sign in.
    """
    actor = core.administrator(who)
    known = the_account(core, kind, name)

    def change(tx: Tx) -> Account:
        if columns:
            if columns.get("admin") is False or columns.get("disabled") is True:
                _keep_an_administrator(tx, known)
            assignments = ", ".join(f"{column} = ?" for column in columns)
            values: list[Any] = [int(value) if isinstance(value, bool) else value for value in columns.values()]
            tx.execute(f"UPDATE accounts SET {assignments} WHERE id = ?", (*values, known.id))  # noqa: S608
            note(tx, actor, action, known.name, detail)
        account = stored_account(tx, known.name)
        if also is not None:
            also(tx, account)
        tx.then(lambda: core.accounts.put(account))
        return account

    return await core.store.write(change)


def the_account(core: Core, kind: wire.Kind, name: str) -> Account:
    """The person or agent called `name`. Raises Problem ``not_found``."""
    try:
        account = core.accounts.by_name.get(addressing.normal_name(name))
    except addressing.AddressError:
        account = None
    if account is None or account.kind != kind:
        raise not_found(kind)
    return account


def _keep_an_administrator(tx: Tx, account: Account) -> None:
    others = tx.execute(
        "SELECT count(*) FROM accounts WHERE kind = 'person' AND admin = 1 AND disabled = 0 AND id != ?", (account.id,)
    ).fetchone()[0]
    if account.kind == "person" and account.admin and others == 0:
        raise Problem("conflict", f"{account.name} is the last administrator; make somebody else one first.")


def _key_kind(kind: wire.Kind) -> Kind:
    return "amp" if kind == "person" else "ama"
