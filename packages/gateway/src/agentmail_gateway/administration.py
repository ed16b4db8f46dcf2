"""Administration: agents, people, trust and limits. Each change is in the audit record with the change itself."""

import msgspec

from .accounts import Account
from .audit import note
from .core import Core
from .identities import change_account, the_account
from .principal import Principal
from .problems import invalid, not_found
from .store.interface import Reader, Tx
from .times import text
from .turn_changes import tell_agent_queued
from .vendor import addressing, wire
from .web_sessions import WebSessions

__all__ = [
    "get_limits",
    "get_trust",
    "list_people",
    "load_limits",
    "patch_agent",
    "patch_person",
    "set_limits",
    "set_trust",
    "shown_person",
]


def shown_person(account: Account) -> wire.Person:
    """A person as administrators see them; never with a key."""
    return wire.Person(
        account.name, account.display, account.admin, account.trust, account.disabled, text(account.created)
    )


async def list_people(core: Core, who: Principal) -> wire.Page[wire.Person]:
    """All people."""
    core.administrator(who)
    return wire.Page(tuple([shown_person(account) for account in core.accounts.people()]))


async def patch_agent(
    core: Core,
    who: Principal,
    name: str,
    *,
    paused: bool | None,
    max_mode: wire.Tier | None,
    disabled: bool | None,
) -> Account:
    """Change what is given of an agent. A paused agent gets mail and claims nothing; a disabled one neither."""
    given: dict[str, object] = {"paused": paused, "max_mode": max_mode, "disabled": disabled}
    columns = {column: value for column, value in given.items() if value is not None}

    def resume(tx: Tx, account: Account) -> None:
        if (paused is False or disabled is False) and not account.paused and not account.disabled:
            tell_agent_queued(core, tx, account.id)
        tx.then(lambda: core.agent_changed(account.id))

    return await change_account(core, who, "agent", name, columns, "change agent", _words(columns), also=resume)


async def patch_person(
    core: Core,
    who: Principal,
    sessions: WebSessions,
    name: str,
    *,
    display: str | None,
    admin: bool | None,
    disabled: bool | None,
) -> wire.Person:
    """Change what is given of a person. Raises Problem ``conflict`` when no administrator would be left."""
    if display is not None:
        try:
            display = addressing.normal_display(display)
        except addressing.AddressError as error:
            raise invalid(f"{error}.") from None
    given: dict[str, object] = {"display": display, "admin": admin, "disabled": disabled}
    columns = {column: value for column, value in given.items() if value is not None}

    def sign_out(tx: Tx, account: Account) -> None:
        if disabled:
            tx.execute("DELETE FROM web_sessions WHERE account = ?", (account.id,))
            tx.then(lambda: sessions.end_all(account.id))

    account = await change_account(core, who, "person", name, columns, "change person", _words(columns), also=sign_out)
    return shown_person(account)


async def get_trust(core: Core, who: Principal) -> wire.Page[wire.Trust]:
    """The trust of everybody who can send mail."""
    core.administrator(who)
    accounts = [account for account in core.accounts.by_id.values() if account.kind != "system"]
    return wire.Page(tuple([_trust(account) for account in accounts]))


async def set_trust(core: Core, who: Principal, sender: str, tier: wire.Tier | None) -> wire.Trust:
    """Set the highest tier that mail of `sender` may ask for; None goes back to the default.

    It counts for mail that is sent from now on, and takes away from turns that are claimed from now on.
    """
    core.administrator(who)
    try:
        known = core.accounts.by_name.get(addressing.parse(sender).name)
    except addressing.AddressError:
        known = None
    if known is None or known.kind == "system":
        raise not_found("sender")
    kind = the_account(core, known.kind, known.name).kind
    return _trust(await change_account(core, who, kind, known.name, {"trust": tier}, "set trust", tier or "default"))


async def get_limits(core: Core, who: Principal) -> wire.Limits:
    """The limits in force."""
    core.administrator(who)
    return core.limits


async def set_limits(core: Core, who: Principal, limits: wire.Limits) -> wire.Limits:
    """Put other limits in force, at once. Raises Problem ``invalid`` for negative ones."""
    actor = core.administrator(who)
    for name, value in msgspec.structs.asdict(limits).items():
        # Not "value < 0": that is false for a number that is none.
        if not 0 <= value <= 1e12:
            raise invalid(f"`{name}` is {value}; a limit is 0 or more.")

    def job(tx: Tx) -> None:
        text_ = msgspec.json.encode(limits).decode()
        tx.execute(
            "INSERT INTO meta (key, value) VALUES ('limits', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (text_,),
        )
        note(tx, actor, "set limits", detail=text_)
        tx.then(lambda: setattr(core, "limits", limits))

    await core.store.write(job)
    return limits


def load_limits(reader: Reader) -> wire.Limits:
    """The limits that were set, or the default ones."""
    row = reader.execute("SELECT value FROM meta WHERE key = 'limits'").fetchone()
    return msgspec.json.decode(row[0], type=wire.Limits, strict=False) if row else wire.Limits()


def _trust(account: Account) -> wire.Trust:
    return wire.Trust(account.name, account.trust, account.own_trust is not None)


def _words(columns: dict[str, object]) -> str:
    return ", ".join(f"{column}: {value}" for column, value in columns.items())
