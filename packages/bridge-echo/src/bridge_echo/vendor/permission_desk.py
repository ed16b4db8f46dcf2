"""Where a running turn's permission questions go: remembered answers first, then a person, and silence is no."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from .bridge_log import Log
from .gateway_errors import GatewayError
from .permission_grants import Ask, GrantStore, grant
from .plain_text import one_line
from .turn import Decision, Question
from .turn_gateway import TurnGateway
from .wire import PermissionAsk, PermissionDecision, PermissionRequest, Tier

__all__ = ["Asker", "PermissionDesk"]


@dataclass(frozen=True, slots=True)
class Asker:
    """The turn that asks: its lease, its thread and its tier."""

    turn_id: str
    lease: int
    thread_id: str
    tier: Tier


class PermissionDesk:
    """Answers the questions of all turns of one bridge. `agent` is its address.

    `wait_s`: longest wait for a person. `look_s`: how often the gateway is asked, in case its event does not come.
    `epoch` gives seconds since the epoch.
    """

    def __init__(
        self,
        gateway: TurnGateway,
        grants: GrantStore,
        *,
        agent: str,
        wait_s: float,
        look_s: float,
        epoch: Callable[[], float],
        log: Log,
    ):
        self._gateway = gateway
        self._grants = grants
        self._agent = agent
        self._wait_s = wait_s
        self._look_s = look_s
        self._epoch = epoch
        self._log = log
        self._waiting: dict[str, asyncio.Event] = {}

    def decided(self, request_id: str) -> None:
        """The gateway says that the question with this id was answered."""
        waiting = self._waiting.get(request_id)
        if waiting is not None:
            waiting.set()

    async def ask(self, asker: Asker, question: Question) -> Decision:
        """A decision on `question`: a remembered one, a person's, or no when none comes in time. Never raises."""
        ask = Ask(self._agent, question.tool, question.scope, asker.thread_id, asker.tier, question.needs)
        known = self._grants.find(ask, self._epoch())
        if known is not None:
            where = "always" if known.thread_id is None else "in this thread"
            return Decision(True, f"{known.granted_by} allowed this {where}")
        body = PermissionAsk(
            asker.turn_id, asker.lease, question.tool, question.summary, question.detail, question.scope
        )
        try:
            asked = await self._gateway.ask_permission(body)
        except GatewayError as error:
            self._log.warn("a permission question could not be put to a person", turn=asker.turn_id, why=error)
            return Decision(False, f"nobody could be asked: {one_line(str(error))}")
        self._log.step("asks a person", turn=asker.turn_id, tool=question.tool, question=asked.id)
        answered = await self._answer(asked)
        if answered is None or answered.decision is None:
            return Decision(False, f"nobody answered within {_span(self._wait_s)}")
        by = answered.decided_by
        if answered.decision == "reject":
            return Decision(False, f"{by} said no" if by is not None else "nobody answered in time")
        self._remember(ask, answered.decision, by or "a person")
        return Decision(True, f"{by or 'a person'} allowed it")

    async def _answer(self, asked: PermissionRequest) -> PermissionRequest | None:
        """The question with its answer; None when the time is over."""
        told = self._waiting.setdefault(asked.id, asyncio.Event())
        try:
            async with asyncio.timeout(self._wait_s):
                while True:
                    current = await self._look(asked.id)
                    if current is not None and current.decision is not None:
                        return current
                    told.clear()
                    await _within(told, self._look_s)
        except TimeoutError:
            return None
        finally:
            del self._waiting[asked.id]

    async def _look(self, request_id: str) -> PermissionRequest | None:
        try:
            return await self._gateway.get_permission(request_id)
        except GatewayError as error:
            self._log.warn("the answer to a permission question could not be read", question=request_id, why=error)
            return None

    def _remember(self, ask: Ask, decision: PermissionDecision, by: str) -> None:
        now = self._epoch()
        try:
            made = grant(ask, decision, by=by, now=now)
            if made is not None:
                self._grants.add(made, now)
        except (OSError, ValueError) as error:
            self._log.warn("a permission could not be remembered, it will be asked for again", why=error)


async def _within(event: asyncio.Event, seconds: float) -> None:
    waiting = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({waiting}, timeout=seconds)
    finally:
        waiting.cancel()


def _span(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:g} seconds"
