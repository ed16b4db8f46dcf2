"""Ending a process together with everything below it."""

from contextlib import suppress

import psutil

__all__ = ["kill_tree"]


def kill_tree(pid: int) -> None:
    """SIGKILL to `pid` and all of its descendants. The top goes first, so that it starts nothing more."""
    try:
        top = psutil.Process(pid)
        below = top.children(recursive=True)
    except psutil.NoSuchProcess:
        return
    for process in (top, *below):
        with suppress(psutil.NoSuchProcess):
            process.kill()
