"""Ending every process of a turn, whatever it did to get away.

What belongs to a turn: its main process (the root) and all descendants; whoever is in a session or group that one of
them leads; whoever was started with the turn's marker in its environment; and, since a bridge adopts orphans (Linux),
the orphans that left parent, session and environment behind (zai-org/feedback#101 and #104, untether#590).

How they end: all that are found are stopped, until a look finds nobody new, and only then killed. What is stopped can't
fork, and its children still name it as their parent: a tree that forks all the time can't outrun this.
"""

import asyncio
import os
import signal
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from .process_roots import Root, bridge
from .process_table import ProcessInfo, ProcessTable, system_table

__all__ = [
    "BRIDGE_MARKER",
    "TURN_MARKER",
    "KillReport",
    "end_tree",
    "members",
    "observe",
    "sweep",
    "sweep_orphans",
]

TURN_MARKER = "AGENTMAIL_TURN_ID"
BRIDGE_MARKER = "AGENTMAIL_BRIDGE_ID"
LIMIT_S = 10.0
CHASES = 1000
QUIET_LOOKS = 5

Identity = tuple[int, float]


@dataclass(frozen=True, slots=True)
class KillReport:
    """What ending a tree did: the processes that were alive and are gone, and those that could not be ended."""

    killed: tuple[ProcessInfo, ...] = ()
    survivors: tuple[ProcessInfo, ...] = ()


def members(
    table: Mapping[int, ProcessInfo], seeds: Iterable[int], *, spare: Collection[int] = (), since: float = 0.0
) -> dict[int, ProcessInfo]:
    """`seeds` and all that belong to them: descendants, and the sessions and groups that any of these lead.

    Nobody in `spare` belongs, nor anybody that started before `since`. A seed may be gone from `table`: its session and
    group live on without it.
    """
    children: dict[int, list[int]] = {}
    led: dict[int, list[int]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process.pid)
        for leader in {process.session, process.group}:
            led.setdefault(leader, []).append(process.pid)
    found: dict[int, ProcessInfo] = {}
    pending, seen = list(seeds), {0, 1, *spare}
    while pending:
        pid = pending.pop()
        if pid in seen:
            continue
        seen.add(pid)
        member = table.get(pid)
        if member is not None:
            if member.started < since:
                continue
            found[pid] = member
        pending += children.get(pid, [])
        pending += led.get(pid, [])
    return found


def observe(root: Root) -> tuple[ProcessInfo, ...]:
    """Who belongs to `root` now. Taken before its main process ends, it keeps the lineage that is lost then."""
    hunt = _Hunt(system_table(), root.markers, root)
    return tuple(hunt.look().values())


async def end_tree(root: Root, known: Iterable[ProcessInfo] = (), *, limit_s: float = LIMIT_S) -> KillReport:
    """End all that belongs to `root`; returns when no process of it is alive, and forgets it.

    `known` were seen to belong to it earlier. What is still there after `limit_s` seconds (held by the kernel, or
    another user's) is reported. The root's own exit status is left to whoever waits for it.
    """
    try:
        return await _Hunt(system_table(), root.markers, root, known).run(limit_s)
    finally:
        bridge.forget(root)


async def sweep(turn_id: str, *, limit_s: float = LIMIT_S) -> KillReport:
    """End what was started under the turn `turn_id` by a bridge that is gone. Raises ValueError for an empty id."""
    return await _Hunt(system_table(), _marker(TURN_MARKER, turn_id)).run(limit_s)


async def sweep_orphans(bridge_id: str, *, limit_s: float = LIMIT_S) -> KillReport:
    """End what every turn of a killed predecessor left; `bridge_id` is the one it gave its turns. At start only.

    Raises ValueError for an empty id.
    """
    return await _Hunt(system_table(), _marker(BRIDGE_MARKER, bridge_id)).run(limit_s)


