"""Lines from bytes, however they are cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ..line_splitter import LINE_LIMIT, Line, LineSplitter


def lines_of(*pieces: bytes, limit: int = LINE_LIMIT) -> list[Line]:
    splitter = LineSplitter(limit)
    return [line for piece in pieces for line in splitter.feed(piece)] + splitter.end()


@pytest.mark.parametrize(
    ("stream", "lines"),
    [
        (b"", []),
        (b"a\n", [Line("a")]),
        (b"a", [Line("a")]),
        (b"a\r\nb\r\n", [Line("a"), Line("b")]),
        (b"a\rb\n", [Line("a\rb")]),
        (b"\n\n", [Line(""), Line("")]),
        ('{"t":"a\u2028b\u0085c\x0bd"}\n'.encode(), [Line('{"t":"a\u2028b\u0085c\x0bd"}')]),
        ("来信\n".encode(), [Line("来信")]),
        (b"\xff\xfe\n", [Line("\ufffd\ufffd")]),
        (b"12345678\n", [Line("12345678")]),
        (b"12345678\r\n", [Line("12345678")]),
        (b"123456789\nb\n", [Line("12345678", True), Line("b")]),
        (b"1234567890123456789\r\nb", [Line("12345678", True), Line("b")]),
        ("123456来\n".encode(), [Line("123456", True)]),
        (b"123456789", [Line("12345678", True)]),
    ],
)
def test_bytes_become_these_lines_whole_and_byte_by_byte(stream: bytes, lines: list[Line]) -> None:
    limit = 8 if b"12" in stream else LINE_LIMIT
    assert lines_of(stream, limit=limit) == lines
    assert lines_of(*[stream[i : i + 1] for i in range(len(stream))], limit=limit) == lines


def test_a_line_of_many_mebibytes_is_whole_and_one_beyond_the_cap_is_flagged() -> None:
    """hermes-agent#31417: a 64 KiB limit of the line reader ended the turn."""
    piece = b"x" * (1024 * 1024)
    [whole, after] = lines_of(*[piece] * 15, b"\nafter\n")
    assert (len(whole.text), whole.clipped, after) == (15 * 1024 * 1024, False, Line("after"))
    [cut, after] = lines_of(*[piece] * 40, b"\nafter\n")
    assert (len(cut.text), cut.clipped, after) == (LINE_LIMIT, True, Line("after"))


@given(st.binary(max_size=80), st.lists(st.integers(0, 80), max_size=6), st.sampled_from([3, LINE_LIMIT]))
def test_any_cut_gives_the_same_as_the_whole(stream: bytes, cuts: list[int], limit: int) -> None:
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[a:b] for a, b in pairwise(edges)]
    assert lines_of(*pieces, limit=limit) == lines_of(stream, limit=limit)


@given(st.lists(st.text().map(lambda text: text.replace("\n", "").removesuffix("\r"))))
def test_what_a_program_prints_comes_out(texts: list[str]) -> None:
    sane = [text.encode("utf-8", "replace") for text in texts]
    assert lines_of(b"".join(text + b"\n" for text in sane)) == [Line(text.decode()) for text in sane]
