from dataclasses import replace

import pytest

from agentmail_gateway.accounts import Account, Accounts
from agentmail_gateway.principal import Principal
from agentmail_gateway.vendor.wire import AddressRef, Kind, Tier


def account(number: int, name: str, kind: Kind = "person", digest: bytes | None = None) -> Account:
    return Account(
        id=number,
        name=name,
        kind=kind,
        display="",
        admin=False,
        own_trust=None,
        max_mode="workspace",
        paused=False,
        disabled=False,
        created=0,
        digest=digest,
        ref=AddressRef(name, kind),
    )


@pytest.fixture
def accounts() -> Accounts:
    made = Accounts()
    for each in (account(1, "postmaster", "system"), account(2, "ada", digest=b"a"), account(3, "pi", "agent", b"p")):
        made.put(each)
    return made


def test_an_account_is_found_by_name_number_and_key(accounts: Accounts) -> None:
    ada = accounts.by_name["ada"]
    assert accounts.by_id[2] is ada
    assert accounts.of_digest(b"a") is ada
    assert accounts.of_digest(b"x") is None
    assert accounts.system.kind == "system"
    assert [each.name for each in accounts.people()] == ["ada"]
    assert [each.name for each in accounts.agents()] == ["pi"]


def test_an_account_with_a_new_key_is_not_found_by_the_old_one(accounts: Accounts) -> None:
    accounts.put(replace(accounts.by_name["ada"], digest=b"new"))
    assert accounts.of_digest(b"a") is None
    assert accounts.of_digest(b"new") is accounts.by_name["ada"] is accounts.by_id[2]


def test_a_change_does_not_disturb_who_goes_through_the_accounts(accounts: Accounts) -> None:
    """The writer's thread does, while the event loop adds one."""
    going = iter(accounts.by_id.values())
    next(going)
    accounts.put(account(4, "bob"))
    assert [each.name for each in going] == ["ada", "pi"]
    assert [each.name for each in accounts.people()] == ["ada", "bob"]


@pytest.mark.parametrize(
    ("admin", "own", "trust"),
    [(False, None, "workspace"), (True, None, "full"), (True, "plan", "plan"), (False, "full", "full")],
)
def test_trust_is_what_was_set_or_what_is_usual(admin: bool, own: Tier | None, trust: Tier) -> None:
    assert replace(account(1, "x"), admin=admin, own_trust=own).trust == trust


def test_an_account_is_a_caller() -> None:
    assert replace(account(1, "x"), admin=True).principal == Principal("person", "x", admin=True)
    assert account(1, "x", "agent").principal == Principal("agent", "x")
