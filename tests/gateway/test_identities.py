import hashlib
import logging
from pathlib import Path

import msgspec
import pytest

from agentmail_gateway.gateway import Gateway
from agentmail_gateway.keys import digest_of, equal, new_secret
from agentmail_gateway.principal import Principal
from agentmail_gateway.problems import Problem

from .world import World


async def refused(call: object, code: str) -> Problem:
    with pytest.raises(Problem) as caught:
        await call  # type: ignore[misc]
    assert caught.value.code == code
    return caught.value


async def test_a_key_says_who_holds_it(world: World) -> None:
    person, token = await world.gateway.add_person(world.ada, "Eve", "Eve E.", False)
    assert (person.name, person.display, person.admin, person.trust) == ("eve", "Eve E.", False, "workspace")
    agent, key = await world.gateway.add_agent(world.ada, "Pi2", "plan")
    assert (agent.name, agent.max_mode, agent.online) == ("pi2", "plan", False)
    assert world.gateway.authenticate(token) == Principal("person", "eve")
    assert world.gateway.authenticate(key) == Principal("agent", "pi2")
    assert world.gateway.authenticate_secret("PI2", key) == Principal("agent", "pi2")
    assert world.ada == Principal("person", "ada", admin=True)


@pytest.mark.parametrize("token", ["", "x", "amp_", "ama_" + "x" * 43, "amt_" + "x" * 43, "\ud800", "é" * 50])
async def test_another_secret_is_nobodys(world: World, token: str) -> None:
    assert world.gateway.authenticate(token) is None
    assert world.gateway.authenticate_secret("zcode", token) is None
    assert world.gateway.authenticate_session(token) is None


async def test_a_name_with_anothers_key_is_nobody(world: World) -> None:
    _, key = await world.gateway.add_agent(world.ada, "other")
    _, token = await world.gateway.add_person(world.ada, "eve")
    assert world.gateway.authenticate_secret("zcode", key) is None
    assert world.gateway.authenticate_secret("eve", token) is None
    assert world.gateway.authenticate_secret("nobody", key) is None
    assert world.gateway.authenticate_secret("a b", key) is None


@pytest.mark.parametrize("name", ["ada", "ADA", "zcode", "bob", "postmaster", "ａda"])
async def test_people_and_agents_share_one_namespace(world: World, name: str) -> None:
    assert (
        name.lower() in (await refused(world.gateway.add_agent(world.ada, name), "conflict")).detail or name == "ａda"
    )
    await refused(world.gateway.add_person(world.ada, name), "conflict")
    assert world.gateway.authenticate_secret("zcode", "x") is None


@pytest.mark.parametrize("name", ["", "a b", "-x", "x" * 65, "a\u202eb", "a@b", "a+b", "a\0"])
async def test_what_is_no_name_is_refused(world: World, name: str) -> None:
    await refused(world.gateway.add_agent(world.ada, name), "invalid")
    await refused(world.gateway.add_person(world.ada, name), "invalid")


async def test_a_display_name_that_hides_something_is_refused(world: World) -> None:
    await refused(world.gateway.add_person(world.ada, "eve", "Ev\u202ee"), "invalid")


async def test_a_new_key_ends_the_old_one(world: World) -> None:
    _, old = await world.gateway.add_agent(world.ada, "third")
    new = await world.gateway.rotate_agent(world.ada, "third")
    assert world.gateway.authenticate(old) is None
    assert world.gateway.authenticate(new) == Principal("agent", "third")
    _, old = await world.gateway.add_person(world.ada, "eve")
    new = await world.gateway.rotate_person(world.ada, "eve")
    assert world.gateway.authenticate(old) is None
    assert world.gateway.authenticate(new) == Principal("person", "eve")


