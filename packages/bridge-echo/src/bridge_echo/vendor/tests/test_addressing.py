from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ..addressing import (
    MAX_LIST,
    MAX_TEXT,
    Address,
    AddressError,
    format_address,
    format_list,
    normal_display,
    normal_name,
    parse,
    parse_list,
    same,
    unique,
)


def _valid(form: Callable[[str], str], texts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """What `form` makes of those `texts` that it takes."""

    def taken(text: str) -> bool:
        with suppress(AddressError):
            return bool(form(text))
        return False

    return texts.filter(taken).map(form)


letters = st.characters(categories=["Lu", "Ll", "Lo", "Nd"]) | st.sampled_from("_.-aZ9")
names = _valid(normal_name, st.text(letters, min_size=1, max_size=12))
displays = st.none() | _valid(normal_display, st.text(max_size=20))
hosts = st.none() | st.sampled_from(["localhost", "mail.example", "bücher.example", "a-b.c-d", "10.0.0.1"])
tags = st.none() | names | names.map(lambda name: f"{name}+more")
addresses = st.builds(Address, name=names, tag=tags, host=hosts, display=displays)
nasty = st.text(
    st.sampled_from('"<>,@+\\ \t\r\n\0;:()[]aZ.-_é文\u202e\u2028\u200d\ud800\ufb01İ\U000e0041') | st.characters(),
    max_size=40,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("zcode", Address("zcode")),
        ("  zcode\t", Address("zcode")),
        ("ZCode", Address("zcode")),
        ("zcode+nightly", Address("zcode", tag="nightly")),
        ("zcode+a+b", Address("zcode", tag="a+b")),
        ("zcode@localhost", Address("zcode", host="localhost")),
        ("zcode+x@Mail.Example", Address("zcode", tag="x", host="mail.example")),
        ("<zcode>", Address("zcode")),
        ("< zcode >", Address("zcode")),
        ("Ada <ada>", Address("ada", display="Ada")),
        ("Ada   Lovelace<ada>", Address("ada", display="Ada Lovelace")),
        ('"Lovelace, Ada" <ada>', Address("ada", display="Lovelace, Ada")),
        ('"a \\"b\\" \\\\ <c>" <ada>', Address("ada", display='a "b" \\ <c>')),
        ('Ada "the Countess" Lovelace <ada>', Address("ada", display="Ada the Countess Lovelace")),
        ('"" <ada>', Address("ada")),
        ("Ada (work) <ada>", Address("ada", display="Ada (work)")),
        ("李雷 <李雷>", Address("李雷", display="李雷")),
        ("ÅNGSTRÖM", Address("ångström")),
        ("A\u030angstro\u0308m", Address("ångström")),
        ("ﬁle", Address("file")),
        ("Ｚｃｏｄｅ", Address("zcode")),
        ("STRASSE", Address("strasse")),
        ("straße", Address("strasse")),
        ("👩\u200d💻 Ada <ada>", Address("ada", display="👩\u200d💻 Ada")),
        ("a.b-c_d9", Address("a.b-c_d9")),
    ],
)
def test_an_address_is_read(text: str, expected: Address) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("  ", "is empty"),
        (",", "is empty"),
        ("a, b", "several addresses"),
        ("a b", "is no name"),
        (".a", "is no name"),
        ("-rf", "is no name"),
        ("@zcode", "is no name"),
        ("+tag", "is no name"),
        ("a+", "is no tag"),
        ("a++b", "is no tag"),
        ("a@", "is no host"),
        ("a@b@c", "is no host"),
        ("a@b..c", "is no host"),
        ("a@-b", "is no host"),
        ("a@[::1]", "is no host"),
        ("../etc/passwd", "is no name"),
        ("a/b", "is no name"),
        ("a＠b", "is no name"),
        ("a＋b", "is no name"),
        ('"Ada <ada>', "never closed"),
        ('"Ada\\" <ada>', "never closed"),
        ('"ada"', "is no name"),
        ("Ada <ada", "nothing else"),
        ("Ada <ada> x", "nothing else"),
        ("Ada ada>", "is no name"),
        ("Ada <<ada>>", "is no name"),
        ("Ada <>", "is no name"),
        ("<", "nothing else"),
        (">", "is no name"),
        ("a > b <ada>", "is no name"),
        ("a\0b", "is no name"),
        ("ada\nBcc: eve", "is no name"),
        ("ada\n", "is no name"),
        ("Ada\r\nBcc: eve <ada>", "control or invisible"),
        ('"Ada\nX" <ada>', "control or invisible"),
        ("Ada\u2028X <ada>", "control or invisible"),
        ("Ada \u202eevil <ada>", "control or invisible"),
        ("Ada\u2066 <ada>", "control or invisible"),
        ("Ada\U000e0041 <ada>", "control or invisible"),
        ("Ada\ud800 <ada>", "control or invisible"),
        ("a\u202eb", "is no name"),
        ("a\u00adb", "is no name"),
        ("a\u200bb", "is no name"),
        ("\ud800", "is no name"),
        ("x" * 65, "is no name"),
        ("ﷺ" * 10, "is no name"),
        (f"a+{'x' * 65}", "is no tag"),
        ("a@" + ".".join(["x" * 60] * 5), "is no host"),
        (f"{'x' * 201} <ada>", "too long"),
        ("x" * (MAX_TEXT + 1), "too long"),
        ('"' * 1_000_000, "too long"),
    ],
)
def test_what_is_no_address_is_refused_with_one_printable_line(text: str, says: str) -> None:
    with pytest.raises(AddressError, match=says) as caught:
        parse(text)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" , ,", []),
        ("a", ["a"]),
        ("a,b , c", ["a", "b", "c"]),
        ("a,,b,", ["a", "b"]),
        ('"X, Y" <a>, "Z \\", Q" <b>, c', ["a", "b", "c"]),
        ("A <a>,B <b>", ["a", "b"]),
    ],
)
def test_a_list_is_split_at_the_commas_outside_of_quotes(text: str, expected: list[str]) -> None:
    assert [address.name for address in parse_list(text)] == expected


