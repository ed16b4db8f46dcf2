"""Saying how a claimed turn ended: on disk first, then to the gateway."""

from typing import Literal

from .bridge_parts import BridgeParts
from .gateway_errors import GatewayError
from .relay_key import reply_key
from .turn_ending import Conclusion
from .turn_files import remove_folder
from .wire import Claim, FinishBody, ReleaseBody, ReplyBody

__all__ = ["Result", "hand_back", "settle"]

# over: the turn has ended. kept: its outcome waits on the disk. waits: its directory is in use here. elsewhere: another
# bridge uses it. again: try the claim later. gone: it is not this bridge's now; the gateway says when it is.
Result = Literal["over", "kept", "waits", "elsewhere", "again", "gone"]


async def settle(parts: BridgeParts, claim: Claim, conclusion: Conclusion, files: tuple[str, ...] = ()) -> Result:
    """Keep the conclusion on disk and deliver it; `files` are names in the turn's outbox that go with it.

    A disk that can't keep it is no reason to say nothing: it is sent without.
    """
    if conclusion is None:
        remove_folder(parts.state.turns / claim.turn_id)
        return "gone"
    ended: Result = "gone" if isinstance(conclusion, ReleaseBody) else "over"
    try:
        entry = parts.spool.put(claim.turn_id, claim.attempt, conclusion, files)
    except OSError as error:
        parts.log.warn("the outcome can't be kept on disk, sending it at once", turn=claim.turn_id, why=error)
        return ended if await _send_unkept(parts, claim, conclusion) else "again"
    return ended if await parts.delivery.deliver(entry) else "kept"


async def hand_back(parts: BridgeParts, claim: Claim, reason: str, result: Result) -> Result:
    """Release a turn of which nothing ran; if that fails its lease runs out. Returns `result`."""
    try:
        await parts.gateway.release(claim.turn_id, ReleaseBody(claim.lease, reason))
    except GatewayError as error:
        parts.log.warn("the turn could not be handed back", turn=claim.turn_id, why=error)
    return result


async def _send_unkept(parts: BridgeParts, claim: Claim, conclusion: ReplyBody | FinishBody | ReleaseBody) -> bool:
    try:
        match conclusion:
            case ReplyBody():
                await parts.gateway.reply(claim.turn_id, conclusion, reply_key(claim.turn_id))
            case FinishBody():
                await parts.gateway.finish(claim.turn_id, conclusion)
            case ReleaseBody():
                await parts.gateway.release(claim.turn_id, conclusion)
    except GatewayError as error:
        parts.log.warn("the outcome is lost, the turn will be tried again", turn=claim.turn_id, why=error)
        return False
    return True
