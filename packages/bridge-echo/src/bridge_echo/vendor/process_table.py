"""The processes of this machine as values, and signals that can't hit the wrong one.

Linux is read from ``/proc``; elsewhere psutil answers, and less is known (see `process_tree.tree_guard`). A process is
known by its id and its start, since ids are used again.
"""

import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

__all__ = ["LinuxTable", "PortableTable", "ProcessInfo", "ProcessTable", "system_table"]

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """One process.

    `started` orders starts on this machine, in a unit of the table's own; `alive` is false for a process that ended and
    was not collected by its parent yet.
    """

    pid: int
    parent: int
    group: int
    session: int
    started: float
    alive: bool
    name: str


class ProcessTable(Protocol):
    """What ending a process tree needs to know of the system."""

    def snapshot(self) -> dict[int, ProcessInfo]:
        """Every process that can be seen, by id. Not atomic: processes may come and go while it is taken."""

    def look(self, pid: int) -> ProcessInfo | None:
        """One process, or None if there is none."""

    def environment_has(self, pid: int, markers: Mapping[str, str]) -> bool:
        """Whether the process was started with all of `markers`, at least one, in its environment; false if unseen."""

    def own_children(self) -> list[int]:
        """The children of this process right now, adopted ones included."""

    def send(self, process: ProcessInfo, number: signal.Signals) -> bool:
        """Send a signal to exactly this process; false if it is gone or may not be signalled."""


class LinuxTable:
    """The table of ``/proc``. `started` is in clock ticks since the machine's start."""

    def snapshot(self) -> dict[int, ProcessInfo]:
        """See ProcessTable."""
        found = (self.look(int(entry.name)) for entry in os.scandir(PROC) if entry.name.isdecimal())
        return {process.pid: process for process in found if process is not None}

    def look(self, pid: int) -> ProcessInfo | None:
        """See ProcessTable."""
        try:
            text = _read(f"/proc/{pid}/stat")
        except OSError:
            return None
        # The name may hold blanks and brackets: it ends at the last one.
        head, _, tail = text.rpartition(b")")
        fields = tail.split()
        # A thread leader that left while its threads run looks like a zombie, and is alive.
        alive = fields[0] not in (b"Z", b"X") or int(fields[17]) > 1
        name = head.partition(b"(")[2].decode("utf-8", "replace")
        parent, group, session = int(fields[1]), int(fields[2]), int(fields[3])
        return ProcessInfo(pid, parent, group, session, float(fields[19]), alive, name)

    def environment_has(self, pid: int, markers: Mapping[str, str]) -> bool:
        """See ProcessTable."""
        try:
            entries = _read(f"/proc/{pid}/environ").split(b"\0")
        except OSError:
            return False
        wanted = [os.fsencode(f"{name}={value}") for name, value in markers.items()]
        return bool(wanted) and all(entry in entries for entry in wanted)

    def own_children(self) -> list[int]:
        """See ProcessTable."""
        children: list[int] = []
        for task in os.scandir("/proc/self/task"):
            try:
                children += map(int, _read(f"{task.path}/children").split())
            except OSError:
                continue
        return children

    def send(self, process: ProcessInfo, number: signal.Signals) -> bool:
        """See ProcessTable. Goes through a descriptor of the process, which can't come to mean another one."""
        try:
            descriptor = os.pidfd_open(process.pid)
        except OSError:
            return _send_by_id(self, process, number)
        try:
            now = self.look(process.pid)
            if now is None or now.started != process.started:
                return False
            signal.pidfd_send_signal(descriptor, number)
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return True


class PortableTable:
    """The table of psutil, for systems without ``/proc``. `started` is in seconds since the epoch."""

    def snapshot(self) -> dict[int, ProcessInfo]:
        """See ProcessTable."""
        import psutil

        found = (self.look(pid) for pid in psutil.pids())
        return {process.pid: process for process in found if process is not None}

    def look(self, pid: int) -> ProcessInfo | None:
        """See ProcessTable."""
        import psutil

        try:
            process = psutil.Process(pid)
            with process.oneshot():
                alive = process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
                started, parent, name = process.create_time(), process.ppid(), process.name()
        except psutil.Error:
            return None
        return ProcessInfo(pid, parent, _id_or_zero(os.getpgid, pid), _id_or_zero(os.getsid, pid), started, alive, name)

    def environment_has(self, pid: int, markers: Mapping[str, str]) -> bool:
        """See ProcessTable."""
        import psutil

        try:
            environment = psutil.Process(pid).environ()
        except (psutil.Error, OSError):
            return False
        return bool(markers) and all(environment.get(name) == value for name, value in markers.items())

    def own_children(self) -> list[int]:
        """See ProcessTable."""
        import psutil

        return [child.pid for child in psutil.Process().children()]

    def send(self, process: ProcessInfo, number: signal.Signals) -> bool:
        """See ProcessTable."""
        return _send_by_id(self, process, number)


def system_table() -> ProcessTable:
    """The table that fits this system."""
    return LinuxTable() if sys.platform == "linux" and (PROC / "self/stat").exists() else PortableTable()


def _send_by_id(table: ProcessTable, process: ProcessInfo, number: signal.Signals) -> bool:
    now = table.look(process.pid)
    if now is None or now.started != process.started:
        return False
    try:
        os.kill(process.pid, number)
    except OSError:
        return False
    return True


def _id_or_zero(ask: Callable[[int], int], pid: int) -> int:
    try:
        return ask(pid)
    except OSError:
        return 0


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - thousands of these are read in a row
        return file.readall()