@pytest.mark.parametrize(
    "text", ["a, b c", 'a, "b', "a; b", "a, <b", "a\nb", ",".join(["a"] * (MAX_LIST + 1)), "," * 10**6]
)
def test_one_bad_entry_refuses_the_whole_list(text: str) -> None:
    with pytest.raises(AddressError):
        parse_list(text)


def test_a_list_of_the_largest_size_is_taken() -> None:
    longest = Address("n" * 64, "t" * 64, ".".join(["h" * 60] * 4), '"' * 200)
    assert len(format_address(longest)) <= MAX_TEXT
    assert parse_list(format_list([longest] * MAX_LIST)) == (longest,) * MAX_LIST


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (Address("ada"), "ada"),
        (Address("ada", display="Ada Lovelace"), "Ada Lovelace <ada>"),
        (Address("ada", "x", "h", "Lovelace, Ada"), '"Lovelace, Ada" <ada+x@h>'),
        (Address("ada", display='a"b\\c'), '"a\\"b\\\\c" <ada>'),
    ],
)
def test_an_address_is_written_quoted_only_where_needed(address: Address, text: str) -> None:
    assert format_address(address) == str(address) == text


@pytest.mark.parametrize(
    "parts",
    [
        {"name": "Ada"},
        {"name": "a\u030a"},
        {"name": ""},
        {"name": "a", "tag": ""},
        {"name": "a", "tag": "X"},
        {"name": "a", "host": "H"},
        {"name": "a", "display": ""},
        {"name": "a", "display": " x"},
        {"name": "a", "display": "x  y"},
        {"name": "a", "display": "x\ny"},
    ],
)
def test_an_address_can_not_be_made_of_parts_that_are_not_normal(parts: dict[str, str]) -> None:
    with pytest.raises(AddressError):
        Address(**parts)


def test_only_the_name_says_who_is_meant() -> None:
    a, b, c = parse("Ada <ada+x@here>"), parse("ADA"), parse("adah")
    assert same(a, b)
    assert not same(b, c)
    assert unique([a, c, b]) == (a, c)
    assert a.tag == "x"


@given(addresses)
@example(Address("a", display="a,b"))
@example(Address("a", display="\\"))
def test_formatting_and_parsing_gives_the_same_address(address: Address) -> None:
    assert parse(format_address(address)) == address


@given(st.lists(addresses, max_size=6))
def test_formatting_and_parsing_gives_the_same_list(many: list[Address]) -> None:
    assert parse_list(format_list(many)) == tuple(many)


@given(nasty | st.text(max_size=200))
@example("ſ")
@example("\u0345")
@example("ᾼ\u0345")
def test_any_text_is_an_address_in_normal_form_or_the_documented_error(text: str) -> None:
    with suppress(AddressError):
        address = parse(text)
        assert parse(str(address)) == address


@given(nasty)
def test_the_error_is_one_printable_line_whatever_the_text(text: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse(f"{text}\0")
    assert str(caught.value).isprintable()


@given(nasty)
def test_any_text_is_a_list_or_the_documented_error(text: str) -> None:
    with suppress(AddressError):
        many = parse_list(text)
        assert parse_list(format_list(many)) == many


@given(names, names)
def test_letter_case_makes_no_difference(a: str, b: str) -> None:
    with suppress(AddressError):
        if normal_name(a.upper()) == a:
            assert same(parse(a.upper()), parse(a))
    assert same(parse(a), parse(b)) is (a == b)


def test_folding_a_name_twice_changes_nothing() -> None:
    for point in (*range(0x3000), *range(0xF900, 0x10500), *range(0x1D400, 0x1D800)):
        with suppress(AddressError):
            name = normal_name(chr(point))
            assert normal_name(name) == name, hex(point)
