"""The bridge's loop, and the place that knows the order of things.

    subscribe ─► spool first ─► list what is queued ─► for each turn that may run now:
        claim ─► workspace ─► tier ─► session, attachments, prompt ─► start ─► run ─► ending ─► SPOOL ─► deliver
    beside it: renewals, cancels, progress, heartbeats, self-checks

Law: every turn that was claimed ends in a reply, a finish or a release, or its lease runs out; whatever is killed.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Literal

import msgspec

from . import attempt_log
from .bridge_log import Log
from .bridge_parts import Outside, assemble
from .dispatch import Dispatch
from .event_parser import EventTooLargeError, ServerEvent
from .gateway_errors import GatewayError, GatewayProblem
from .heartbeat import HeartbeatLoop, heartbeat
from .intake import Intake
from .own_leases import hand_back_own
from .pace import Pace
from .settings import Settings
from .sse_client import StreamRefusedError
from .turn import Runner
from .turn_files import remove_folder
from .turn_gateway import TurnGateway
from .wire import Heartbeat

__all__ = ["Driver", "ExitCode"]

# 0: ended as asked. 1: something is left that could not be done. 3: the gateway does not let this bridge in.
ExitCode = Literal[0, 1, 3]


class Driver:
    """Runs the turns of one agent against one gateway. The state folder is made, and locked, by the caller."""

    def __init__(
        self,
        settings: Settings,
        runner: Runner,
        gateway: TurnGateway,
        *,
        bridge_id: str,
        version: str,
        log: Log,
        outside: Outside,
        pace: Pace | None = None,
    ):
        """Raises `WorkspaceSettingsError` for workspaces that can't be used, `OSError` of the state folder."""
        self._settings = settings
        self._runner = runner
        self._gateway = gateway
        self._version = version
        self._log = log
        self._pace = pace or Pace()
        self._wake = asyncio.Event()
        self._ended = asyncio.Event()
        self._contact = asyncio.Event()
        self._connected = False
        self._known = False
        self._took_stock = False
        self._exit: ExitCode = 0
        self._intake = Intake()
        self._parts = parts = assemble(
            settings,
            runner,
            gateway,
            bridge_id=bridge_id,
            log=log,
            outside=outside,
            pace=self._pace,
            changed=self._change,
            refused=self._refuse,
        )
        limit = settings.parallel_turns or runner.parallel_turns
        self._dispatch = Dispatch(parts, self._intake, limit, changed=self._change, refused=self._refuse)
        self._heartbeat = HeartbeatLoop(gateway, self._report, self._pace, log, refused=self._refuse)

    # -- from outside --

    def stop(self) -> None:
        """End: claim nothing more, stop what runs and hand it back. `run` returns after that."""
        self._ended.set()

    async def run(self, *, once: bool = False) -> ExitCode:
        """Work until `stop`; with `once`, until nothing that is queued can be taken up any more."""
        background = [
            asyncio.create_task(task)
            for task in (self._parts.delivery.run(), self._heartbeat.run(), self._check(at_once=once))
        ]
        try:
            cleaning = asyncio.create_task(self._clean_up())
            work = self._once(cleaning) if once else self._serve(cleaning)
            await self._until_ended(work, background)
        finally:
            await self._dispatch.close(self._pace.shutdown)
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            self._parts.taken.close()
        waiting = len(self._parts.spool.pending())
        if waiting:
            self._log.warn("outcomes are kept on disk for the next start", count=waiting)
        return 1 if once and waiting and not self._exit else self._exit

    async def _until_ended(self, work: Coroutine[None, None, None], background: list[asyncio.Task[None]]) -> None:
        """Until `work` or one of the `background` tasks ends, or `stop` is called. An error of any is raised."""
        main = asyncio.create_task(work)
        ended = asyncio.create_task(self._ended.wait())
        try:
            done, _ = await asyncio.wait({main, ended, *background}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            main.cancel()
            ended.cancel()
            await asyncio.gather(main, ended, return_exceptions=True)

    # -- what goes on --

    async def _serve(self, cleaning: asyncio.Task[None]) -> None:
        listening = asyncio.create_task(self._listen())
        try:
            await cleaning
            while True:
                if self._connected and self._intake.catchup.needs_list:
                    await self._catch_up()
                if self._known:
                    await self._dispatch.fill()
                await self._next_change(listening)
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def _check(self, *, at_once: bool) -> None:
        """The self-checks; the first one leaves the start to the subscription, and comes after it or with a turn."""
        if not at_once:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pace.first_contact):
                    await self._contact.wait()
        await self._parts.readiness.run()

    async def _next_change(self, listening: asyncio.Task[None]) -> None:
        """Wait until there may be something to do. The end of the stream's task is an error, and raised."""
        due = self._dispatch.next_due()
        if self._connected and self._intake.catchup.needs_list:
            due = min(self._pace.reclaim, due if due is not None else self._pace.reclaim)
        waking = asyncio.create_task(self._wake.wait())
        try:
            await asyncio.wait({waking, listening}, timeout=due, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waking.cancel()
        if listening.done():
            listening.result()
        self._wake.clear()

    async def _once(self, cleaning: asyncio.Task[None]) -> None:
        await cleaning
        while True:
            ended_before = self._dispatch.ended_turns
            if not await self._catch_up():
                self._exit = self._exit or 1
                return
            await self._dispatch.fill()
            while self._dispatch.running:
                await self._dispatch.idle()
                await self._dispatch.fill()
            if self._dispatch.ended_turns == ended_before:
                break
            self._intake.catchup.lost()
        await self._parts.delivery.flush()
        if self._intake.waiting:
            self._exit = 1

    async def _clean_up(self) -> None:
        """What a bridge that was killed left behind: processes of its turns, and their folders."""
        parts = self._parts
        await parts.outside.sweep_bridge(parts.bridge_id)
        for bad in parts.spool.set_aside:
            self._log.warn("a kept outcome can't be read, it was moved aside", file=bad.path, why=bad.why)
        kept = {entry.turn_id for entry in parts.spool.pending()}
        for folder in parts.state.turns.iterdir():
            if folder.name not in kept:
                remove_folder(folder)
        attempt_log.prune(parts.state.attempts)

    async def _catch_up(self) -> bool:
        """Deliver what is kept, then take in what is queued; false when the gateway did not let that happen now."""
        try:
            if not self._known:
                await self._introduce()
            await self._parts.delivery.flush()
            if not self._took_stock:
                await hand_back_own(self._parts)
                self._took_stock = True
            listing = self._intake.catchup.begin_list()
            after: str | None = None
            while True:
                page = await self._gateway.list_turns(states=("queued",), after=after)
                last = page.next is None or page.next == after
                self._intake.page(listing, page.items, last=last)
                if last:
                    return True
                after = page.next
        except GatewayError as error:
            self._log.warn("what is queued could not be listed", why=error)
            if isinstance(error, GatewayProblem) and error.status in (401, 403):
                self._refuse(error)
            return False

    async def _introduce(self) -> None:
        """Find out as whom the gateway knows this bridge: a wrong name would make it answer itself (nanobot#3215)."""
        who = await self._gateway.whoami()
        name = self._settings.agent_name
        if who.kind != "agent" or who.name != name:
            mend = f"set AGENTMAIL_AGENT_NAME={who.name}" if who.kind == "agent" else "use an agent's key"
            told = (
                f"the key belongs to the {who.kind} {who.name}, this bridge is {name}: {mend}, or use the key of {name}"
            )
            raise GatewayProblem(403, "forbidden", "", told)
        self._known = True

    async def _listen(self) -> None:
        while True:
            try:
                async with self._gateway.event_stream(
                    self._intake.catchup.cursor, connected=self._on_connect, disconnected=self._on_disconnect
                ) as events:
                    async for event in events:
                        self._on_event(event)
            except StreamRefusedError as error:
                if error.status in (401, 403):
                    self._refuse(GatewayProblem(error.status, "unauthorized", "", str(error)))
                self._on_disconnect(str(error), self._pace.reclaim)
            except EventTooLargeError as error:
                self._on_disconnect(str(error), self._pace.reclaim)
            await asyncio.sleep(self._pace.reclaim)

    def _on_connect(self) -> None:
        self._log.step("subscribed", gateway=self._gateway.url)
        self._connected = True
        self._contact.set()
        self._intake.catchup.lost()
        self._parts.delivery.kick()
        self._heartbeat.changed()
        self._wake.set()

    def _on_disconnect(self, why: str, next_try_s: float) -> None:
        self._connected = False
        self._contact.set()
        self._log.warn("not connected", why=why, next_try_s=round(next_try_s, 1))

    def _on_event(self, event: ServerEvent) -> None:
        try:
            data = msgspec.json.decode(event.data, type=dict[str, object])
        except (msgspec.MsgspecError, UnicodeEncodeError):
            self._log.warn("an event can't be read, ignoring it", type=event.event)
            return
        if not self._intake.event(event.id, event.event, data):
            return
        turn_id = data.get("turn_id")
        if event.event == "turn_cancel" and isinstance(turn_id, str):
            self._dispatch.cancel(turn_id)
        answered = data.get("id")
        if event.event == "permission_decision" and isinstance(answered, str):
            self._parts.desk.decided(answered)
        self._wake.set()

    # -- what others report --

    def _change(self) -> None:
        self._heartbeat.changed()
        self._wake.set()

    def _report(self) -> Heartbeat:
        return heartbeat(
            self._parts.readiness.current,
            version=self._version,
            max_mode=self._settings.max_mode,
            can_ask=self._runner.can_ask,
            busy=self._dispatch.running,
            queue=self._intake.waiting,
        )

    def _refuse(self, problem: GatewayProblem) -> None:
        """The gateway does not let this bridge in: nothing can be delivered, a supervisor starts it again."""
        if self._exit != 3:
            self._exit = 3
            self._log.warn(
                "the gateway does not accept this bridge",
                why=problem,
                mend=f"check AGENTMAIL_AGENT_KEY, or: agentmail agent rotate {self._settings.agent_name}",
            )
        self._ended.set()
