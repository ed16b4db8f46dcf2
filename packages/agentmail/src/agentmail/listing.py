"""The end of a list that the gateway gives oldest first."""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

from .vendor.wire import Page

__all__ = ["newest"]

T = TypeVar("T")


async def newest(
    list_page: Callable[[str | None], Awaitable[Page[T]]], limit: int, keep: Callable[[T], bool] | None = None
) -> tuple[T, ...]:
    """The last `limit` items of a list in pages (those that `keep` takes), oldest first. `limit` >= 1."""
    from .vendor.gateway_client import every

    last: deque[T] = deque(maxlen=limit)
    async for item in every(list_page):
        if keep is None or keep(item):
            last.append(item)
    return tuple(last)
