"""Keeping a turn's lease while the turn runs, and learning that it is over."""

import asyncio

from .bridge_log import Log
from .gateway_errors import GatewayError, GatewayProblem
from .pace import Pace
from .turn import StopSignal
from .turn_gateway import TurnGateway

__all__ = ["LEASE_LOST", "keep_lease"]

LEASE_LOST = frozenset({"lease_stale", "turn_final", "not_found", "gone"})


async def keep_lease(gateway: TurnGateway, turn_id: str, lease: int, stop: StopSignal, pace: Pace, log: Log) -> None:
    """Renew the lease until cancelled; stop the turn when it was lost, or when its sender cancelled it.

    A gateway that can't be reached is no reason to stop: a result that comes after the lease ran out is taken as long
    as nobody else got a newer one, and then the next renewal says so.
    """
    pause = pace.renew
    while True:
        await asyncio.sleep(pause)
        try:
            answer = await gateway.renew(turn_id, lease)
        except GatewayError as error:
            if isinstance(error, GatewayProblem) and error.code in LEASE_LOST:
                log.warn("the lease is lost, stopping the turn", turn=turn_id, lease=lease, why=error)
                stop.stop("lease_lost")
                return
            log.warn("the lease could not be renewed, trying again", turn=turn_id, lease=lease, why=error)
            pause = pace.renew_again
            continue
        pause = pace.renew
        if answer.cancel_requested:
            stop.stop("cancelled")
