"""Telling the gateway that the bridge is there, what it can enforce, and how busy it is."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from .bridge_log import Log
from .gateway_errors import GatewayError, GatewayProblem
from .pace import Pace
from .turn import Finding, Readiness
from .turn_gateway import TurnGateway
from .wire import Heartbeat, Tier

__all__ = ["HeartbeatLoop", "heartbeat"]

MOST_LACKS = 10


def heartbeat(
    readiness: Readiness | None, *, version: str, max_mode: Tier, can_ask: bool, busy: int, queue: int
) -> Heartbeat:
    """The report: before the first self-check is done the bridge is there, and not ready yet."""
    if readiness is None:
        return Heartbeat(version, None, {}, max_mode, can_ask, busy, queue, False, ("the first self-check is running",))
    lacks = tuple(_lack(finding) for finding in readiness.findings if not finding.ok)[:MOST_LACKS]
    return Heartbeat(
        bridge_version=version,
        agent_version=readiness.agent_version,
        mode_enforcement={str(tier): seen for tier, seen in readiness.enforcement.items()},
        max_mode=max_mode,
        can_ask=can_ask,
        busy=busy,
        queue=queue,
        ready=readiness.ready,
        lacks=() if readiness.ready else lacks,
    )


def _lack(finding: Finding) -> str:
    told = f"{finding.what}: {finding.found}"
    return f"{told} ({finding.mend})" if finding.mend else told


class HeartbeatLoop:
    """Sends what `report` gives: at once, then regularly, and soon after `changed`. `refused` gets a 401 or 403."""

    def __init__(
        self,
        gateway: TurnGateway,
        report: Callable[[], Heartbeat],
        pace: Pace,
        log: Log,
        *,
        refused: Callable[[GatewayProblem], None],
    ):
        self._gateway = gateway
        self._report = report
        self._pace = pace
        self._log = log
        self._refused = refused
        self._change = asyncio.Event()

    def changed(self) -> None:
        """Something in the report is different now."""
        self._change.set()

    async def run(self) -> None:
        """Send until cancelled."""
        quiet = False
        while True:
            self._change.clear()
            try:
                await self._gateway.heartbeat(self._report())
                quiet = False
            except GatewayError as error:
                if isinstance(error, GatewayProblem) and error.status in (401, 403):
                    self._refused(error)
                elif not quiet:
                    self._log.warn("a heartbeat was not taken", why=error)
                quiet = True
            await asyncio.sleep(self._pace.heartbeat_soon)
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, self._pace.heartbeat - self._pace.heartbeat_soon)):
                    await self._change.wait()
