"""Times and durations for a reader."""

from datetime import datetime, timedelta, timezone

import pytest

from agentmail.times import elapsed, span, when

NOW = datetime(2026, 11, 30, 15, 0, tzinfo=timezone(timedelta(hours=8)))


@pytest.mark.parametrize(
    ("stamp", "shown"),
    [
        ("2026-11-30T06:03:00.000Z", "14:03"),
        ("2026-11-29T16:30:00.000Z", "00:30"),
        ("2026-11-29T15:30:00.000Z", "11-29 23:30"),
        ("2025-12-31T23:00:00.000Z", "01-01 07:00"),
        ("2025-06-01T00:00:00.000Z", "2025-06-01"),
        (None, ""),
        ("soon", "soon"),
    ],
)
def test_a_time_is_shown_in_the_readers_zone(stamp: str | None, shown: str) -> None:
    assert when(stamp, NOW) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-1, "0.0 s"),
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.6, "1 min 0 s"),
        (185, "3 min 5 s"),
        (7800, "2 h 10 min"),
    ],
)
def test_a_duration_has_two_units_at_most(seconds: float, shown: str) -> None:
    assert elapsed(seconds) == shown


def test_a_span_needs_both_ends() -> None:
    assert span("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:02.500Z") == "2.5 s"
    assert span(None, "2026-01-01T00:00:02.500Z") == ""
