"""Until when a used-up quota lasts, when the provider names no zone."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_zcode.quota import FALLBACK_WAIT, rfc3339, wait_until

NOW = datetime(2026, 9, 12, 9, 0, tzinfo=UTC)
BERLIN = timezone(timedelta(hours=2))
ENGLISH = "[1308][Usage limit reached for 5 hour. Your limit will reset at {}][x]"
CHINESE = "[1308][已达到 5 小时的使用上限。您的限额将在 {} 重置。][x]"


@pytest.mark.parametrize("form", [ENGLISH, CHINESE])
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2026-09-12 19:27:04", "2026-09-12T11:27:24.000Z"),  # Beijing time: the earliest that is still ahead
        ("2026-09-12 12:00:00", "2026-09-12T10:00:20.000Z"),  # in Beijing long past; Berlin
        ("2026-09-12 10:30:00", "2026-09-12T10:30:20.000Z"),  # only UTC is ahead
        ("2026-09-12T12:00:00Z", "2026-09-12T12:00:20.000Z"),  # a zone is believed
        ("2026-09-12 12:00:00+08:00", "2026-09-12T09:15:00.000Z"),  # and past: look again soon
        ("2099-01-01 00:00:00", "2026-09-12T14:00:00.000Z"),  # never longer than the window
        ("2026-09-01 00:00:00", "2026-09-12T09:15:00.000Z"),
        ("soon", "2026-09-12T09:15:00.000Z"),
        ("2026-13-45 99:99:99", "2026-09-12T09:15:00.000Z"),
        ("2026-09-12 17:00:10", "2026-09-12T09:01:00.000Z"),  # at least a minute
    ],
)
def test_the_earliest_reading_that_is_ahead_counts(form: str, written: str, expected: str) -> None:
    assert rfc3339(wait_until(form.format(written), now=NOW, local=BERLIN)) == expected


def test_a_turn_that_woke_too_early_waits_for_the_next_reading() -> None:
    text = ENGLISH.format("2026-09-12 19:27:04")
    local = timezone(timedelta(hours=6))
    first = wait_until(text, now=NOW, local=local)
    second = wait_until(text, now=first, local=local)
    assert (rfc3339(first), rfc3339(second)) == ("2026-09-12T11:27:24.000Z", "2026-09-12T13:27:24.000Z")


def test_a_weekly_quota_may_take_a_week_and_no_longer() -> None:
    text = "[1310][Weekly/Monthly Limit Exhausted. Your limit will reset at 2026-09-15 08:00:00][x]"
    assert rfc3339(wait_until(text, now=NOW, local=UTC, long_window=True)) == "2026-09-15T00:00:20.000Z"
    far = text.replace("09-15", "10-15")
    assert wait_until(far, now=NOW, local=UTC, long_window=True) == NOW + timedelta(days=7)


@given(
    st.text(max_size=80) | st.datetimes().map(lambda moment: f"reset at {moment:%Y-%m-%d %H:%M:%S}"),
    st.booleans(),
    st.integers(-12, 14),
)
def test_the_wait_is_always_ahead_and_within_the_window(text: str, long_window: bool, offset: int) -> None:
    until = wait_until(text, now=NOW, local=timezone(timedelta(hours=offset)), long_window=long_window)
    window = timedelta(days=7) if long_window else timedelta(hours=5)
    assert NOW < until <= NOW + window + FALLBACK_WAIT + timedelta(seconds=20)
