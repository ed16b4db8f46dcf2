"""Ids: a type prefix and a UUIDv7 in hex, in the store a single integer.

The upper 64 bits of a UUIDv7 (RFC 9562, section 5.7) are milliseconds, the version and a counter (method 1 of section
6.2); they are unique and only ever grow within one store, and are what the store keeps: the *head*. The lower 64 bits
are computed from the head and the store's own number: two stores don't make the same id, and the tail needs no room on
disk. Ids are not secrets: who may see what is decided for each request.
"""

import threading
from typing import Final, Literal

from .times import Clock

__all__ = ["MAX_BLOCK", "IdMint", "Ids", "Prefix", "head_at", "milliseconds_of"]

Prefix = Literal["mail", "thr", "turn", "att", "perm", "aud"]

MAX_BLOCK: Final = 4096
_VERSION: Final = 0x7000
_VARIANT: Final = 0x8000_0000_0000_0000
_RANDOM: Final = 0x3FFF_FFFF_FFFF_FFFF


def head_at(ms: int) -> int:
    """The smallest head of the millisecond `ms`."""
    return max(ms, 0) << 16 | _VERSION


def milliseconds_of(head: int) -> int:
    """When `head` was made."""
    return head >> 16


class Ids:
    """Between heads and ids as text; `store` is 16 random bytes that belong to the store and never change."""

    __slots__ = ("_factor", "_mask")

    def __init__(self, store: bytes) -> None:
        self._factor = int.from_bytes(store[:8], "big") | 1
        self._mask = int.from_bytes(store[8:16], "big")

    def text(self, prefix: Prefix, head: int) -> str:
        """The id of `head` as callers see it."""
        return f"{prefix}_{head:016x}{(head * self._factor ^ self._mask) & _RANDOM | _VARIANT:016x}"

    def head(self, prefix: Prefix, text: str) -> int | None:
        """The head of the id `text`, or None when this store can't have made it."""
        start = len(prefix) + 1
        if len(text) != start + 32:
            return None
        try:
            head = int(text[start : start + 16], 16)
        except ValueError:
            return None
        return head if head < 1 << 63 and self.text(prefix, head) == text else None


class IdMint:
    """Makes heads that are larger than every one before, also when the clock steps back; used from any thread.

    `last` is the largest head in the store. The millisecond after it is where this mint starts at the earliest, so that
    ids of rows that were deleted are not made again.
    """

    __slots__ = ("_clock", "_last", "_lock")

    def __init__(self, clock: Clock, last: int) -> None:
        self._clock = clock
        self._last = head_at(milliseconds_of(last) + 1) - 1 if last else 0
        self._lock = threading.Lock()

    def head(self) -> int:
        """One new head."""
        return self.block(1)

    def block(self, size: int, now: int | None = None) -> int:
        """The first of `size` new heads in a row (at most `MAX_BLOCK`); `now` is the clock's time where it is known."""
        if not 1 <= size <= MAX_BLOCK:
            raise ValueError(f"a block holds 1 to {MAX_BLOCK} ids, not {size}")
        with self._lock:
            first = max(head_at(self._clock() if now is None else now), self._last + 1)
            # A block that does not fit into the 12 bits of the counter goes to the next millisecond.
            if (first & 0xFFFF) + size > _VERSION + MAX_BLOCK:
                first = head_at(milliseconds_of(first) + 1)
            self._last = first + size - 1
            return first
