"""No process of a turn outlives it, and nobody else is touched: with real processes."""

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .. import exit_watch, process, process_tree
from ..process import Child, become_subreaper, start, sweep, sweep_orphans, tree_guard
from ..process_table import LinuxTable, PortableTable, ProcessInfo, ProcessTable, system_table
from ..process_tree import BRIDGE_MARKER, TURN_MARKER, end_tree, members
from .wild_programs import WILD, WILD_ORPHANS, python

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and a subreaper")


@pytest.fixture
def subreaper() -> Iterator[None]:
    """This process adopts orphans, as a bridge does."""
    assert become_subreaper()
    yield
    become_subreaper(on=False)


def turn_env(turn_id: str | None = None) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], TURN_MARKER: turn_id or f"turn_{uuid4().hex}"}


async def begin(code: str, ups: int, tmp_path: Path, env: dict[str, str] | None = None) -> tuple[Child, list[int]]:
    """A turn's child that runs `code`, and the ids of those of its tree that said that they stand."""
    child = await start(python(code), cwd=tmp_path, env=env or turn_env())
    pids: list[int] = []
    async with asyncio.timeout(20):
        async for line in child.stdout_lines():
            pids += [int(line.text.split()[1])] if line.text.startswith("up ") else []
            if len(pids) == ups:
                break
    assert len(pids) == ups, child.stderr_tail()
    return child, pids


def plain(
    argv: list[str], cwd: Path, env: dict[str, str] | None = None, *, new_session: bool = True
) -> "subprocess.Popen[bytes]":
    """A process that `start` knows nothing of."""
    return subprocess.Popen(argv, cwd=cwd, env=env, stdout=subprocess.PIPE, start_new_session=new_session)


def ups_of(process: "subprocess.Popen[bytes]", count: int) -> list[int]:
    """The ids of `count` of its tree that said that they stand."""
    assert process.stdout is not None
    return [int(process.stdout.readline().split()[1]) for _ in range(count)]


def close(process: "subprocess.Popen[bytes]") -> None:
    assert process.stdout is not None
    process.kill()
    process.wait()
    process.stdout.close()


def alive(pids: list[int]) -> list[int]:
    table = system_table()
    found = [(pid, table.look(pid)) for pid in pids]
    return [pid for pid, process in found if process is not None and process.alive]


