"""What supervised processes print."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmail.up.child_log import ChildLog, LineSplitter, Throttle, is_important


@pytest.mark.parametrize(
    ("line", "important"),
    [
        ("2026-11-30T23:59:15.000Z warning: no key file=x", True),
        ("2026-11-30T23:59:15.000Z error   request failed", True),
        ('{"at": "2026-11-30", "level": "warning", "step": "x"}', True),
        ("WARNING:root:x", True),
        ("2026-11-30T23:59:15.000Z claimed turn=turn_1 error=none", False),
        ("2026-11-30T23:59:15.000Z info    listening", False),
        ("errors were made", False),
    ],
)
def test_a_warning_or_worse_is_shown(line: str, important: bool) -> None:
    assert is_important(line) is important


@given(st.binary(), st.integers(1, 10))
def test_lines_are_the_same_however_the_bytes_are_cut(data: bytes, piece: int) -> None:
    whole = LineSplitter()
    at_once = [*whole.feed(data), *whole.flush()]
    pieces = LineSplitter()
    in_pieces = [line for i in range(0, len(data), piece) for line in pieces.feed(data[i : i + piece])]
    assert [*in_pieces, *pieces.flush()] == at_once


def test_a_line_without_end_does_not_fill_the_memory() -> None:
    splitter = LineSplitter(limit=100)
    lines = [line for _ in range(50) for line in splitter.feed(b"x" * 90)]
    assert lines
    assert all(len(line) <= 180 for line in lines)


def test_a_log_is_private_and_bounded(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "x.log"
    log = ChildLog(path, limit=1000)
    for number in range(100):
        log.write(b"%03d" % number + b"x" * 96 + b"\n")
    log.close()
    before = path.with_name("x.log.1")
    assert path.stat().st_size <= 1000
    assert before.stat().st_size <= 1000
    assert b"099x" in path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["x.log", "x.log.1"]


def test_a_flood_of_warnings_is_not_shown_whole() -> None:
    now = [0.0]
    throttle = Throttle(lambda: now[0], count=3, per_s=10)
    assert [throttle.take() for _ in range(5)] == [True, True, True, False, False]
    now[0] = 10.5
    assert throttle.take()