class _Hunt:
    """One search for the processes of a root or of a marker."""

    def __init__(
        self,
        table: ProcessTable,
        markers: Mapping[str, str],
        root: Root | None = None,
        known: Iterable[ProcessInfo] = (),
    ):
        self._table = table
        self._markers = markers
        self._root = root
        self._known = {process.pid: process for process in known}
        if root is not None:
            self._known[root.process.pid] = root.process
        others = [pid for pid in bridge.roots if root is None or pid != root.process.pid]
        self._sole = root is not None and not others
        self._own, self._session = os.getpid(), os.getsid(0)
        self._spare = {self._own, *others, *_ancestors(table, self._own)}
        self._since = 0.0 if root is None else bridge.first_start if self._sole else root.process.started
        self._stopped: set[Identity] = set()

    async def run(self, limit_s: float) -> KillReport:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + limit_s
        killed: dict[Identity, ProcessInfo] = {}
        pause, empty_looks = 0.0, 0
        while True:
            self._chase()
            alive = {_identity(process): process for process in self.look().values() if process.alive}
            fresh = [process for identity, process in alive.items() if identity not in self._stopped]
            # A look is not atomic: one more settles whose zombies they are, and that nobody slipped through.
            empty_looks = 0 if alive else empty_looks + 1
            if empty_looks == 2 or loop.time() > deadline:
                gone = tuple(process for identity, process in killed.items() if identity not in alive)
                return KillReport(gone, tuple(alive.values()))
            if fresh:
                self._signal(fresh, signal.SIGSTOP)
                pause = 0.0
            elif alive:
                self._signal(alive.values(), signal.SIGKILL)
                killed |= alive
                pause = min(0.02, pause + 0.001)
            await asyncio.sleep(pause)

    def look(self) -> dict[int, ProcessInfo]:
        """Who belongs now; zombies among them that are ours to collect are collected."""
        now = self._table.snapshot()
        seeds = {pid for pid, process in self._known.items() if now.get(pid, process).started == process.started}
        for process in now.values():
            if process.started >= self._since and process.pid not in seeds and self._is_mine(process):
                seeds.add(process.pid)
        found = members(now, seeds, spare=self._spare, since=self._since)
        for process in found.values():
            self._collect(process)
        self._known |= found
        return found

    def _is_mine(self, process: ProcessInfo) -> bool:
        """Whether a process belongs whoever its parent and session are."""
        if self._sole and self._is_adopted(process):
            return True
        # Without a marker nobody bears it; with it, everybody would.
        return bool(self._markers) and self._table.environment_has(process.pid, self._markers)

    def _is_adopted(self, process: ProcessInfo) -> bool:
        """Whether it is an orphan: our child, but in a session that only a turn's process can have made."""
        if not bridge.adopts or process.parent != self._own or process.session == self._session:
            return False
        known = process.pid in bridge.roots or process.pid in bridge.strangers
        return not known and process.started >= self._since

    def _chase(self) -> None:
        """Stop adopted processes one by one, fast: one that forks and exits has a new id each time one looks."""
        if not bridge.adopts:
            return
        quiet = 0
        for _ in range(CHASES):
            quiet += 1
            for pid in self._table.own_children():
                process = self._table.look(pid)
                if process is None:
                    quiet = 0
                elif not self._is_adopted(process):
                    continue
                elif not process.alive:
                    self._collect(process)
                    quiet = 0
                elif _identity(process) not in self._stopped and self._is_mine(process):
                    self._signal([process], signal.SIGSTOP)
                    quiet = 0
            if quiet == QUIET_LOOKS:
                return

    def _signal(self, processes: Iterable[ProcessInfo], number: signal.Signals) -> None:
        self._signal_group(number)
        for process in processes:
            self._table.send(process, number)
            self._stopped.add(_identity(process))

    def _signal_group(self, number: signal.Signals) -> None:
        """The root's group at once: the kernel lets no fork of it slip through."""
        if self._root is None:
            return
        leader = self._table.look(self._root.process.pid)
        # An id is not given away while a group has it.
        if leader is None or leader.started == self._root.process.started:
            with suppress(OSError):
                os.killpg(self._root.process.pid, number)

    def _collect(self, process: ProcessInfo) -> None:
        if not process.alive and self._is_adopted(process):
            with suppress(OSError):
                os.waitpid(process.pid, os.WNOHANG)


def _marker(name: str, value: str) -> dict[str, str]:
    if not value:
        raise ValueError(f"{name} is empty: it would name nobody's processes")
    return {name: value}


def _identity(process: ProcessInfo) -> Identity:
    return process.pid, process.started


def _ancestors(table: ProcessTable, pid: int) -> list[int]:
    found: list[int] = []
    while (process := table.look(pid)) is not None and process.parent > 1:
        pid = process.parent
        found.append(pid)
    return found
