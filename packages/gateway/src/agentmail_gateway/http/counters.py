"""What is counted about requests: plain dictionaries on the hot path, read by /metrics."""

from bisect import bisect_left

__all__ = ["BOUNDS_S", "Counters", "Latency"]

BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
UNMATCHED = "unmatched"


class Latency:
    """A histogram of seconds: `counts` per upper bound, the last for what is beyond them all."""

    __slots__ = ("counts", "total_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_S) + 1)
        self.total_s = 0.0

    def add(self, seconds: float) -> None:
        """Count one request."""
        self.counts[bisect_left(BOUNDS_S, seconds)] += 1
        self.total_s += seconds


class Counters:
    """Requests by (method, route, status) and their latency by route; the number of label values is bounded."""

    def __init__(self) -> None:
        self.requests: dict[tuple[str, str, int], int] = {}
        self.latency: dict[str, Latency] = {}
        self.active = 0

    def done(self, method: str, route: str | None, status: int, seconds: float | None) -> None:
        """Count a request that ended; `seconds` None leaves it out of the histogram (event streams)."""
        path = route or UNMATCHED
        key = (method if method in METHODS else "other", path, status)
        self.requests[key] = self.requests.get(key, 0) + 1
        if seconds is not None:
            latency = self.latency.get(path)
            if latency is None:
                latency = self.latency[path] = Latency()
            latency.add(seconds)