async def test_a_disabled_agent_is_nobody_until_it_is_enabled(world: World) -> None:
    _, key = await world.gateway.add_agent(world.ada, "third")
    await world.gateway.patch_agent(world.ada, "third", disabled=True)
    assert world.gateway.authenticate(key) is None
    assert world.gateway.authenticate_secret("third", key) is None
    await refused(world.gateway.list_mails(Principal("agent", "third")), "unauthorized")
    await world.gateway.patch_agent(world.ada, "third", disabled=False)
    assert world.gateway.authenticate(key) == Principal("agent", "third")


async def test_keys_are_kept_over_a_restart(world: World) -> None:
    _, key = await world.gateway.add_agent(world.ada, "third")
    await world.gateway.close()
    gateway = await Gateway.open(world.data, admin="ada")
    assert gateway.authenticate(key) == Principal("agent", "third")
    await gateway.close()


async def test_keys_are_nowhere_but_with_who_was_given_them(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """AgentChatBus#8, mcp-memory-service#1117"""
    caplog.set_level(logging.DEBUG)
    secrets = [world.gateway.person_token_path.read_text().strip()]
    _, key = await world.gateway.add_agent(world.ada, "third")
    _, token = await world.gateway.add_person(world.ada, "eve")
    claim = await world.claimed()
    code = await world.gateway.sign_in_code(world.ada)
    session, csrf, _ = await world.gateway.sign_in(code.code)
    secrets += [key, token, claim.turn_key, code.code, session, await world.gateway.rotate_agent(world.ada, "third")]
    assert csrf not in secrets

    shown = b"".join([line async for line in world.gateway.export(world.ada)])
    for page in (
        await world.gateway.list_agents(world.ada),
        await world.gateway.list_people(world.ada),
        await world.gateway.list_turns(world.ada),
        await world.gateway.audit(world.ada, limit=200),
        await world.gateway.get_trust(world.ada),
    ):
        shown += msgspec.json.encode(page)
    shown += repr([claim, code, world.events, world.live]).encode() + caplog.text.encode()
    await world.gateway.close()
    stored = b"".join(path.read_bytes() for path in world.data.rglob("*") if path.is_file() and path.suffix != ".token")
    for secret in secrets:
        hidden = (secret.encode(), hashlib.sha256(secret.encode()).hexdigest().encode())
        assert not any(form in shown for form in hidden)
        assert secret.encode() not in stored


async def test_the_first_administrators_token_is_in_a_file_of_their_own(tmp_path: Path) -> None:
    gateway = await Gateway.open(tmp_path / "a" / "b", admin="Grace")
    token = gateway.person_token_path.read_text()
    assert gateway.person_token_path == tmp_path / "a" / "b" / "person.token"
    assert gateway.person_token_path.stat().st_mode & 0o777 == 0o600
    assert gateway.person_token_path.parent.stat().st_mode & 0o777 == 0o700
    assert token.count("\n") == 1
    assert gateway.authenticate(token.strip()) == Principal("person", "grace", admin=True)
    await gateway.close()
    gateway = await Gateway.open(tmp_path / "a" / "b", admin="somebody-else")
    assert gateway.person_token_path.read_text() == token
    assert [person.name for person in (await gateway.list_people(Principal("person", "grace", admin=True))).items] == [
        "grace"
    ]
    await gateway.close()


@pytest.mark.parametrize(("admin", "code"), [("a b", "invalid"), ("", "invalid"), ("postmaster", "conflict")])
async def test_a_first_administrator_needs_a_name(tmp_path: Path, admin: str, code: str) -> None:
    await refused(Gateway.open(tmp_path / "store", admin=admin), code)
    gateway = await Gateway.open(tmp_path / "store", admin="ada")
    assert gateway.authenticate(gateway.person_token_path.read_text().strip()) is not None
    await gateway.close()


def test_secrets_are_long_and_different_and_tell_their_kind() -> None:
    made = {new_secret("ama") for _ in range(100)}
    assert len(made) == 100
    assert all(secret.startswith("ama_") and len(secret) == 47 for secret in made)


def test_digests_are_compared_whole() -> None:
    assert equal(digest_of("a"), digest_of("a"))
    assert not equal(digest_of("a"), digest_of("b"))
