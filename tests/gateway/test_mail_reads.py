from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agentmail_gateway.principal import Principal
from agentmail_gateway.problems import Problem
from agentmail_gateway.store.interface import Tx
from agentmail_gateway.vendor import wire

from .world import World, a_world


async def ids(world: World, who: Principal, **query: object) -> list[str]:
    return [mail.id for mail in (await world.gateway.list_mails(who, **query)).items]  # type: ignore[arg-type]


async def test_boxes_hold_what_came_and_what_went_oldest_first(world: World) -> None:
    came = await world.send(world.bob, "ada")
    went = await world.send(world.ada, "bob")
    own = await world.send(world.ada, "ada")
    assert await ids(world, world.ada) == [came.id, own.id]
    assert await ids(world, world.ada, box="sent") == [went.id, own.id]
    assert await ids(world, world.ada, box="all") == [came.id, went.id, own.id]


async def test_a_box_comes_in_pages(world: World) -> None:
    sent = [(await world.send(world.ada, "bob")).id for _ in range(7)]
    for box, who in (("inbox", world.bob), ("sent", world.ada), ("all", world.ada)):
        seen: list[str] = []
        after = None
        while True:
            page = await world.gateway.list_mails(who, box=box, after=after, limit=3)
            seen += [mail.id for mail in page.items]
            if page.next is None:
                break
            after = page.next
        assert seen == sent


@pytest.mark.parametrize("narrow", [{}, {"sender": "ada"}, {"unread": True}, {"unread": False}])
@pytest.mark.parametrize("limit", [1, 3, 200])
async def test_the_newest_come_first_when_asked_for(world: World, limit: int, narrow: dict[str, Any]) -> None:
    sent = [(await world.send(world.ada, "bob")).id for _ in range(7)]
    for mail in sent[::2]:
        await world.gateway.set_read(world.bob, mail, True)
    expected = {None: sent, True: sent[1::2], False: sent[::2]}[narrow.get("unread")]
    seen: list[str] = []
    after = None
    while True:
        page = await world.gateway.list_mails(world.bob, order="newest", after=after, limit=limit, **narrow)
        seen += [mail.id for mail in page.items]
        if page.next is None:
            break
        after = page.next
        # What comes meanwhile is newer than the cursor, and moves no page.
        await world.send(world.ada, "bob")
    assert seen == expected[::-1]


async def test_the_newest_page_reads_no_more_of_a_large_box_than_of_a_small_one(world: World) -> None:
    for _ in range(60):
        await world.send(world.ada, "bob")
    steps = []
    for rows in (0, 20_000):
        await fill(world, rows)
        steps.append(await work_of(world, lambda: world.gateway.list_mails(world.bob, order="newest", limit=50)))
    assert steps[1] <= steps[0] * 1.5


async def fill(world: World, rows: int) -> None:
    """Old mail for bob, straight into the store."""

    def put(tx: Tx) -> None:
        (mail,) = tx.execute("SELECT min(id) FROM mails").fetchone()
        names = [name for _, name, *_ in tx.execute("PRAGMA table_info(mails)").fetchall() if name not in ("id", "key")]
        tx.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
            f"INSERT INTO mails (id, {', '.join(names)}) SELECT m.id - 100 * i, {', '.join(names)} "
            "FROM n JOIN mails m ON m.id = ? WHERE ? > 0",
            (rows, mail, rows),
        )
        tx.execute(
            "INSERT OR IGNORE INTO box (owner, place, mail, thread, sender, auto) "
            "SELECT a.id, m.id % 2, m.id, thread, sender, 0 FROM mails m, accounts a WHERE a.name = 'bob' AND m.id < ?",
            (mail,),
        )

    await world.gateway._core.store.write(put)


async def work_of(world: World, read: Callable[[], Awaitable[object]]) -> int:
    """How many hundreds of SQLite's instructions `read` takes on the event loop's connection."""
    count = 0

    def step() -> None:
        nonlocal count
        count += 1

    world.gateway._core.store.read(lambda reader: reader.set_progress_handler(step, 100))  # type: ignore[attr-defined]
    await read()
    world.gateway._core.store.read(lambda reader: reader.set_progress_handler(None, 100))  # type: ignore[attr-defined]
    return count


async def test_listing_and_reading_mark_nothing_read(world: World) -> None:
    """mcp_agent_mail#254"""
    mail = await world.send(world.ada, "bob")
    for _ in range(2):
        await world.gateway.list_mails(world.bob)
        await world.gateway.get_mail(world.bob, mail.id)
        await world.gateway.get_thread(world.bob, mail.thread_id)
        await world.gateway.list_threads(world.bob)
        await world.gateway.search(world.bob, q="x")
    assert (await world.gateway.get_mail(world.bob, mail.id)).unread


async def test_a_mail_is_marked_by_its_reader_for_its_reader(world: World) -> None:
    mail = await world.send(world.ada, "bob", "zcode")
    await world.gateway.set_read(world.bob, mail.id, True)
    await world.gateway.set_read(world.bob, mail.id, True)
    assert await ids(world, world.bob, unread=True) == []
    assert await ids(world, world.bob, unread=False) == [mail.id]
    assert await ids(world, world.zcode, unread=True) == [mail.id]
    await world.gateway.set_read(world.bob, mail.id, False)
    assert await ids(world, world.bob, unread=True) == [mail.id]
    assert await ids(world, world.bob, unread=False) == []


async def test_only_unread_mail_is_in_the_inbox_not_in_what_was_sent(world: World) -> None:
    mail = await world.send(world.ada, "ada")
    other = await world.send(world.ada, "bob")
    assert await ids(world, world.ada, box="sent", unread=True) == []
    assert await ids(world, world.ada, box="all", unread=True) == [mail.id]
    assert await ids(world, world.ada, box="sent", unread=False) == [mail.id, other.id]


