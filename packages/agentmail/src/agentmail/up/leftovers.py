"""What an `agentmail up` that was killed left behind: found by its record, ended before anything is started anew."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec
import psutil

from ..home import write_private
from .tree import kill_tree

__all__ = ["Left", "end", "leftovers", "record"]

_MARK = "agentmail.lifeline"


class Left(msgspec.Struct, frozen=True):
    """A process that was started; its start time tells it from a later process of the same number."""

    name: str
    pid: int
    started: float


def _started(pid: int) -> float | None:
    try:
        return psutil.Process(pid).create_time()
    except psutil.Error:
        return None


def record(path: Path, running: Sequence[tuple[str, int]]) -> None:
    """Write down the running processes, (name, pid)."""
    known = [Left(name, pid, started) for name, pid in running if (started := _started(pid)) is not None]
    write_private(path, msgspec.json.encode(known).decode("utf-8") + "\n")


def leftovers(path: Path) -> tuple[Left, ...]:
    """The recorded processes that still run. A record that can't be read counts as empty."""
    try:
        known = msgspec.json.decode(path.read_bytes(), type=tuple[Left, ...])
    except (OSError, msgspec.MsgspecError):
        return ()
    return tuple(left for left in known if _runs(left))


def _runs(left: Left) -> bool:
    try:
        process = psutil.Process(left.pid)
        return (
            abs(process.create_time() - left.started) < 2.0
            and process.status() != psutil.STATUS_ZOMBIE
            and _MARK in process.cmdline()
        )
    except psutil.Error:
        return False


async def end(left: Sequence[Left], polite_s: float) -> None:
    """Wait until `left` have ended: their lifeline is cut, they stop by themselves. After `polite_s` kill them."""
    if await _gone(left, polite_s):
        return
    for process in left:
        if _runs(process):
            kill_tree(process.pid)
    await _gone(left, 5.0)


async def _gone(left: Sequence[Left], limit_s: float) -> bool:
    # They are not our children: there is nothing to wait on but their absence.
    for _ in range(round(limit_s / 0.05)):
        if not any(_runs(process) for process in left):
            return True
        await asyncio.sleep(0.05)
    return False
