"""What a bridge that was killed still holds: its own leases, found again by the bridge that takes its place.

Without this a mail would wait until the lease runs out. That a lease is this folder's own is known from its memory of
taken leases; that nobody works under it any more, from the lock on the folder and the sweep at start.
"""

from . import attempt_log
from .bridge_parts import BridgeParts
from .gateway_errors import GatewayProblem
from .wire import ReleaseBody

__all__ = ["hand_back_own"]

MOST_FREE_ATTEMPTS = 2
REASON = "the bridge was ended in the middle of it and started again"


async def hand_back_own(parts: BridgeParts) -> None:
    """Release every turn that this bridge's predecessor left leased, unless its outcome waits on the disk.

    A released attempt doesn't count at the gateway. A turn that ends the whole bridge each time must not go on so for
    ever: from the third time on its lease runs out, is counted, and in the end it is a dead letter. Raises
    `GatewayError` when the list doesn't come.
    """
    after: str | None = None
    while True:
        page = await parts.gateway.list_turns(states=("leased", "running"), after=after)
        for turn in page.items:
            mine = turn.agent == parts.agent_name and parts.taken.taken(turn.id, turn.attempt, turn.lease)
            if not mine or parts.spool.has(turn.id):
                continue
            begun = attempt_log.attempts_begun(parts.state.attempts / turn.id)
            if begun > MOST_FREE_ATTEMPTS:
                parts.log.warn("a turn ended this bridge before, it waits for its lease", turn=turn.id, times=begun)
                continue
            try:
                await parts.gateway.release(turn.id, ReleaseBody(turn.lease, REASON))
            except GatewayProblem as problem:
                parts.log.warn("an own lease could not be handed back", turn=turn.id, why=problem)
            else:
                parts.log.step("handed back what was left in the middle", turn=turn.id)
        if page.next is None or page.next == after:
            return
        after = page.next
