"""Full ids from the short forms that a person types."""

import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from .errors import RefusedError, UsageError

if TYPE_CHECKING:
    from .vendor.gateway_client import GatewayClient

__all__ = ["full_id", "matching"]

_FULL = re.compile(r"[a-z]+_[0-9a-f]{32}")
_SHORT = re.compile(r"(?:[a-z]+_)?…?([0-9a-f]{4,32})")
_NEAR = 2_000
_ENOUGH = 20_000


async def matching(typed: str, prefix: str, candidates: AsyncIterator[str]) -> str:
    """The one id among `candidates` that `typed` means: a whole id, or at least four digits of its start or end.

    `prefix` is the kind (``mail``). A whole id is taken as it is, without a look at the candidates. They come newest
    first: what fits among the nearest 2,000 is meant, whatever fits further back. Raises `UsageError` for what can't be
    such an id, `RefusedError` when none or several fit.
    """
    typed = typed.strip()
    if _FULL.fullmatch(typed):
        if not typed.startswith(prefix + "_"):
            raise UsageError(f"{typed} is not the id of a {_NAMES[prefix]}", f"Such an id starts with {prefix}_")
        return typed
    short = _SHORT.fullmatch(typed)
    if short is None or not (typed.startswith(prefix + "_") or "_" not in typed):
        raise UsageError(
            f"{typed!r} is not the id of a {_NAMES[prefix]}",
            f"It looks like {prefix}_0193…, or the last few digits of it",
        )
    digits, found, seen = short[1], set[str](), 0
    async for candidate in candidates:
        bare = candidate.partition("_")[2]
        if bare.startswith(digits) or bare.endswith(digits):
            found.add(candidate)
        seen += 1
        if seen >= (_NEAR if found else _ENOUGH):
            break
    if not found:
        raise RefusedError(
            f"no {_NAMES[prefix]} with an id like {typed}", "A list shows the ids", code="not_found", status=404
        )
    if len(found) > 1:
        raise RefusedError(f"{len(found)} ids fit {typed}", "Write more of it", code="ambiguous")
    return found.pop()


_NAMES = {"mail": "mail", "perm": "question", "thr": "thread", "turn": "turn"}


async def full_id(client: "GatewayClient", typed: str, prefix: str) -> str:
    """The full id of what `typed` means: a mail, a permission question, a thread or a turn, as `prefix` says."""
    from .vendor.gateway_client import every

    async def ids() -> AsyncIterator[str]:
        match prefix:
            case "mail":
                async for mail in every(
                    lambda after: client.list_mails(box="all", order="newest", after=after, limit=200)
                ):
                    yield mail.id
            case "perm":
                async for asked in every(lambda after: client.list_permissions(after=after, limit=200)):
                    yield asked.id
            case "thr":
                async for thread in every(lambda after: client.list_threads(after=after, limit=200)):
                    yield thread.id
            case _:
                async for turn in every(lambda after: client.list_turns(order="newest", after=after, limit=200)):
                    yield turn.id

    return await matching(typed, prefix, ids())
