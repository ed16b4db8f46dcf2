"""Text for a terminal: harmless and as wide as it looks."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmail.terminal import Column, Screen, clip, json_safe, pad, safe, safe_block, table, width

HOSTILE = [
    ("\x1b]0;owned\x07", "␛]0;owned␇"),
    ("\x1b[2J\x1b[H", "␛[2J␛[H"),
    ("\x9b31mred", "<U+009B>31mred"),
    ("bank\u202eexe.txt", "bank<U+202E>exe.txt"),
    ("a\u2066b\u2069c", "a<U+2066>b<U+2069>c"),
    ("z\u200bw", "z<U+200B>w"),
    ("tag\U000e0041", "tag<U+E0041>"),
    ("back\x08\x08space", "back␈␈space"),
    ("nul\x00", "nul␀"),
    ("del\x7f", "del␡"),
    ("half\ud800", "half<U+D800>"),
]


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
def test_what_could_steer_a_terminal_is_shown_as_what_it_is(text: str, shown: str) -> None:
    assert safe(text) == shown
    assert safe_block(text) == shown


def test_one_line_stays_one_line_whatever_breaks_lines_elsewhere() -> None:
    assert safe("a\r\nb\u2028c\u2029d\x0be\x0cf\x85g\th") == "a b c d e f g h"


def test_a_block_keeps_its_lines_and_shows_a_bare_carriage_return() -> None:
    assert safe_block("one\r\ntwo\n\tthree\rfour") == "one\ntwo\n    three␍four"


def test_joiners_stay_because_scripts_and_emoji_need_them() -> None:
    assert safe("می\u200cخواهم 👩\u200d💻") == "می\u200cخواهم 👩\u200d💻"


@given(st.text())
def test_no_text_gets_a_control_or_bidi_character_through(text: str) -> None:
    for shown in (safe(text), safe_block(text).replace("\n", "")):
        assert not any(unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"} for c in shown)
        assert not any(
            unicodedata.bidirectional(c) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
            for c in shown
        )


@given(st.text())
def test_making_text_safe_twice_changes_nothing_more(text: str) -> None:
    assert safe(safe(text)) == safe(text)


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_safe_json_is_the_same_document(value: object) -> None:
    document = json.dumps(value, ensure_ascii=False)
    shown = json_safe(document)
    assert json.loads(shown) == value
    assert not any(unicodedata.category(c) in {"Cc", "Cs"} for c in shown)


@pytest.mark.parametrize(
    ("text", "columns"),
    [("", 0), ("abc", 3), ("日本語", 6), ("e\u0301", 1), ("ｱ", 1), ("Ａ", 2), ("한글", 4), ("👍", 2), ("ö", 1)],
)
def test_width_is_what_a_terminal_uses(text: str, columns: int) -> None:
    assert width(text) == columns


@given(st.text(alphabet=st.characters(codec="utf-8")), st.integers(1, 40))
def test_clipped_text_fits_and_tells_that_it_was_cut(text: str, columns: int) -> None:
    shown = clip(text, columns)
    assert width(shown) <= columns
    assert shown == text or shown.endswith("…")


def test_a_wide_character_is_never_cut_in_half() -> None:
    assert clip("日本語", 4) == "日…"
    assert pad("日本", 6) == "日本  "


def test_columns_line_up_with_chinese_subjects() -> None:
    lines = table(
        [Column("FROM"), Column("SUBJECT", flexible=True), Column("N")],
        [["小明", "回复: 测试", "1"], ["ada", "x", "22"]],
        60,
    )
    assert lines == ["FROM  SUBJECT     N", "小明  回复: 测试  1", "ada   x           22"]


def test_the_flexible_column_gives_way_to_the_screen() -> None:
    lines = table([Column("A"), Column("B", flexible=True)], [["id", "x" * 200]], 40)
    assert max(width(line) for line in lines) == 40
    assert lines[1].endswith("…")


def test_cells_are_made_harmless() -> None:
    assert table([Column("A")], [["\x1b[31m\nx"]], 80)[1] == "␛[31m x"


class _Stream:
    def __init__(self, terminal: bool) -> None:
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.mark.parametrize(
    ("terminal", "environ", "colour"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_colours_only_on_a_terminal_that_wants_them(terminal: bool, environ: dict[str, str], colour: bool) -> None:
    screen = Screen.of(_Stream(terminal), environ)  # type: ignore[arg-type]
    assert screen.colour is colour
    assert screen.paint("x", "red") == ("\x1b[31mx\x1b[0m" if colour else "x")
