"""Getting what turns ended with from the disk to the gateway: once, in order, and never lost.

    answered                           off the disk
    unreachable, 5xx, 429, no gateway  later, with pauses that grow; also after each reconnect
    lease_stale, turn queued again     the turn is claimed anew for what is already done, never run again for it
    lease_stale, another works on it   given up: that attempt's ending counts
    turn_final, not_found              given up: the turn has ended some other way; a dead one waits for its retry
    what the gateway won't take        sent smaller, then as a failure, then given up
    401, 403                           kept; the bridge ends

(openclaw#29106: a crash between send and acknowledgement must not send again. The relay key sees to that.)
"""

import asyncio
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import assert_never

from msgspec.structs import replace

from . import attempt_log
from .bounded import clip
from .bridge_log import Log
from .delivery_verdict import LONGEST_BODY, Verdict, judge, reduced
from .explicit_sends import Told, told
from .gateway_errors import GatewayProblem, GatewayUnreachable
from .pace import Pace
from .spool import Body, Entry, Spool
from .turn_files import TurnFolder, media_type, open_plain, remove_folder
from .turn_gateway import TurnGateway
from .wire import FINAL_STATES, FinishBody, ReleaseBody, ReplyBody, TurnState

__all__ = ["Delivery"]

MOST_STEPS = 6


