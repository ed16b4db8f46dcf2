"""How two contents differ."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.shared_guard.content import content_kind, first_differing_line
from deploy.shared_guard.findings import Kind

TEXT = b"one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("found", "kind", "line"),
    [
        (b"", Kind.EMPTY, 1),
        (b"One\ntwo\nthree\n", Kind.CHANGED, 1),
        (b"one\ntwo\nthrEE\n", Kind.CHANGED, 3),
        (b"one\nnew\ntwo\nthree\n", Kind.CHANGED, 2),
        (TEXT + b"four\n", Kind.CHANGED, 4),
        (b"one\ntw", Kind.TRUNCATED, 2),
        (b"one\ntwo\n", Kind.TRUNCATED, 3),
        (b"one\ntwo\nthree", Kind.TRAILING_NEWLINE, 3),
        (TEXT + b"\n\n", Kind.TRAILING_NEWLINE, 4),
        (b"one\r\ntwo\r\nthree\r\n", Kind.LINE_ENDS, 1),
        (b"one\ntwo\r\nthree\n", Kind.LINE_ENDS, 2),
        (b"\xef\xbb\xbf" + TEXT, Kind.BYTE_ORDER_MARK, 1),
        (b"\xef\xbb\xbfone\r\ntwo\n", Kind.CHANGED, 1),
    ],
)
def test_a_difference_is_named_and_placed(found: bytes, kind: Kind, line: int) -> None:
    assert content_kind(TEXT, found) is kind
    assert first_differing_line(TEXT, found) == line


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_up_to_the_first_differing_line_both_are_the_same(expected: bytes, found: bytes) -> None:
    line = first_differing_line(expected, found)
    ours, theirs = expected.splitlines(keepends=True), found.splitlines(keepends=True)
    assert ours[: line - 1] == theirs[: line - 1]
    if expected != found:
        assert ours[line - 1 : line] != theirs[line - 1 : line]
