"""What every store promises (see `agentmail_gateway.store.interface`); another store joins by a line in `STORES`."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from agentmail_gateway.problems import Problem
from agentmail_gateway.store.interface import EventRow, Reader, Store, Tx
from agentmail_gateway.store.sqlite_store import SqliteStore


def sqlite(folder: Path) -> Store:
    return SqliteStore(folder / "store.db", lambda: 1_000, capacity=100)


STORES = {"sqlite": sqlite}
Open = Callable[[], Awaitable[Store]]


@pytest.fixture(params=STORES)
async def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Open]:
    """Opens the store, closing the one that was open."""
    opened: list[Store] = []

    async def open_again() -> Store:
        while opened:
            await opened.pop().close()
        opened.append(STORES[request.param](tmp_path))
        return opened[0]

    yield open_again
    while opened:
        await opened.pop().close()


@pytest.fixture
async def store(open_store: Open) -> Store:
    return await open_store()


def put(key: str, value: int = 1) -> Callable[[Tx], str]:
    def job(tx: Tx) -> str:
        tx.execute(
            "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (key, value),
        )
        return key

    return job


def keys(reader: Reader) -> list[str]:
    return [row[0] for row in reader.execute("SELECT key FROM meta ORDER BY key").fetchall()]


async def test_a_write_gives_its_result_and_can_be_read_at_once(store: Store) -> None:
    assert await store.write(put("a")) == "a"
    assert store.read(keys) == ["a"]
    assert await store.read_aside(keys) == ["a"]


async def test_what_was_written_is_there_after_a_restart(open_store: Open) -> None:
    await (await open_store()).write(put("a"))
    assert (await open_store()).read(keys) == ["a"]


async def test_many_writes_at_once_all_arrive_in_the_order_of_their_calls(store: Store) -> None:
    order: list[int] = []

    def job(number: int) -> Callable[[Tx], int]:
        def run(tx: Tx) -> int:
            put(f"{number:03d}")(tx)
            tx.then(lambda: order.append(number))
            return number

        return run

    assert await asyncio.gather(*(store.write(job(number)) for number in range(100))) == list(range(100))
    assert order == list(range(100))
    assert len(store.read(keys)) == 100


async def test_a_job_that_fails_before_it_writes_leaves_its_neighbours_alone(store: Store) -> None:
    def fail(tx: Tx) -> None:
        tx.event(1, "never", {})
        tx.then(lambda: pytest.fail("followed a failure"))
        raise Problem("conflict", "no.")

    results = await asyncio.gather(
        store.write(put("a")), store.write(fail), store.write(put("b")), return_exceptions=True
    )
    assert [results[0], results[2]] == ["a", "b"]
    assert isinstance(results[1], Problem)
    assert store.read(keys) == ["a", "b"]
    assert store.last_event == 0


async def test_a_job_that_fails_after_it_wrote_is_taken_back_whole_and_its_neighbours_stand(store: Store) -> None:
    told: list[str] = []

    def job(name: str, *, fails: bool = False) -> Callable[[Tx], str]:
        def run(tx: Tx) -> str:
            put(name)(tx)
            tx.event(1, "kind", {"name": name})
            tx.then(lambda: told.append(name))
            tx.memo[name] = True
            if fails:
                raise ValueError(name)
            return name

        return run

    events: list[EventRow] = []
    store.on_events(events.extend)
    jobs = [job("a"), job("b", fails=True), job("c"), job("d", fails=True), job("e")]
    results = await asyncio.gather(*map(store.write, jobs), return_exceptions=True)
    assert [str(result) for result in results] == ["a", "b", "c", "d", "e"]
    assert [isinstance(result, ValueError) for result in results] == [False, True, False, True, False]
    assert store.read(keys) == told == ["a", "c", "e"]
    assert [(number, data["name"]) for number, _, _, data in events] == [(1, "a"), (2, "c"), (3, "e")]


async def test_what_jobs_remember_is_forgotten_when_something_is_taken_back(store: Store) -> None:
    def remember(tx: Tx) -> None:
        tx.memo["count"] = 1

    def fail(tx: Tx) -> None:
        put("x")(tx)
        tx.memo["count"] = 2
        raise ValueError("broken")

    await store.write(remember)
    assert await store.write(lambda tx: tx.memo.get("count")) == 1
    with pytest.raises(ValueError, match="broken"):
        await store.write(fail)
    assert await store.write(lambda tx: tx.memo.get("count")) is None


async def test_a_job_sees_what_the_job_before_it_wrote(store: Store) -> None:
    _, seen = await asyncio.gather(store.write(put("a")), store.write(keys))
    assert seen == ["a"]


async def test_callbacks_come_after_the_commit_and_before_the_answer(store: Store) -> None:
    seen: list[object] = []

    def job(tx: Tx) -> None:
        put("a")(tx)
        tx.event(1, "kind", {})
        tx.then(lambda: seen.append(store.read(keys)))

    store.on_events(lambda rows: seen.append(rows[0][0]))
    await store.write(job)
    assert seen == [["a"], 1]


async def test_a_callback_or_listener_that_fails_costs_nobody_the_answer(store: Store) -> None:
    def fail(*_: object) -> None:
        raise ValueError

    def job(tx: Tx) -> str:
        tx.then(fail)
        tx.event(1, "kind", {})
        return put("a")(tx)

    store.on_events(fail)
    assert await store.write(job) == "a"


async def test_event_ids_only_grow_also_after_all_are_deleted_and_the_store_was_closed(open_store: Open) -> None:
    def two(tx: Tx) -> None:
        tx.event(1, "kind", {"a": 1})
        tx.event(2, "kind", {"b": "é"})

    store = await open_store()
    events: list[EventRow] = []
    store.on_events(events.extend)
    await store.write(two)
    await store.write(lambda tx: tx.execute("DELETE FROM events").rowcount)
    store = await open_store()
    assert store.last_event == 2
    store.on_events(events.extend)
    await store.write(two)
    assert [event[0] for event in events] == [1, 2, 3, 4]
    assert events[3] == (4, 2, "kind", {"b": "é"})
    assert store.last_event == 4


async def test_a_read_sees_one_state_and_can_not_write(store: Store) -> None:
    await store.write(put("a"))
    with pytest.raises(Problem):
        store.read(lambda reader: reader.execute("DELETE FROM meta"))
    assert store.read(keys) == ["a"]


async def test_more_writes_than_fit_are_refused_and_none_is_kept_waiting_for_ever(store: Store) -> None:
    results = await asyncio.gather(*(store.write(put(f"{n:03d}")) for n in range(150)), return_exceptions=True)
    refused = [result for result in results if isinstance(result, Problem)]
    assert len(refused) == 50
    assert {(problem.status, problem.code, problem.retry_after_s) for problem in refused} == {(503, "unavailable", 1.0)}
    assert store.waiting == 0
    assert await store.write(put("later")) == "later"


async def test_an_answer_that_nobody_waits_for_any_more_does_no_harm(store: Store) -> None:
    task = asyncio.ensure_future(store.write(put("a")))
    await asyncio.sleep(0)
    task.cancel()
    assert await store.write(put("b")) == "b"
    assert store.read(keys) == ["a", "b"]


async def test_closing_answers_what_was_taken_and_refuses_what_comes_later(open_store: Open) -> None:
    store = await open_store()
    tasks = [asyncio.ensure_future(store.write(put(f"{n:02d}"))) for n in range(50)]
    await asyncio.sleep(0)
    await store.close()
    assert [task.result() for task in tasks] == [f"{n:02d}" for n in range(50)]
    with pytest.raises(Problem, match="shutting down"):
        await store.write(put("late"))
    await store.close()
    assert len((await open_store()).read(keys)) == 50


async def test_quiet_work_runs_until_it_has_nothing_more_to_do(store: Store) -> None:
    left = 3
    done = asyncio.Event()
    loop = asyncio.get_running_loop()

    def work(tx: Tx) -> bool:
        nonlocal left
        left -= 1
        put(f"work {left}")(tx)
        if left == 0:
            loop.call_soon_threadsafe(done.set)
        return left > 0

    store.on_quiet(work)
    await store.write(put("a"))
    await asyncio.wait_for(done.wait(), 10)
    await store.write(put("b"))
    assert store.read(keys) == ["a", "b", "work 0", "work 1", "work 2"]


async def test_quiet_work_that_fails_is_left_for_later(store: Store) -> None:
    failed = asyncio.Event()
    loop = asyncio.get_running_loop()

    def work(tx: Tx) -> bool:
        loop.call_soon_threadsafe(failed.set)
        raise ValueError("broken")

    store.on_quiet(work)
    await store.write(put("a"))
    await asyncio.wait_for(failed.wait(), 10)
    assert await store.write(put("b")) == "b"
