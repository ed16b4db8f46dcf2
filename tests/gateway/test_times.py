import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmail_gateway import times


@given(st.integers(0, 253_402_300_799_999))
def test_a_time_as_text_gives_the_time_back(ms: int) -> None:
    text = times.text(ms)
    assert len(text) == 24
    assert times.milliseconds(text) == ms


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T01:00:00.5+01:00", 500),
        ("2026-11-30T23:59:15.000Z", 1_796_083_155_000),
    ],
)
def test_other_offsets_are_understood(text: str, ms: int) -> None:
    assert times.milliseconds(text) == ms


@pytest.mark.parametrize("text", ["", "tomorrow", "2026-11-30", "2026-11-30T23:59:15", "2026-13-01T00:00:00Z"])
def test_what_names_no_moment_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        times.milliseconds(text)


def test_no_time_stays_none() -> None:
    assert times.text(None) is None


def test_a_clock_counts_whole_milliseconds() -> None:
    assert times.clock(lambda: 1.2345)() == 1234
