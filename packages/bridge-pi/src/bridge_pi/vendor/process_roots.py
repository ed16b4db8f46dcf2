"""The children that this process runs in sessions of their own, and whether it adopts orphans.

This is the one piece of state about processes: a subreaper adopts for the whole process, not for a turn, so which turns
run decides what an orphan may belong to.
"""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from .process_table import ProcessInfo

__all__ = ["Root", "TreeGuard", "become_subreaper", "bridge", "tree_guard"]

PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class Root:
    """The main process of a turn, which leads a session of its own, and the markers that its children inherit."""

    process: ProcessInfo
    markers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TreeGuard:
    """How surely the processes of a turn are found here, and why.

    ``complete``: all. ``marked``: all but those that leave parent, session and environment behind. ``descendants``:
    those that lose their parent may be missed.
    """

    level: Literal["complete", "marked", "descendants"]
    why: str


@dataclass(slots=True)
class Bridge:
    """What this process runs: its roots by process id, and whether it adopts orphans.

    `first_start` is the start of the first root since none ran, `strangers` the other children that were there then:
    no turn's orphan can be among them.
    """

    roots: dict[int, Root] = field(default_factory=dict)
    first_start: float = 0.0
    strangers: frozenset[int] = frozenset()
    adopts: bool = False

    def register(self, root: Root, strangers: Iterable[int]) -> None:
        """Note a child that leads a session of its own; `strangers` are the children there were before its start."""
        if not self.roots:
            self.first_start = root.process.started
            self.strangers = frozenset(strangers)
        self.roots[root.process.pid] = root

    def forget(self, root: Root) -> None:
        """Its tree was ended."""
        self.roots.pop(root.process.pid, None)


bridge = Bridge()


def become_subreaper(on: bool = True) -> bool:
    """Let this process adopt the orphans among its descendants; whether it does now. Once, at a bridge's start."""
    if sys.platform == "linux":
        import ctypes

        done = ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, int(on), 0, 0, 0) == 0
        bridge.adopts = on and done
    return bridge.adopts


def tree_guard() -> TreeGuard:
    """How surely the end of a turn is the end of all its processes, here and now."""
    if sys.platform != "linux":
        why = "this system shows only descendants, sessions and (of some programs) the environment"
        return TreeGuard("descendants", why)
    if not bridge.adopts:
        return TreeGuard("marked", "this process does not adopt orphans")
    return TreeGuard("complete", "descendants, sessions, the environment's marker, and adopted orphans are all seen")
