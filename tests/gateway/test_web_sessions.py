import pytest

from agentmail_gateway.gateway import Gateway
from agentmail_gateway.problems import Problem

from .world import World


async def signed_in(world: World) -> str:
    code = await world.gateway.sign_in_code(world.bob)
    session, _, _ = await world.gateway.sign_in(code.code)
    return session


async def test_a_code_signs_in_once(world: World) -> None:
    code = await world.gateway.sign_in_code(world.bob)
    assert code.expires_at == "2027-01-15T08:10:00.000Z"
    session, csrf, who = await world.gateway.sign_in(code.code)
    assert who == world.bob
    assert world.gateway.authenticate_session(session) == (world.bob, csrf)
    with pytest.raises(Problem) as caught:
        await world.gateway.sign_in(code.code)
    assert caught.value.code == "unauthorized"
    assert world.gateway.authenticate(session) is None, "a cookie is no bearer key"


async def test_a_code_lives_ten_minutes(world: World) -> None:
    code = await world.gateway.sign_in_code(world.bob)
    world.clock.forward(600)
    with pytest.raises(Problem):
        await world.gateway.sign_in(code.code)


async def test_agents_and_turns_do_not_sign_in(world: World) -> None:
    for who in (world.zcode, world.holder(await world.claimed())):
        with pytest.raises(Problem) as caught:
            await world.gateway.sign_in_code(who)
        assert caught.value.code == "forbidden"


async def test_a_session_ends_when_it_is_signed_out(world: World) -> None:
    one, other = await signed_in(world), await signed_in(world)
    await world.gateway.sign_out(one)
    await world.gateway.sign_out(one)
    assert world.gateway.authenticate_session(one) is None
    assert world.gateway.authenticate_session(other) is not None


async def test_a_session_ends_after_thirty_days(world: World) -> None:
    session = await signed_in(world)
    world.clock.forward(30 * 24 * 3600 - 1)
    assert world.gateway.authenticate_session(session) is not None
    world.clock.forward(1)
    assert world.gateway.authenticate_session(session) is None


async def test_sessions_last_over_a_restart(world: World) -> None:
    session = await signed_in(world)
    await world.gateway.close()
    gateway = await Gateway.open(world.data, admin="ada", now=world.clock)
    assert gateway.authenticate_session(session) is not None
    await gateway.close()


@pytest.mark.parametrize("how", ["rotated", "disabled"])
async def test_sessions_and_codes_end_with_the_account_they_belong_to(world: World, how: str) -> None:
    session, code = await signed_in(world), await world.gateway.sign_in_code(world.bob)
    if how == "rotated":
        await world.gateway.rotate_person(world.ada, "bob")
    else:
        await world.gateway.patch_person(world.ada, "bob", disabled=True)
        assert world.gateway.authenticate_session(session) is None
        await world.gateway.patch_person(world.ada, "bob", disabled=False)
    assert world.gateway.authenticate_session(session) is None
    with pytest.raises(Problem):
        await world.gateway.sign_in(code.code)
    assert world.gateway.authenticate_session(await signed_in(world)) is not None
