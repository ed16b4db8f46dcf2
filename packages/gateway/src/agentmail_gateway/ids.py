"""Ids: a type prefix and a UUIDv7 in hex, in the store a single integer.

The upper 64 bits of a UUIDv7 (RFC 9562, section 5.7) are milliseconds, the version and a counter (method 1 of section
6.2); they are unique and only ever grow within one store, and are what the store keeps: the *head*. The lower 64 bits
are a keyed hash of the head, so that ids can't be guessed and need no room on disk.
"""

import hashlib
import threading
from typing import Final, Literal

from .times import Clock

__all__ = ["MAX_BLOCK", "IdMint", "Ids", "Prefix", "head_at", "milliseconds_of"]

Prefix = Literal["mail", "thr", "turn", "att", "perm", "aud"]

MAX_BLOCK: Final = 4096
_VERSION: Final = 0x7000
_VARIANT: Final = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


def head_at(ms: int) -> int:
    """The smallest head of the millisecond `ms`."""
    return max(ms, 0) << 16 | _VERSION


def milliseconds_of(head: int) -> int:
    """When `head` was made."""
    return head >> 16


class Ids:
    """Between heads and ids as text; `secret` belongs to the store and never changes."""

    __slots__ = ("_keyed",)

    def __init__(self, secret: bytes) -> None:
        self._keyed = hashlib.blake2b(digest_size=8, key=secret)

    def text(self, prefix: Prefix, head: int) -> str:
        """The id of `head` as callers see it."""
        keyed = self._keyed.copy()
        keyed.update(head.to_bytes(8, "big"))
        tail = keyed.hexdigest()
        return f"{prefix}_{head:016x}{_VARIANT[tail[0]]}{tail[1:]}"

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

    def block(self, size: int) -> int:
        """The first of `size` new heads in a row (at most `MAX_BLOCK`)."""
        if not 1 <= size <= MAX_BLOCK:
            raise ValueError(f"a block holds 1 to {MAX_BLOCK} ids, not {size}")
        with self._lock:
            first = max(head_at(self._clock()), self._last + 1)
            # A block that does not fit into the 12 bits of the counter goes to the next millisecond.
            if (first & 0xFFFF) + size > _VERSION + MAX_BLOCK:
                first = head_at(milliseconds_of(first) + 1)
            self._last = first + size - 1
            return first
