"""Saying how a claimed turn ended: on disk first, then to the gateway."""

import asyncio
from typing import Literal, assert_never

from msgspec.structs import replace

from .bridge_parts import BridgeParts
from .delivery_verdict import judge, reduced
from .gateway_errors import GatewayError, GatewayProblem, GatewayUnreachable
from .relay_key import reply_key
from .spool import Body
from .turn_ending import Conclusion
from .turn_files import remove_folder
from .wire import Claim, FinishBody, ReleaseBody, ReplyBody

__all__ = ["Result", "hand_back", "settle"]

# over: the turn has ended. kept: its outcome waits on the disk. waits: its directory is in use here. elsewhere: another
# bridge uses it. again: try the claim later. gone: it is not this bridge's now; the gateway says when it is.
Result = Literal["over", "kept", "waits", "elsewhere", "again", "gone"]


async def settle(parts: BridgeParts, claim: Claim, conclusion: Conclusion, files: tuple[str, ...] = ()) -> Result:
    """Keep the conclusion on disk and deliver it; `files` are names in the turn's outbox that go with it.

    A disk that can't keep it is no reason to say nothing, nor to do the turn again: it is sent without, as often as it
    takes, while the lease is kept. Raises `GatewayProblem` 401 or 403 then.
    """
    if conclusion is None:
        remove_folder(parts.state.turns / claim.turn_id)
        return "gone"
    ended: Result = "gone" if isinstance(conclusion, ReleaseBody) else "over"
    pause, longest = parts.pace.redeliver
    while True:
        try:
            entry = parts.spool.put(claim.turn_id, claim.attempt, conclusion, files)
        except OSError as error:
            parts.log.warn("the outcome can't be kept on disk, sending it at once", turn=claim.turn_id, why=error)
        else:
            return ended if await parts.delivery.deliver(entry) else "kept"
        sent = await _send_unkept(parts, claim, _without(conclusion, files))
        if sent != "later":
            remove_folder(parts.state.turns / claim.turn_id)
            return ended if sent == "sent" else "gone"
        await asyncio.sleep(pause)
        pause = min(pause * 2, longest)


async def hand_back(parts: BridgeParts, claim: Claim, reason: str, result: Result) -> Result:
    """Release a turn of which nothing ran; if that fails its lease runs out. Returns `result`."""
    try:
        await parts.gateway.release(claim.turn_id, ReleaseBody(claim.lease, reason))
    except GatewayError as error:
        parts.log.warn("the turn could not be handed back", turn=claim.turn_id, why=error)
    return result


def _without(conclusion: Body, files: tuple[str, ...]) -> Body:
    """The conclusion for a disk that has no room: a file could be sent twice, or never, so none is."""
    if not files or not isinstance(conclusion, ReplyBody):
        return conclusion
    left = f"Not attached, since the disk of the bridge is full: {', '.join(files)}."
    return replace(conclusion, body=f"{conclusion.body}\n\n{left}")


async def _send_unkept(parts: BridgeParts, claim: Claim, conclusion: Body) -> Literal["sent", "later", "given up"]:
    try:
        match conclusion:
            case ReplyBody():
                await parts.gateway.reply(claim.turn_id, conclusion, reply_key(claim.turn_id))
            case FinishBody():
                await parts.gateway.finish(claim.turn_id, conclusion)
            case ReleaseBody():
                await parts.gateway.release(claim.turn_id, conclusion)
            case _:
                assert_never(conclusion)
    except GatewayUnreachable as error:
        parts.log.warn("the outcome is kept in memory", turn=claim.turn_id, why=error)
        return "later"
    except GatewayProblem as problem:
        match judge(problem):
            case "later":
                parts.log.warn("the outcome is kept in memory", turn=claim.turn_id, why=problem)
                return "later"
            case "refused":
                raise
            case "reduce":
                smaller = reduced(conclusion, problem) if isinstance(conclusion, ReplyBody) else None
                if smaller is not None:
                    return await _send_unkept(parts, claim, smaller)
            case "over" | "stale":
                pass
        parts.log.warn("the outcome is given up", turn=claim.turn_id, why=problem)
        return "given up"
    return "sent"