def anybody_holds(lock: Path) -> bool:
    """Whether a process of the tree lives: all of them hold this lock, whatever they call themselves."""
    with lock.open("rb+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@linux
@pytest.mark.usefixtures("subreaper")
@pytest.mark.parametrize("name", [*WILD, *WILD_ORPHANS])
async def test_nothing_of_a_turn_survives(name: str, tmp_path: Path) -> None:
    """zai-org/feedback#104, #101, untether#590"""
    code, ups = (WILD | WILD_ORPHANS)[name]
    child, pids = await begin(code, ups, tmp_path)
    report = await child.kill_tree(signal.SIGTERM, 0.2)
    assert report.survivors == ()
    assert not anybody_holds(tmp_path / "alive.lock")
    assert alive(pids) == []
    assert child.returncode is not None


@linux
@pytest.mark.parametrize("name", [name for name in WILD if "daemon" in name or "forks" in name])
async def test_nothing_that_keeps_its_marker_survives_without_a_subreaper(name: str, tmp_path: Path) -> None:
    code, ups = WILD[name]
    child, pids = await begin(code, ups, tmp_path)
    report = await child.kill_tree(None, 0.0)
    assert report.survivors == ()
    assert not anybody_holds(tmp_path / "alive.lock")
    assert alive(pids) == []


@pytest.mark.parametrize(
    "name", ["a child in a session of its own", "a main process that forks all the time and ignores TERM"]
)
async def test_a_system_without_proc_ends_a_tree_too(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (process, process_tree):
        monkeypatch.setattr(module, "system_table", PortableTable)
    monkeypatch.setattr(exit_watch, "_descriptor_of", lambda _: None)
    code, ups = WILD[name]
    child, pids = await begin(code, ups, tmp_path)
    report = await child.kill_tree(signal.SIGTERM, 0.1)
    assert report.survivors == ()
    assert not anybody_holds(tmp_path / "alive.lock")
    assert alive(pids) == []
    assert child.returncode is not None


@linux
@pytest.mark.usefixtures("subreaper")
async def test_leftovers_of_a_turn_that_ended_well_end_with_it(tmp_path: Path) -> None:
    """untether#590: the main process ended by itself; what it left behind must not stay."""
    child, pids = await begin("daemon(stubborn); daemon(bare); child(setsid_and_stay); up()", 4, tmp_path)
    assert await asyncio.wait_for(child.wait(), 10) == 0
    report = await child.kill_tree()
    assert (report.survivors, alive(pids)) == ((), [])


@linux
@pytest.mark.usefixtures("subreaper")
async def test_the_end_of_one_turn_touches_nobody_else(tmp_path: Path) -> None:
    """Not another turn, not the bridge's other children, not a program of the same name, not its own process."""
    bystanders = [plain(python("stay()"), tmp_path), plain(python("stay()"), tmp_path, new_session=False)]
    other, others = await begin("child(stay); daemon(stubborn); daemon(bare); stay()", 4, tmp_path)
    child, pids = await begin("child(stay); daemon(stubborn); stay()", 3, tmp_path)
    await child.kill_tree(None, 0.0)
    assert alive(pids) == []
    assert alive(others) == others
    assert [bystander.poll() for bystander in bystanders] == [None, None]
    await other.kill_tree(None, 0.0)
    assert alive(others) == []
    assert [bystander.poll() for bystander in bystanders] == [None, None]
    for bystander in bystanders:
        close(bystander)


@linux
@pytest.mark.parametrize("table", [LinuxTable(), PortableTable()])
def test_no_marker_is_borne_by_nobody(table: ProcessTable) -> None:
    assert not table.environment_has(os.getpid(), {})


@linux
@pytest.mark.usefixtures("subreaper")
@pytest.mark.parametrize("extra", [{}, {BRIDGE_MARKER: "b1"}, {BRIDGE_MARKER: "b1", TURN_MARKER: ""}])
async def test_a_child_without_a_turn_ends_alone(extra: dict[str, str], tmp_path: Path) -> None:
    """A probe must not take every process that started after it, nor the bridge's turns, for its own."""
    env = {"PATH": os.environ["PATH"], **extra}
    child, pids = await begin("child(setsid_and_stay); stay()", 2, tmp_path, env)
    bystander = plain(python("stay()"), tmp_path, {**env, **turn_env()}, new_session=False)
    ups_of(bystander, 1)
    report = await child.kill_tree(None, 0.0)
    assert sorted(process.pid for process in report.killed) == sorted(pids)
    assert bystander.poll() is None
    close(bystander)


@linux
@pytest.mark.usefixtures("subreaper")
async def test_an_orphan_of_unknown_turn_ends_with_the_last_turn(tmp_path: Path) -> None:
    first, pids = await begin("daemon(bare); stay()", 2, tmp_path)
    second, _ = await begin("stay()", 1, tmp_path)
    main = first.pid
    [orphan] = [pid for pid in pids if pid != main]
    await first.kill_tree(None, 0.0)
    assert alive([main, orphan]) == [orphan]
    await second.kill_tree(None, 0.0)
    assert alive([orphan]) == []


@linux
@pytest.mark.usefixtures("subreaper")
async def test_no_zombie_stays_behind(tmp_path: Path) -> None:
    child, _ = await begin("daemon(bare); daemon(stubborn); child(stay); stay()", 4, tmp_path)
    await child.kill_tree(None, 0.0)
    own = os.getpid()
    dead = [p for p in system_table().snapshot().values() if p.parent == own and not p.alive and p.pid >= child.pid]
    assert dead == []


@linux
async def test_a_restarted_bridge_ends_what_its_killed_predecessor_left(tmp_path: Path) -> None:
    """zai-org/feedback#104: ``kill -9`` of the bridge; its turns' processes go on until the next one sweeps."""
    bridge_id, turn_id = uuid4().hex, f"turn_{uuid4().hex}"
    env = {**turn_env(turn_id), BRIDGE_MARKER: bridge_id}
    other_env = {**turn_env(), BRIDGE_MARKER: uuid4().hex}
    code = "child(setsid_and_stay); daemon(stubborn); stay()"
    program = python(f"child(lambda: os.execv({sys.executable!r}, {python(code)!r})); stay()")
    bridges = [plain(program, tmp_path, each) for each in (env, other_env)]
    try:
        trees = [ups_of(bridge, 4) for bridge in bridges]
        bridges[0].kill()
        bridges[0].wait()
        assert len(alive(trees[0])) == 3
        report = await sweep_orphans(bridge_id)
        assert report.survivors == ()
        assert alive(trees[0]) == []
        assert alive(trees[1]) == trees[1]
        await sweep(other_env[TURN_MARKER])
        assert alive(trees[1]) == []
    finally:
        for bridge, each in zip(bridges, (env, other_env), strict=True):
            close(bridge)
            await sweep(each[TURN_MARKER])


@linux
async def test_sweeping_for_an_empty_id_is_refused() -> None:
    for search in (sweep, sweep_orphans):
        with pytest.raises(ValueError, match="is empty"):
            await search("")


@linux
async def test_sweeping_what_is_not_there_does_nothing() -> None:
    report = await sweep(f"turn_{uuid4().hex}")
    assert (report.killed, report.survivors) == ((), ())


@linux
async def test_a_process_that_may_not_be_ended_is_reported_in_bounded_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child, pids = await begin("stay()", 1, tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(LinuxTable, "send", lambda *_: False)
        patched.setattr(os, "killpg", lambda *_: None)
        report = await end_tree(child._root, limit_s=0.05)
    assert [process.pid for process in report.survivors] == pids
    await child.kill_tree(None, 0.0)


def test_the_guard_says_what_it_can_do() -> None:
    if sys.platform == "linux":
        assert tree_guard().level == "marked"
        become_subreaper()
        assert tree_guard().level == "complete"
        become_subreaper(on=False)
    else:
        assert tree_guard().level == "descendants"
    assert tree_guard().why


@pytest.mark.parametrize("table", [LinuxTable(), PortableTable()])
async def test_both_tables_see_the_same_process(table: ProcessTable, tmp_path: Path) -> None:
    if isinstance(table, LinuxTable) and sys.platform != "linux":
        pytest.skip("needs /proc")
    env = turn_env()
    child, _ = await begin("stay()", 1, tmp_path, env)
    process = table.snapshot()[child.pid]
    assert (process.parent, process.group, process.session) == (os.getpid(), child.pid, child.pid)
    assert process.alive
    assert table.look(child.pid) == process
    assert child.pid in table.own_children()
    assert table.environment_has(child.pid, {TURN_MARKER: env[TURN_MARKER]})
    assert not table.environment_has(child.pid, {TURN_MARKER: env[TURN_MARKER][:-1]})
    stale = ProcessInfo(child.pid, 1, 1, 1, process.started - 100, True, "")
    assert not table.send(stale, signal.SIGKILL)
    assert table.send(process, signal.SIGKILL)
    assert await asyncio.wait_for(child.wait(), 10) == -signal.SIGKILL
    await child.kill_tree()
    assert table.look(child.pid) is None
    assert not table.environment_has(child.pid, {TURN_MARKER: env[TURN_MARKER]})


def row(pid: int, parent: int, session: int | None = None, started: float = 1.0) -> ProcessInfo:
    return ProcessInfo(pid, parent, session or pid, session or pid, started, True, "p")


def test_a_tree_is_descendants_and_the_sessions_that_they_lead() -> None:
    rows = [row(10, 5), row(11, 10, 10), row(12, 11), row(13, 1, 12), row(14, 13, 9), row(20, 5), row(21, 1, 20)]
    table = {process.pid: process for process in rows}
    assert sorted(members(table, [10])) == [10, 11, 12, 13, 14]
    assert sorted(members(table, [10], spare=[12])) == [10, 11]
    assert sorted(members(table, [30, 20])) == [20, 21]
    del table[20]
    assert sorted(members(table, [20])) == [21]


def test_who_started_earlier_does_not_belong() -> None:
    table = {10: row(10, 5, started=7), 11: row(11, 10, 10, started=8), 12: row(12, 1, 10, started=6)}
    assert sorted(members(table, [10], since=7)) == [10, 11]


@given(
    st.dictionaries(
        st.integers(2, 30), st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30)), max_size=20
    ),
    st.sets(st.integers(0, 30), max_size=4),
    st.sets(st.integers(0, 30), max_size=4),
)
def test_a_tree_is_closed_and_never_holds_whom_it_must_spare(
    rows: dict[int, tuple[int, int, int]], seeds: set[int], spare: set[int]
) -> None:
    table = {pid: ProcessInfo(pid, *ids, 1.0, True, "") for pid, ids in rows.items()}
    found = members(table, seeds, spare=spare)
    assert not found.keys() & (spare | {0, 1})
    assert members(table, [*seeds, *found], spare=spare) == found
    for each in table.values():
        if each.parent in found and each.pid not in spare:
            assert each.pid in found
