"""Which turns run now: a bounded set, chosen from what waits, each an attempt of its own."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from .attempt import Slot, work
from .bounded import BoundedDict
from .bridge_parts import BridgeParts
from .directory_lock import lock_directory
from .gateway_errors import GatewayError, GatewayProblem
from .intake import Intake, Ticket, Working
from .settlement import Result
from .workspace import WorkspaceError

__all__ = ["Dispatch"]

MOST_THREADS = 1024


class Dispatch:
    """Starts attempts, at most `limit` at once. `changed` is called when one starts or ends: there may be room then.

    `refused` gets the problem when the gateway no longer lets this bridge in.
    """

    def __init__(
        self,
        parts: BridgeParts,
        intake: Intake,
        limit: int,
        *,
        changed: Callable[[], None],
        refused: Callable[[GatewayProblem], None],
    ):
        self._parts = parts
        self._intake = intake
        self._limit = limit
        self._changed = changed
        self._refused = refused
        self._slots: dict[str, Slot] = {}
        self._attempts: set[asyncio.Task[None]] = set()
        self._places: BoundedDict[str, Path] = BoundedDict(MOST_THREADS)
        self._open = True
        self.ended_turns = 0

    @property
    def running(self) -> int:
        """How many turns are under way."""
        return len(self._slots)

    def cancel(self, turn_id: str) -> None:
        """The sender cancelled the turn: stop it if it is under way here."""
        slot = self._slots.get(turn_id)
        if slot is not None:
            self._parts.log.step("cancelled by its sender", turn=turn_id)
            slot.stop.stop("cancelled")

    async def fill(self) -> None:
        """Start what may start now."""
        while self._open and len(self._slots) < self._limit:
            working = [Working(slot.thread_id, slot.directory) for slot in self._slots.values()]
            ticket = self._intake.next(working, self._parts.outside.clock())
            if ticket is None:
                return
            if self._parts.spool.has(ticket.turn_id):
                # What it ended with is on the disk: it is delivered, not run again.
                self._parts.delivery.kick(ticket.turn_id)
                self._defer(ticket)
            elif self._slots and not ticket.looked:
                await self._look(ticket)
            elif ticket.directory is not None and _in_use_elsewhere(ticket.directory):
                self._defer(ticket)
            else:
                self._begin(ticket)

    def next_due(self) -> float | None:
        """Seconds until a turn that waits for its time may be tried."""
        return self._intake.next_due(self._parts.outside.clock())

    async def idle(self) -> None:
        """Wait until one of the attempts under way has ended; at once when there is none."""
        if self._attempts:
            await asyncio.wait(self._attempts, return_when=asyncio.FIRST_COMPLETED)

    async def close(self, limit_s: float) -> None:
        """Start nothing more, stop what runs, and wait for it at most `limit_s` seconds."""
        self._open = False
        for slot in self._slots.values():
            slot.stop.stop("shutdown")
        if self._attempts:
            await asyncio.wait(self._attempts, timeout=limit_s)
        if self._attempts:
            self._parts.log.warn("some turns did not end in time", turns=" ".join(self._slots))
            for task in self._attempts:
                task.cancel()
            await asyncio.wait(self._attempts, timeout=self._parts.pace.last_wait)

    async def _look(self, ticket: Ticket) -> None:
        """Find out where a turn would run before it is claimed, as far as that can be told."""
        ticket.looked = True
        try:
            if ticket.workspace is None or ticket.thread_id is None:
                turn = await self._parts.gateway.get_turn(ticket.turn_id)
                ticket.workspace, ticket.thread_id = turn.workspace, turn.thread_id
        except GatewayError:
            return
        known = self._places.get(ticket.thread_id)
        if ticket.workspace is None and known is not None:
            ticket.directory = known
            return
        try:
            ticket.directory = self._parts.workspaces.resolve(ticket.workspace).path
        except WorkspaceError:
            # It gets a failure reply, for which no directory is needed.
            return

    def _begin(self, ticket: Ticket) -> None:
        self._intake.take(ticket)
        slot = Slot(ticket.turn_id, ticket.thread_id, ticket.directory)
        self._slots[ticket.turn_id] = slot
        task = asyncio.create_task(self._attempt(ticket, slot))
        self._attempts.add(task)
        task.add_done_callback(self._attempts.discard)

    async def _attempt(self, ticket: Ticket, slot: Slot) -> None:
        result: Result = "again"
        try:
            result = await work(self._parts, slot, self._changed)
        except GatewayProblem as problem:
            self._refused(problem)
        except Exception as error:  # noqa: BLE001 - the turn's lease runs out, and it is tried again
            self._parts.log.warn("an attempt broke", turn=slot.turn_id, error=f"{type(error).__name__}: {error}")
            result = "gone"
        finally:
            del self._slots[slot.turn_id]
            if slot.thread_id is not None and slot.directory is not None:
                self._places[slot.thread_id] = slot.directory
            self._after(result, ticket, slot)
            self._changed()

    def _after(self, result: Result, ticket: Ticket, slot: Slot) -> None:
        match result:
            case "over":
                self.ended_turns += 1
                self._intake.settle(slot.turn_id, final=True)
            case "kept":
                self.ended_turns += 1
                self._intake.settle(slot.turn_id, final=False)
                self._parts.delivery.kick()
            case "gone":
                self._intake.settle(slot.turn_id, final=False)
            case "waits":
                self._intake.put_back(ticket, directory=slot.directory)
            case "elsewhere":
                self._intake.put_back(ticket, directory=slot.directory, due=self._later())
            case "again":
                self._intake.put_back(ticket, due=self._later())

    def _defer(self, ticket: Ticket) -> None:
        self._intake.take(ticket)
        self._intake.put_back(ticket, due=self._later())

    def _later(self) -> float:
        return self._parts.outside.clock() + self._parts.pace.reclaim


def _in_use_elsewhere(directory: Path) -> bool:
    lock = lock_directory(directory)
    if lock is None:
        return True
    lock.release()
    return False
