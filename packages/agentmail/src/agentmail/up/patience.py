"""What a signal means: the first one stops in order, a person's second one at once. Pure: the clock is an argument."""

from collections.abc import Callable
from typing import Literal

__all__ = ["Patience"]

# `timeout`, service managers and `uv run` send or forward a signal twice within moments: that is no second Ctrl-C.
_SAME_S = 0.5


class Patience:
    """Decides about signals as they come; `clock` counts seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._first: float | None = None

    def take(self, *, by_person: bool) -> Literal["stop", "force"] | None:
        """`stop` for the first signal, `force` for a later one of a person (SIGINT), None for the rest."""
        now = self._clock()
        if self._first is None:
            self._first = now
            return "stop"
        return "force" if by_person and now - self._first >= _SAME_S else None
