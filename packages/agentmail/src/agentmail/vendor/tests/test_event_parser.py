"""The event-stream parser: one meaning, however the bytes are cut."""

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ..event_parser import EVENT_LIMIT, EventParser, EventTooLargeError, ServerEvent
from ..event_parser import __all__ as exported


def events_of(
    pieces: Iterable[bytes], limit: int = EVENT_LIMIT
) -> tuple[list[ServerEvent], str | None, int | None, bool]:
    """All that can be seen of a parser after `pieces`: events, last id, retry, and whether it gave up."""
    parser = EventParser(limit=limit)
    seen: list[ServerEvent] = []
    try:
        for piece in pieces:
            seen += parser.feed(piece)
    except EventTooLargeError as error:
        return [*seen, *error.events], parser.last_event_id, parser.retry_ms, True
    return seen, parser.last_event_id, parser.retry_ms, False


def single_bytes(stream: bytes) -> list[bytes]:
    return [stream[i : i + 1] for i in range(len(stream))]


def plain(data: str, id: str | None = None, event: str = "message", retry: int | None = None) -> ServerEvent:  # noqa: A002
    return ServerEvent(id, event, data, retry)


def test_the_public_names_are_sorted() -> None:
    assert exported == sorted(exported, key=lambda name: (not name.isupper(), name))


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\n", [plain("a")]),
        (b"data: a\r\n\r\n", [plain("a")]),
        (b"data: a\r\r", [plain("a")]),
        (b"data: a\r\n\ndata: b\r\r\n", [plain("a"), plain("b")]),
        (b"data:a\n\n", [plain("a")]),
        (b"data:  a\n\n", [plain(" a")]),
        (b"data\n\n", [plain("")]),
        (b"data:\n\n", [plain("")]),
        (b"data: a\ndata: b\ndata:\n\n", [plain("a\nb\n")]),
        (b"data: a: b\n\n", [plain("a: b")]),
        (b"event: new_mail\ndata: {}\n\n", [plain("{}", event="new_mail")]),
        (b"event: new_mail\n\ndata: x\n\n", [plain("x")]),
        (b"event:\ndata: x\n\n", [plain("x")]),
        (b": ping\n\n", []),
        (b":\n", []),
        (b"\n\n\r\n\r", []),
        (b"data: unfinished", []),
        (b"data: unfinished\n", []),
        (b"Data: x\nunknown: y\nunknown\n\n", []),
        (b"id: 7\ndata: a\n\ndata: b\n\n", [plain("a", "7"), plain("b", "7")]),
        (b"id: 7\n\ndata: b\n\n", [plain("b", "7")]),
        (b"id: 7\ndata: a\n\nid\ndata: b\n\n", [plain("a", "7"), plain("b")]),
        (b"id: 7\nid: 8\0\ndata: a\n\n", [plain("a", "7")]),
        (b"retry: 3000\ndata: a\n\ndata: b\n\n", [plain("a", retry=3000), plain("b")]),
        (b"retry: 3s\nretry: -1\nretry:\nretry: \xd9\xa3\ndata: a\n\n", [plain("a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [plain("a")]),
        (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", []),
        (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [plain("a")]),
        (b"\xef\xbbdata: a\n\n", []),
        (b"data: \xe6\x9d\xa5\xe4\xbf\xa1\n\n", [plain("来信")]),
        (b"data: \xff\xe6\x9d\n\n", [plain("\ufffd\ufffd")]),
        (b"data: a\0b\n\n", [plain("a\0b")]),
        ("data: a\u2028b\u0085c\x0b\n\n".encode(), [plain("a\u2028b\u0085c\x0b")]),
    ],
)
def test_a_stream_means_these_events_whole_and_byte_by_byte(stream: bytes, events: list[ServerEvent]) -> None:
    """agentapi#69"""
    assert events_of([stream])[0] == events
    assert events_of(single_bytes(stream)) == events_of([stream])


def test_an_event_comes_out_with_its_last_byte_even_when_that_is_a_carriage_return() -> None:
    parser = EventParser()
    assert parser.feed(b"data: a\r") == []
    assert parser.feed(b"\r") == [plain("a")]
    assert parser.feed(b"\ndata: b\n\n") == [plain("b")]


def test_the_id_counts_only_once_its_event_is_complete() -> None:
    parser = EventParser("6")
    parser.feed(b"id: 7\ndata: half")
    assert parser.last_event_id == "6"
    parser.feed(b"\n\n")
    assert parser.last_event_id == "7"


def test_an_id_and_a_retry_carry_over_from_an_earlier_connection() -> None:
    parser = EventParser("6", retry_ms=250)
    assert parser.feed(b"data: a\n\n") == [plain("a", "6")]
    assert parser.retry_ms == 250


def test_an_absurd_retry_is_still_a_number() -> None:
    parser = EventParser()
    parser.feed(b"retry: " + b"9" * 10_000 + b"\n")
    assert parser.retry_ms == 999_999_999


def test_a_line_of_eight_mebibytes_passes_and_one_byte_more_does_not() -> None:
    line = b"data: " + b"x" * (EVENT_LIMIT - 6)
    assert len(events_of([line, b"\n\n"])[0][0].data) == EVENT_LIMIT - 6
    events, _, _, gave_up = events_of([b"data: first\n\n" + line + b"y"])
    assert gave_up
    assert events == [plain("first")]


def test_many_small_lines_of_one_event_are_bounded_too() -> None:
    assert events_of([b"data: 1234\n" * 2, b"\n"], limit=10) == ([plain("1234\n1234")], None, None, False)
    assert events_of([b"data: 1234\n" * 3], limit=10)[3]


def test_an_endless_line_without_an_end_is_given_up_in_bounded_memory() -> None:
    parser = EventParser(limit=1000)
    for _ in range(1000):
        assert parser.feed(b"x") == []
    with pytest.raises(EventTooLargeError, match="larger than 1000 bytes"):
        parser.feed(b"x")


NAMES = [b"data", b"event", b"id", b"retry", b":", b" "]
BREAKS = [b"\n", b"\r", b"\r\n", b"\0", b"\xef\xbb\xbf"]
FRAGMENTS = st.sampled_from([*NAMES, *BREAKS, b"12", b"x", "é信".encode(), b"\xff"])
STREAMS = st.lists(FRAGMENTS, max_size=40).map(b"".join) | st.binary(max_size=60)


@given(STREAMS, st.lists(st.integers(0, 200), max_size=10), st.sampled_from([12, EVENT_LIMIT]))
def test_any_cut_gives_the_same_as_the_whole(stream: bytes, cuts: list[int], limit: int) -> None:
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[a:b] for a, b in pairwise(edges)]
    whole = events_of([stream], limit)
    assert events_of(pieces, limit) == whole
    assert events_of(single_bytes(stream), limit) == whole


@given(st.lists(st.tuples(st.text(), st.sampled_from([None, "new_mail"]), st.integers(0) | st.none())))
def test_what_a_server_writes_is_what_comes_out(sent: list[tuple[str, str | None, int | None]]) -> None:
    stream, expected, last = b"", [], None
    for text, kind, number in sent:
        data = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode()
        last = last if number is None else str(number)
        stream += b"" if number is None else f"id: {number}\n".encode()
        stream += b"" if kind is None else f"event: {kind}\n".encode()
        stream += b"".join(f"data: {line}\n".encode() for line in data.split("\n")) + b"\n"
        expected.append(plain(data, last, kind or "message"))
    assert events_of([stream])[0] == expected
