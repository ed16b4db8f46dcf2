import pytest
from hypothesis import given
from hypothesis import strategies as st

from ..plain_text import one_line, printable

nasty = st.text(st.sampled_from("ab \t\n\r\0\x1b\x85\u2028\u202e\u200b\ud800\U000e0041文") | st.characters())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\tc", "a\nb\tc"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a\x85b\u2028c\u2029d\x0be\x0cf", "a\nb\nc\nd\ne\nf"),
        ("a\0b", "a\ufffdb"),
        ("\x1b[31mred", "\ufffd[31mred"),
        ("a\x7fb\x9bc", "a\ufffdb\ufffdc"),
        ("hi\U000e0068\U000e0069", "hi\ufffd\ufffd"),
        ("a\ud800", "a\ufffd"),
        ("שלום\u200f!", "שלום\u200f!"),
        ("👩\u200d💻", "👩\u200d💻"),
    ],
)
def test_a_text_is_made_printable(text: str, expected: str) -> None:
    assert printable(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  a \n b\t c ", "a b c"),
        ("a\r\nBcc: eve", "a Bcc: eve"),
        ("a\u2028b\x85c", "a b c"),
        ("a\0\x1b[31mb", "a[31mb"),
        ("a\u202eb\u2066c\u200bd", "abcd"),
        ("x\U000e0041y", "xy"),
        ("\ud800x", "\ufffdx"),
        ("", ""),
        ("x" * 10, "x" * 10),
        ("x" * 11, "x" * 9 + "…"),
        ("xxxxxxxx yyy", "xxxxxxxx…"),
        (" " * 1_000_000 + "x", "…"),
    ],
)
def test_a_text_is_made_one_line(text: str, expected: str) -> None:
    assert one_line(text, 10) == expected


@given(nasty)
def test_a_printable_text_holds_no_control_and_stays_so(text: str) -> None:
    got = printable(text)
    assert not any(ord(character) < 32 and character not in "\n\t" for character in got)
    assert got.encode().decode() == got
    assert printable(got) == got


@given(nasty, st.integers(1, 30))
def test_a_line_is_one_line_within_its_limit(text: str, limit: int) -> None:
    got = one_line(text, limit)
    assert len(got) <= limit
    assert len(got.splitlines()) <= 1
    assert got == got.strip()
    assert got.encode().decode() == got
