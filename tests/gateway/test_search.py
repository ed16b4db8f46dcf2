import pytest

from agentmail_gateway.principal import Principal
from agentmail_gateway.problems import Problem

from .world import World


async def find(world: World, who: Principal, q: str, **query: object) -> list[str]:
    return [mail.id for mail in (await world.gateway.search(who, q=q, **query)).items]  # type: ignore[arg-type]


async def test_what_was_just_sent_is_found_by_subject_and_body(world: World) -> None:
    """hermes#14829"""
    one = await world.send(world.ada, "bob", subject="关于搜索的问题", body="两个字 OK")
    two = await world.send(world.bob, "ada", subject="hello", body="请搜索一下")
    assert await find(world, world.ada, "搜索") == [one.id, two.id]
    assert await find(world, world.ada, "ok 两个") == [one.id]
    assert await find(world, world.ada, "nothing") == []


async def test_only_what_the_caller_sees_is_found(world: World) -> None:
    mail = await world.send(world.ada, "zcode", body="secret plan")
    assert await find(world, world.zcode, "secret") == [mail.id]
    assert await find(world, world.bob, "secret") == []
    assert await find(world, world.pi, "secret") == []


async def test_a_turn_key_finds_its_thread_and_what_was_mailed_to_the_agent(world: World) -> None:
    elsewhere = await world.send(world.zcode, "ada", body="needle")
    inbox = await world.send(world.bob, "zcode", body="needle")
    claim = await world.claimed(body="needle")
    holder = world.holder(claim)
    assert await find(world, holder, "needle") == [inbox.id, claim.mail.id]
    assert elsewhere.id in await find(world, world.zcode, "needle")


async def test_results_come_in_pages(world: World) -> None:
    mails = [(await world.send(world.ada, "bob", body="needle")).id for _ in range(5)]
    page = await world.gateway.search(world.bob, q="needle", limit=3)
    assert [mail.id for mail in page.items] == mails[:3]
    assert await find(world, world.bob, "needle", after=page.next) == mails[3:]


async def test_a_search_catches_up_with_many_mails_first(world: World) -> None:
    for number in range(230):
        await world.send(world.ada, "bob", body=f"number {number}")
    assert len(await find(world, world.bob, "number", limit=200)) == 200
    assert len(await find(world, world.bob, "229")) == 1


async def test_a_large_body_is_indexed_in_bounds(world: World) -> None:
    mail = await world.send(world.ada, "bob", body="first " + "filling " * 100_000 + "last")
    assert await find(world, world.bob, "first filling") == [mail.id]


@pytest.mark.parametrize(
    "q", ["", " ", '"', "a\0b", "NEAR(", "-", "*", "x" * 100_000, "\ud800", "text:", "{seen} : u1"]
)
async def test_a_hostile_query_finds_something_or_nothing(world: World, q: str) -> None:
    await world.send(world.ada, "bob", body="text")
    await find(world, world.bob, q)


async def test_a_cursor_that_is_none_is_refused(world: World) -> None:
    with pytest.raises(Problem) as caught:
        await find(world, world.ada, "x", after="mail_1")
    assert caught.value.code == "invalid"
