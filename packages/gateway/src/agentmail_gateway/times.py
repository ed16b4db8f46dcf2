"""Times: milliseconds since 1970 inside, RFC 3339 UTC text with milliseconds outside."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, overload

__all__ = ["Clock", "clock", "milliseconds", "text"]

Clock = Callable[[], int]
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def clock(now: Callable[[], float]) -> Clock:
    """A clock in whole milliseconds from one in seconds."""
    return lambda: int(now() * 1000)


@overload
def text(ms: int) -> str: ...
@overload
def text(ms: int | None) -> str | None: ...
def text(ms: int | None) -> str | None:
    """`ms` as ``2026-11-30T23:59:15.000Z``; None stays None."""
    if ms is None:
        return None
    second, rest = divmod(ms, 1000)
    return f"{_second(second)}.{rest:03d}Z"


@lru_cache(maxsize=4096)
def _second(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))


def milliseconds(rfc3339: str) -> int:
    """The time that `rfc3339` names. Raises `ValueError` for a text that is no time or names no offset."""
    moment = datetime.fromisoformat(rfc3339)
    if moment.tzinfo is None:
        raise ValueError(f"{rfc3339[:40]!r} names no offset from UTC")
    return (moment - _EPOCH) // timedelta(milliseconds=1)
