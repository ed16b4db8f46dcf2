"""Small work that nobody waits for: receipts of pushed turns, stored together, and the sweep of unused uploads."""

import asyncio
import logging
from collections.abc import Coroutine, Iterable
from typing import Any, Final

from .attachments import sweep_attachments
from .core import Core
from .problems import Problem
from .turn_control import store_pushed

__all__ = ["Chores"]

_LOG = logging.getLogger(__name__)
_TOGETHER_S: Final = 0.1
_SWEEP_S: Final = 3600.0


class Chores:
    """Belongs to the event loop it was made on."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._loop = asyncio.get_running_loop()
        self._pushed: set[int] = set()
        self._pushed_timer: asyncio.TimerHandle | None = None
        self._sweep_timer = self._loop.call_later(_SWEEP_S, self._sweep)
        self._tasks: set[asyncio.Task[None]] = set()

    def pushed(self, turns: Iterable[int]) -> None:
        """Note that new turns were written to their agents' streams."""
        self._pushed.update(turns)
        if self._pushed and self._pushed_timer is None:
            self._pushed_timer = self._loop.call_later(_TOGETHER_S, self._flush)

    async def close(self) -> None:
        """Do what is noted, and no more after that."""
        self._sweep_timer.cancel()
        if self._pushed_timer is not None:
            self._pushed_timer.cancel()
        self._flush()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _flush(self) -> None:
        self._pushed_timer = None
        turns, self._pushed = self._pushed, set()
        if turns:
            self._spawn(store_pushed(self._core, sorted(turns)))

    def _sweep(self) -> None:
        self._sweep_timer = self._loop.call_later(_SWEEP_S, self._sweep)
        self._spawn(sweep_attachments(self._core))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(_quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _quietly(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except (Problem, OSError) as error:
        _LOG.warning("work in the background was put off: %s", error)
