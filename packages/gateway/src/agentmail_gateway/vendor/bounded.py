"""Containers and texts that can't grow beyond a limit."""

import unicodedata
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Generic, Literal, TypeVar, assert_never, overload

__all__ = ["BoundedDict", "BoundedSet", "Keep", "TailBuffer", "clip", "encodable"]

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")
Keep = Literal["head", "tail", "middle"]

_ZERO_WIDTH_JOINER = "\u200d"
_LONGEST_CLUSTER = 32


class BoundedDict(Generic[K, V]):
    """A dictionary of at most `limit` entries; a new one pushes out the one that was least recently used.

    Reading with ``[]`` or `get` and writing count as use; ``in`` and iteration (least recently used first) don't.
    Raises `ValueError` for a limit below 1.
    """

    __slots__ = ("_entries", "limit")

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"the limit is {limit}; it must be at least 1")
        self.limit = limit
        self._entries: OrderedDict[K, V] = OrderedDict()

    def __getitem__(self, key: K) -> V:
        self._entries.move_to_end(key)
        return self._entries[key]

    def __setitem__(self, key: K, value: V) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self.limit:
            self._entries.popitem(last=False)

    def __delitem__(self, key: K) -> None:
        del self._entries[key]

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[K]:
        return iter(tuple(self._entries))

    def items(self) -> tuple[tuple[K, V], ...]:
        """All entries, least recently used first."""
        return tuple(self._entries.items())

    @overload
    def get(self, key: K) -> V | None: ...
    @overload
    def get(self, key: K, default: D) -> V | D: ...
    def get(self, key: K, default: object = None) -> object:
        """The value of `key`, or `default`."""
        return self[key] if key in self._entries else default

    def pop(self, key: K) -> V | None:
        """Take `key` out and return its value, or None when it isn't there."""
        return self._entries.pop(key, None)


class BoundedSet(Generic[K]):
    """A set of at most `limit` items; a new one pushes out the one that was added longest ago.

    Adding an item again makes it the newest. Iteration starts with the oldest. Raises `ValueError` for a limit below 1.
    """

    __slots__ = ("_items",)

    def __init__(self, limit: int, items: Iterable[K] = ()) -> None:
        self._items: BoundedDict[K, None] = BoundedDict(limit)
        for item in items:
            self.add(item)

    def add(self, item: K) -> bool:
        """Add `item`; true when it was not there."""
        new = item not in self._items
        self._items[item] = None
        return new

    def discard(self, item: K) -> None:
        """Take `item` out, if it is there."""
        self._items.pop(item)

    def __contains__(self, item: object) -> bool:
        return item in self._items

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)


class TailBuffer:
    """Keeps the last `limit` bytes of what is fed to it; `dropped` counts the bytes before them."""

    __slots__ = ("_data", "dropped", "limit")

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"the limit is {limit}; it must be at least 1")
        self.limit = limit
        self.dropped = 0
        self._data = bytearray()

    def feed(self, data: bytes) -> None:
        """Append `data`, dropping from the front what is too much."""
        excess = len(self._data) + len(data) - self.limit
        if excess > 0:
            self.dropped += excess
            del self._data[:excess]
            data = data[-self.limit :]
        self._data += data

    def text(self) -> str:
        """What is kept, as text: after a line that says how much is missing, from the first whole character on."""
        kept = bytes(self._data)
        if not self.dropped:
            return kept.decode("utf-8", "replace")
        start = _next_start(kept, 0)
        return f"{_marker(self.dropped + start)}\n{kept[start:].decode('utf-8', 'replace')}"


def clip(text: str, max_bytes: int, keep: Keep = "head") -> str:
    """`text` in at most `max_bytes` bytes of UTF-8, with a line that says how much was left out.

    `keep` says which part stays. No character is split, and no accent or emoji joiner parted from what it belongs to
    where that is seen within a few characters. Where not even that line has room, the text is cut without it. A text
    that fits comes back as it is; lone surrogates become U+FFFD. Raises `ValueError` for a negative `max_bytes`.
    """
    if max_bytes < 0:
        raise ValueError(f"max_bytes is {max_bytes}; it must not be negative")
    text = encodable(text)
    data = text.encode()
    if len(data) <= max_bytes:
        return text
    room = max_bytes - len(_marker(len(data)).encode()) - (2 if keep == "middle" else 1)
    if room < 1:
        return _tail(data, max_bytes) if keep == "tail" else _head(data, max_bytes)
    match keep:
        case "head":
            head, tail = _head(data, room), ""
        case "tail":
            head, tail = "", _tail(data, room)
        case "middle":
            head = _head(data, room // 2)
            tail = _tail(data, room - len(head.encode()))
        case _:
            assert_never(keep)
    marker = _marker(len(data) - len(head.encode()) - len(tail.encode()))
    return "\n".join(part for part in (head, marker, tail) if part)


def encodable(text: str) -> str:
    """`text` with every lone surrogate replaced by U+FFFD, so that it can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _marker(left_out: int) -> str:
    return f"[… {left_out:,} bytes left out …]"


def _head(data: bytes, size: int) -> str:
    """The longest start of `data` within `size` bytes (fewer than it has) that ends between two characters."""
    end = size
    while data[end] & 0xC0 == 0x80:
        end -= 1
    text = data[:end].decode()
    following = data[end : end + 4].decode("utf-8", "ignore")[:1]
    for cut in range(len(text), max(len(text) - _LONGEST_CLUSTER, 0), -1):
        if not _belongs(text[cut - 1], following):
            return text[:cut]
        following = text[cut - 1]
    return text if len(text) > _LONGEST_CLUSTER else ""


def _tail(data: bytes, size: int) -> str:
    """The longest end of `data` within `size` bytes (fewer than it has) that starts between two characters."""
    start = _next_start(data, len(data) - size)
    text = data[start:].decode()
    before = data[max(start - 4, 0) : start].decode("utf-8", "ignore")[-1:]
    for cut in range(min(len(text), _LONGEST_CLUSTER)):
        if not _belongs(before, text[cut]):
            return text[cut:]
        before = text[cut]
    return text if len(text) > _LONGEST_CLUSTER else ""


def _next_start(data: bytes, index: int) -> int:
    """The first place at or after `index` where a UTF-8 character starts."""
    while index < len(data) and data[index] & 0xC0 == 0x80:
        index += 1
    return index


def _belongs(before: str, character: str) -> bool:
    """Whether `character` is shown as one with what stands `before` it (the common cases of Unicode's UAX #29)."""
    return (
        before == _ZERO_WIDTH_JOINER
        or character == _ZERO_WIDTH_JOINER
        or (before == "\r" and character == "\n")
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or unicodedata.category(character).startswith("M")
    )
