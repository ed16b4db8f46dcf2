"""Failed sign-ins counted per client address, in bounded memory.

Only failures are counted and only failures are refused: a valid key always passes, so that nobody can lock a bridge
out by guessing from the same address.
"""

from collections import OrderedDict
from collections.abc import Callable

__all__ = ["FailedAttempts"]


class FailedAttempts:
    """Allows `allowed` failures per address and `window_s` seconds; forgets the address not seen for longest."""

    def __init__(
        self, now: Callable[[], float], *, allowed: int = 20, window_s: float = 60.0, addresses: int = 1024
    ) -> None:
        self._now = now
        self._allowed = allowed
        self._window_s = window_s
        self._addresses = addresses
        self._seen: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._seen)

    def wait_s(self, address: str) -> float:
        """Seconds until another failure from this address would be answered in full again; 0 when it would be now."""
        since, count = self._seen.get(address, (0.0, 0))
        left = since + self._window_s - self._now()
        return left if count >= self._allowed and left > 0 else 0.0

    def failed(self, address: str) -> float:
        """Note one failure; returns the seconds to wait (0 while within what is allowed)."""
        now = self._now()
        since, count = self._seen.pop(address, (now, 0))
        if now - since >= self._window_s:
            since, count = now, 0
        wait = since + self._window_s - now if count >= self._allowed else 0.0
        self._seen[address] = (since, min(count + 1, self._allowed))
        while len(self._seen) > self._addresses:
            self._seen.popitem(last=False)
        return wait
