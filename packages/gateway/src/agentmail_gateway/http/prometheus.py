"""The figures in Prometheus' text format; imported on the first scrape."""

from collections.abc import Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from .counters import BOUNDS_S, Counters
from .event_hub import Hub

__all__ = ["MEDIA_TYPE", "exposition"]

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class _Figures(Collector):
    def __init__(self, counters: Counters, hub: Hub, store: Mapping[str, float]) -> None:
        self._counters = counters
        self._hub = hub
        self._store = store

    def collect(self) -> Iterator[Metric]:
        requests = CounterMetricFamily(
            "agentmail_http_requests", "Requests that ended.", labels=("method", "route", "status")
        )
        for (method, path, status), count in sorted(self._counters.requests.items()):
            requests.add_metric((method, path, str(status)), count)
        yield requests
        seconds = HistogramMetricFamily("agentmail_http_request_seconds", "Time to answer.", labels=("route",))
        for path, latency in sorted(self._counters.latency.items()):
            total = 0
            buckets = []
            for bound, count in zip((*map(str, BOUNDS_S), "+Inf"), latency.counts, strict=True):
                total += count
                buckets.append((bound, total))
            seconds.add_metric((path,), buckets, latency.total_s)
        yield seconds
        yield GaugeMetricFamily("agentmail_http_requests_active", "Requests open now.", value=self._counters.active)
        yield GaugeMetricFamily("agentmail_event_subscribers", "Event streams open now.", value=len(self._hub))
        yield GaugeMetricFamily("agentmail_event_frames_waiting", "Events not yet written.", value=self._hub.waiting)
        ended = CounterMetricFamily("agentmail_event_streams_ended", "Event streams that ended.", labels=("reason",))
        for reason, count in sorted(self._hub.ended.items()):
            ended.add_metric((reason,), count)
        yield ended
        for name, value in sorted(self._store.items()):
            yield GaugeMetricFamily(f"agentmail_{name}", "Of the store.", value=value)


def exposition(counters: Counters, hub: Hub, store: Mapping[str, float]) -> bytes:
    """All figures; `store` holds the gateway's own, by name."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Figures(counters, hub, store))
    return generate_latest(registry)
