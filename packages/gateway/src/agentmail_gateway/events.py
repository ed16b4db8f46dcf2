"""The two kinds of events: stored ones, with an id of the store's one sequence, and live ones, with none."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["LiveEvent", "StoredEvent"]


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event for the principal `to`; `id` comes from one monotonic sequence and is never reused."""

    id: int
    to: str
    type: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LiveEvent:
    """An event that is not stored and can't be resumed; `to` None means everybody."""

    to: str | None
    type: str
    data: Mapping[str, Any]
