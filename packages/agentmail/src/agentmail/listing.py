"""The end of a list that the gateway gives newest first."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from .vendor.wire import Page

__all__ = ["newest"]

T = TypeVar("T")


async def newest(
    list_page: Callable[[str | None], Awaitable[Page[T]]], limit: int, keep: Callable[[T], bool] | None = None
) -> tuple[T, ...]:
    """The first `limit` items of a list in pages (those that `keep` takes), turned round. `limit` >= 1.

    No page is asked for beyond the one that fills the limit.
    """
    from .vendor.gateway_client import every

    found: list[T] = []
    async for item in every(list_page):
        if keep is None or keep(item):
            found.append(item)
            if len(found) == limit:
                break
    return tuple(reversed(found))
