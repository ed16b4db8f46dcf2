import pytest

from agentmail_gateway.principal import Principal
from agentmail_gateway.problems import Problem
from agentmail_gateway.vendor import wire

from .world import World


async def seen(
    world: World, who: Principal, *states: str, limit: int = 3, order: wire.ListOrder = "oldest"
) -> list[str]:
    """All turns, read page by page."""
    found: list[str] = []
    after = None
    while True:
        page = await world.gateway.list_turns(who, states=states, order=order, after=after, limit=limit)
        found += [turn.id for turn in page.items]
        if page.next is None:
            return found
        after = page.next


async def test_everybody_sees_the_turns_that_are_theirs_oldest_first(world: World) -> None:
    mails = [
        await world.send(world.ada, "zcode", "pi"),
        await world.send(world.bob, "zcode"),
        await world.send(world.bob, "zcode", cc=("ada",)),
        await world.send(world.zcode, "pi"),
        await world.send(world.ada, "pi", "bob"),
    ]
    turns = [[receipt.turn_id for receipt in mail.receipts] for mail in mails]
    everything = [turn for mail in turns for turn in mail]
    expected = {
        "ada": everything,
        "bob": [*turns[1], *turns[2], *turns[4]],
        "zcode": [turns[0][0], *turns[1], *turns[2]],
        "pi": [turns[0][1], *turns[3], *turns[4]],
    }
    for who in (world.ada, world.bob, world.zcode, world.pi):
        for states in ((), ("queued",), ("queued", "answered"), ("queued", "running", "leased")):
            assert await seen(world, who, *states) == expected[who.name], (who, states)
            for limit in (1, 2, 200):
                newest = await seen(world, who, *states, limit=limit, order="newest")
                assert newest == expected[who.name][::-1], (who, states, limit)
        assert await seen(world, who, "answered") == []
        assert await seen(world, who, "dead") == []


async def test_turns_are_found_by_state(world: World) -> None:
    waiting = await world.turn()
    running = await world.running()
    answered = await world.running()
    await world.answer(answered)
    for who in (world.ada, world.zcode):
        assert await seen(world, who, "queued") == [waiting]
        assert await seen(world, who, "running", "leased") == [running.turn_id]
        assert await seen(world, who, "answered") == [answered.turn_id]
        assert await seen(world, who, "queued", "answered") == [waiting, answered.turn_id]


async def test_a_person_who_got_the_mail_finds_its_dead_turn(world: World) -> None:
    turn = (await world.send(world.ada, "zcode", "bob")).receipts[0].turn_id
    for _ in range(3):
        await world.gateway.claim(world.zcode, turn)
        await world.expire()
    for who in (world.ada, world.bob, world.zcode):
        assert await seen(world, who, "dead") == [turn]
    assert await seen(world, world.pi, "dead") == []


async def test_a_page_may_begin_within_the_turns_of_one_mail(world: World) -> None:
    await world.send(world.bob, "zcode", "pi")
    await world.send(world.bob, "zcode", "pi")
    oldest = await seen(world, world.bob, limit=1)
    assert len(oldest) == 4
    assert await seen(world, world.bob, limit=1, order="newest") == oldest[::-1]


async def test_a_turn_of_others_is_not_there(world: World) -> None:
    turn = await world.turn()
    for who in (world.bob, world.pi):
        with pytest.raises(Problem) as caught:
            await world.gateway.get_turn(who, turn)
        assert caught.value.code == "not_found"
    for who in (world.ada, world.zcode):
        assert (await world.gateway.get_turn(who, turn)).id == turn
    sent = (await world.send(world.pi, "zcode")).receipts[0].turn_id
    assert (await world.gateway.get_turn(world.pi, sent)).sender == "pi"


async def test_a_state_that_is_none_is_refused(world: World) -> None:
    with pytest.raises(Problem) as caught:
        await seen(world, world.ada, "sleeping")
    assert caught.value.code == "invalid"
    assert "queued" in caught.value.detail


async def test_a_turn_key_sees_its_turn(world: World) -> None:
    claim = await world.claimed()
    other = await world.turn()
    holder = world.holder(claim)
    assert await seen(world, holder) == [claim.turn_id]
    assert await seen(world, holder, "leased") == [claim.turn_id]
    assert await seen(world, holder, "queued") == []
    with pytest.raises(Problem):
        await world.gateway.get_turn(holder, other)