class Delivery:
    """Delivers spool entries. `turns` holds the turns' folders, `attempts` their attempt logs.

    `refused` gets the problem when the gateway no longer knows this bridge. Only one delivery per turn goes on at once.
    """

    def __init__(
        self,
        gateway: TurnGateway,
        spool: Spool,
        pace: Pace,
        log: Log,
        *,
        turns: Path,
        attempts: Path,
        refused: Callable[[GatewayProblem], None],
    ):
        self._gateway = gateway
        self._spool = spool
        self._pace = pace
        self._log = log
        self._turns = turns
        self._attempts = attempts
        self._refused = refused
        self._going_on: set[str] = set()
        self._asleep: set[str] = set()
        self._kick = asyncio.Event()

    def kick(self, turn_id: str | None = None) -> None:
        """Try what waits again, soon; also the entry of the dead turn `turn_id`."""
        if turn_id is not None:
            self._asleep.discard(turn_id)
        self._kick.set()

    async def run(self) -> None:
        """Deliver what waits after each kick, until cancelled."""
        first, longest = self._pace.redeliver
        while True:
            await self._kick.wait()
            self._kick.clear()
            pause = first
            while not await self.flush():
                await asyncio.sleep(pause)
                pause = min(pause * 2, longest)

    async def flush(self) -> bool:
        """Try every entry that waits, oldest first; false when one has to be tried again."""
        done = True
        for entry in self._spool.pending():
            if entry.turn_id in self._asleep or entry.turn_id in self._going_on:
                continue
            if not await self.deliver(entry) and entry.turn_id not in self._asleep:
                done = False
        return done

    async def deliver(self, entry: Entry) -> bool:
        """Try to deliver `entry`; true when it is off the disk, whatever became of it."""
        if entry.turn_id in self._going_on:
            return False
        self._going_on.add(entry.turn_id)
        try:
            return await self._deliver(entry)
        except OSError as error:
            self._log.warn(
                "the outcome is kept, the disk does not take what became of it", turn=entry.turn_id, why=error
            )
            return False
        finally:
            self._going_on.discard(entry.turn_id)

    async def _deliver(self, entry: Entry) -> bool:
        for _ in range(MOST_STEPS):
            try:
                entry = await self._with_files(entry)
                ended = await self._send(entry)
            except GatewayUnreachable as error:
                self._log.warn("the outcome is kept, the gateway can't be reached", turn=entry.turn_id, why=error)
                return False
            except GatewayProblem as problem:
                after = await self._after(problem, entry)
                if isinstance(after, bool):
                    return after
                entry = after
                continue
            self._log.step(ended.line, turn=entry.turn_id)
            self._off_the_disk(entry)
            return True
        return False

    async def _send(self, entry: Entry) -> Told:
        """One request, and what it did."""
        match entry.body:
            case ReplyBody():
                answer = await self._gateway.reply(entry.turn_id, entry.body, entry.key)
                return told(answer.state, answer.mail.id if answer.mail is not None else None)
            case FinishBody():
                return told((await self._gateway.finish(entry.turn_id, entry.body)).state)
            case ReleaseBody():
                await self._gateway.release(entry.turn_id, entry.body)
                return told("queued")
            case _:
                assert_never(entry.body)

    async def _after(self, problem: GatewayProblem, entry: Entry) -> bool | Entry:
        """What follows from a refusal: the entry to try next, or whether this one is off the disk."""
        verdict: Verdict = judge(problem)
        match verdict:
            case "later":
                self._log.warn("the outcome is kept, the gateway did not take it now", turn=entry.turn_id, why=problem)
                return False
            case "refused":
                self._refused(problem)
                return False
            case "over":
                return await self._over(entry, problem)
            case "stale":
                return await self._stale(entry, problem)
            case "reduce":
                smaller = reduced(entry.body, problem) if isinstance(entry.body, ReplyBody) else None
                if smaller is None:
                    return self._give_up(entry, problem)
                self._log.warn("the answer was refused, sending less", turn=entry.turn_id, why=problem)
                return self._updated(entry, smaller)
            case _:
                assert_never(verdict)

    async def _state(self, turn_id: str) -> TurnState | None:
        """The turn's state now; None when there is no telling."""
        try:
            return (await self._gateway.get_turn(turn_id)).state
        except GatewayUnreachable:
            return None
        except GatewayProblem as problem:
            return "cancelled" if judge(problem) == "over" else None

    async def _over(self, entry: Entry, problem: GatewayProblem) -> bool:
        state = await self._state(entry.turn_id)
        if state is None:
            return False
        if state == "dead" and entry.kind != "release":
            self._log.warn("the turn is dead, its outcome waits for a retry", turn=entry.turn_id)
            self._asleep.add(entry.turn_id)
            return False
        return self._give_up(entry, problem)

    async def _stale(self, entry: Entry, problem: GatewayProblem) -> bool | Entry:
        if entry.kind == "release":
            return self._give_up(entry, problem)
        state = await self._state(entry.turn_id)
        if state is None:
            return False
        if state in FINAL_STATES:
            return await self._over(entry, problem)
        if state != "queued":
            return self._give_up(entry, problem)
        try:
            lease = (await self._gateway.claim(entry.turn_id)).lease
        except GatewayProblem as refusal:
            self._log.warn("the outcome is kept, its turn can't be claimed now", turn=entry.turn_id, why=refusal)
            return False
        except GatewayUnreachable:
            return False
        return self._leased_anew(entry, lease)

    def _leased_anew(self, entry: Entry, lease: int) -> Entry:
        """`entry` under a newer lease of its turn: the new one is on the disk before the old one is gone."""
        body = replace(entry.body, lease=lease)
        try:
            newer = self._spool.put(entry.turn_id, entry.attempt, body, entry.files)
        except OSError as error:
            return self._in_memory(entry, body, entry.files, error)
        if newer.name != entry.name:
            self._spool.remove(entry)
        return newer

    def _updated(self, entry: Entry, body: ReplyBody) -> Entry:
        """`entry` with another body and no files to upload any more."""
        try:
            return self._spool.update(entry, body)
        except OSError as error:
            return self._in_memory(entry, body, (), error)

    def _in_memory(self, entry: Entry, body: Body, files: tuple[str, ...], error: OSError) -> Entry:
        """A full disk holds nothing up: what it has of `entry` stays until this is sent, under the same key."""
        self._log.warn("the disk does not take a change of an outcome, sending it", turn=entry.turn_id, why=error)
        return dataclasses.replace(entry, body=body, files=files)

    def _give_up(self, entry: Entry, problem: GatewayProblem) -> bool:
        self._log.warn("the outcome is given up", turn=entry.turn_id, kind=entry.kind, code=problem.code, why=problem)
        self._off_the_disk(entry)
        return True

    def _off_the_disk(self, entry: Entry) -> None:
        self._spool.remove(entry)
        self._asleep.discard(entry.turn_id)
        if self._spool.has(entry.turn_id):
            return
        remove_folder(self._turns / entry.turn_id)
        if entry.kind != "release":
            attempt_log.forget(self._attempts / entry.turn_id)

    async def _with_files(self, entry: Entry) -> Entry:
        """The entry with its files at the gateway and their ids in its body: on disk first, so that a reply that is
        sent again is the same reply."""
        body = entry.body
        if not isinstance(body, ReplyBody):
            return entry
        too_long = len(body.body.encode()) > LONGEST_BODY
        if not entry.files and not too_long:
            return entry
        ids = list(body.attachments)
        text = body.body
        if too_long:
            whole = await self._gateway.put_attachment("answer.md", "text/markdown", text.encode())
            ids.append(whole.id)
            text = f"{clip(text, LONGEST_BODY, 'middle')}\n\nThe whole answer is attached as answer.md."
        left: list[str] = []
        for name in entry.files:
            try:
                with open_plain(TurnFolder(self._turns / entry.turn_id), name) as file:
                    ids.append((await self._gateway.put_attachment(name, media_type(name), file)).id)
            except OSError as error:
                left.append(f"{name} ({error.strerror or error})")
            except GatewayProblem as problem:
                if judge(problem) != "reduce":
                    raise
                left.append(f"{name} ({problem})")
        if left:
            text = f"{text}\n\nNot attached: {', '.join(left)}."
        return self._updated(entry, replace(body, body=text, attachments=tuple(ids)))