async def test_a_box_is_narrowed_to_a_sender_and_to_a_thread(world: World) -> None:
    one = await world.send(world.bob, "ada")
    two = await world.send(world.zcode, "ada", in_reply_to=None)
    three = await world.send(world.bob, "ada", in_reply_to=one.id)
    assert await ids(world, world.ada, sender="Bob <BOB>") == [one.id, three.id]
    assert await ids(world, world.ada, thread=one.thread_id) == [one.id, three.id]
    assert await ids(world, world.ada, thread=two.thread_id, sender="zcode") == [two.id]
    assert await ids(world, world.ada, sender="stranger") == []
    assert await ids(world, world.ada, thread="thr_nonsense") == []


@pytest.mark.parametrize(
    "query", [{"box": "trash"}, {"after": "mail_1"}, {"limit": 0}, {"limit": 201}, {"sender": "a b"}]
)
async def test_a_query_that_makes_no_sense_is_refused(world: World, query: dict[str, object]) -> None:
    with pytest.raises(Problem) as caught:
        await ids(world, world.ada, **query)
    assert caught.value.code == "invalid"


async def test_a_mail_of_others_is_not_there(world: World) -> None:
    mail = await world.send(world.ada, "pi")
    for mail_id in (mail.id, "mail_" + "0" * 32, "nonsense", mail.thread_id):
        for call in (
            world.gateway.get_mail(world.bob, mail_id),
            world.gateway.set_read(world.bob, mail_id, True),
        ):
            with pytest.raises(Problem) as caught:
                await call
            assert caught.value.code == "not_found"


async def test_receipts_are_for_the_sender_and_for_people(world: World) -> None:
    mail = await world.send(world.ada, "zcode", "pi", "bob")
    for who, seen in (
        (world.ada, ["zcode", "pi"]),
        (world.bob, ["zcode", "pi"]),
        (world.zcode, ["zcode"]),
        (world.pi, ["pi"]),
    ):
        assert [receipt.to for receipt in (await world.gateway.get_mail(who, mail.id)).receipts] == seen


async def test_receipts_tell_how_far_a_mail_came(world: World) -> None:
    mail = await world.send(world.ada, "zcode")
    turn = mail.receipts[0].turn_id
    await world.gateway.pushed([turn])
    claim = await world.gateway.claim(world.zcode, turn)
    world.clock.forward(1)
    await world.gateway.start(world.zcode, turn, wire.StartBody(claim.lease))
    world.clock.forward(1)
    event = wire.ProgressEvent(1, "2027-01-15T08:00:02.000Z", "text", "hello")
    await world.gateway.progress(world.zcode, turn, wire.ProgressBody(claim.lease, (event,)))
    world.clock.forward(1)
    answer = await world.answer(claim)
    receipt = (await world.gateway.get_mail(world.ada, mail.id)).receipts[0]
    assert answer.mail is not None
    assert receipt == wire.Receipt(
        to="zcode",
        turn_id=turn,
        state="answered",
        outcome="answered",
        accepted_at="2027-01-15T08:00:00.000Z",
        pushed_at=receipt.pushed_at,
        leased_at="2027-01-15T08:00:00.000Z",
        started_at="2027-01-15T08:00:01.000Z",
        last_output_at=receipt.last_output_at,
        finished_at="2027-01-15T08:00:03.000Z",
        reply_id=answer.mail.id,
        attempt=1,
    )


async def test_a_turn_key_opens_the_inbox_and_its_own_thread(world: World) -> None:
    elsewhere = await world.send(world.zcode, "ada", subject="sent in another thread")
    inbox = await world.send(world.bob, "zcode")
    claim = await world.claimed()
    holder = world.holder(claim)
    own = await world.send(holder, "ada", in_reply_to=claim.mail.id)
    assert await ids(world, holder) == [inbox.id, claim.mail.id]
    assert await ids(world, holder, box="all") == [inbox.id, claim.mail.id, own.id]
    assert await ids(world, holder, box="sent") == [own.id]
    with pytest.raises(Problem):
        await world.gateway.get_mail(holder, elsewhere.id)
    assert (await world.gateway.get_mail(world.zcode, elsewhere.id)).id == elsewhere.id
    with pytest.raises(Problem):
        await world.send(holder, "ada", in_reply_to=elsewhere.id)


async def test_a_box_of_many_is_read_by_its_end(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        mails = [(await world.send(world.ada, "bob", body=str(number))).id for number in range(250)]
        page = await world.gateway.list_mails(world.bob, limit=200)
        rest = await world.gateway.list_mails(world.bob, limit=200, after=page.next)
        assert [mail.id for mail in (*page.items, *rest.items)] == mails
        assert rest.next is None


async def test_an_answer_is_bounded_in_size_and_nothing_is_left_out(world: World) -> None:
    body = "needle " + "x" * 1_000_000
    first = await world.send(world.ada, "bob", body=body)
    replies = [await world.send(world.ada, "bob", in_reply_to=first.id, body=body) for _ in range(8)]
    mails = [first.id, *(mail.id for mail in replies)]
    for read in (world.gateway.list_mails, lambda who, **query: world.gateway.search(who, q="needle", **query)):
        seen: list[str] = []
        after = None
        while True:
            page = await read(world.bob, after=after)
            assert 1 <= len(page.items) <= 5
            seen += [mail.id for mail in page.items]
            after = page.next
            if after is None:
                break
        assert seen == mails
    thread = await world.gateway.get_thread(world.bob, first.thread_id)
    assert [mail.id for mail in thread.mails] == mails[-5:]
