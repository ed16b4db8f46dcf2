import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ..bounded import BoundedDict, BoundedSet, Keep, TailBuffer, clip, encodable

KEEPS: tuple[Keep, ...] = ("head", "tail", "middle")
texts = st.text(st.sampled_from("aé文🙂\n \u0301\u200d\ud800👩💻") | st.characters(), max_size=120)


@pytest.mark.parametrize("limit", [0, -1])
def test_a_container_without_room_is_refused(limit: int) -> None:
    for make in (BoundedDict, BoundedSet, TailBuffer):
        with pytest.raises(ValueError, match="at least 1"):
            make(limit)


def test_the_entry_least_recently_used_goes_first() -> None:
    entries: BoundedDict[str, int] = BoundedDict(3)
    for index, key in enumerate("abc"):
        entries[key] = index
    assert entries["a"] == 0
    assert entries.get("b") == 1
    assert "c" in entries
    entries["d"] = 3
    assert entries.items() == (("a", 0), ("b", 1), ("d", 3))
    entries["a"] = 9
    entries["e"] = 4
    assert list(entries) == ["d", "a", "e"]


def test_entries_are_taken_out_and_missing_ones_are_none() -> None:
    entries: BoundedDict[str, int] = BoundedDict(2)
    entries["a"] = 1
    assert entries.pop("a") == 1
    assert entries.pop("a") is None
    assert entries.get("a") is None
    assert entries.get("a", "x") == "x"
    assert len(entries) == 0
    with pytest.raises(KeyError):
        entries["a"]
    with pytest.raises(KeyError):
        del entries["a"]


def test_a_set_forgets_what_was_added_longest_ago() -> None:
    items = BoundedSet(2, "ab")
    assert not items.add("a")
    assert items.add("c")
    assert list(items) == ["a", "c"]
    items.discard("a")
    items.discard("never there")
    assert "a" not in items
    assert len(items) == 1


@given(st.integers(1, 5), st.lists(st.integers(0, 8)))
def test_a_set_holds_the_last_distinct_items_added(limit: int, added: list[int]) -> None:
    newest_first = list(dict.fromkeys(reversed(added)))
    assert list(BoundedSet(limit, added)) == newest_first[:limit][::-1]


@pytest.mark.parametrize(
    ("text", "size", "keep", "expected"),
    [
        ("short", 5, "head", "short"),
        ("", 0, "head", ""),
        ("a" * 100, 40, "head", "a" * 11 + "\n[… 89 bytes left out …]"),
        ("a" * 50 + "b" * 50, 40, "tail", "[… 89 bytes left out …]\n" + "b" * 11),
        ("a" * 50 + "b" * 50, 40, "middle", "aaaaa\n[… 90 bytes left out …]\nbbbbb"),
        ("文" * 2000, 41, "head", "文" * 3 + "\n[… 5,991 bytes left out …]"),
        ("aé", 2, "head", "a"),
        ("éa", 2, "tail", "a"),
        ("🙂🙂", 7, "head", "🙂"),
        ("🙂🙂", 3, "head", ""),
        ("e\u0301x", 3, "head", "e\u0301"),
        ("ae\u0301", 3, "head", "a"),
        ("ae\u0301", 2, "tail", ""),
        ("a👩\u200d💻b", 8, "head", "a"),
        ("a👩\u200d💻b", 5, "tail", "b"),
        ("a👍🏽", 5, "head", "a"),
        ("a\r\n", 2, "head", "a"),
    ],
)
def test_a_text_is_clipped_between_characters(text: str, size: int, keep: Keep, expected: str) -> None:
    assert clip(text, size, keep) == expected


def test_a_heap_of_accents_is_cut_all_the_same() -> None:
    assert clip("a" + "\u0301" * 1000, 101, "head").startswith("a\u0301\u0301")
    assert clip("\u0301" * 1000, 101, "tail").endswith("\u0301" * 33)


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        clip("a", -1)


@given(texts, st.integers(0, 200), st.sampled_from(KEEPS))
@example("a" * 1000, 30, "head")
def test_a_clipped_text_fits_and_says_exactly_what_is_missing(text: str, size: int, keep: Keep) -> None:
    whole = encodable(text)
    got = clip(text, size, keep)
    assert len(got.encode()) <= size
    if len(whole.encode()) <= size:
        assert got == whole
        return
    before, found, rest = got.partition("[… ")
    if not found or "[… " in whole:
        assert whole.startswith(got) or whole.endswith(got) or "[… " in whole
        return
    number, _, after = rest.partition(" bytes left out …]")
    head, tail = before.removesuffix("\n"), after.removeprefix("\n")
    missing = int(number.replace(",", ""))
    assert len(head.encode()) + missing + len(tail.encode()) == len(whole.encode())
    assert whole.startswith(head)
    assert whole.endswith(tail)
    assert (keep == "tail") <= (head == "")
    assert (keep == "head") <= (tail == "")


@given(st.text(max_size=50))
def test_lone_surrogates_alone_are_replaced(text: str) -> None:
    assert encodable(text) == text
    assert encodable(f"{text}\ud800") == f"{text}\ufffd"
    assert encodable("\ud83d\ude42\udc00") == "🙂\ufffd"


@given(st.integers(1, 20), st.lists(st.binary(max_size=12), max_size=8))
def test_a_tail_buffer_keeps_the_last_bytes(limit: int, pieces: list[bytes]) -> None:
    tail = TailBuffer(limit)
    for piece in pieces:
        tail.feed(piece)
    whole = b"".join(pieces)
    assert tail.dropped == max(len(whole) - limit, 0)
    if not tail.dropped:
        assert tail.text() == whole.decode("utf-8", "replace")


@pytest.mark.parametrize(
    ("fed", "text"),
    [
        ([b"abc"], "abc"),
        ([b"abcd", b"ef"], "[… 2 bytes left out …]\ncdef"),
        ([b"abcdefgh"], "[… 4 bytes left out …]\nefgh"),
        (["é".encode() + b"abc"], "[… 2 bytes left out …]\nabc"),
        ([b"\xff\xfe"], "\ufffd\ufffd"),
        ([b"", b"a"], "a"),
    ],
)
def test_a_tail_buffer_starts_with_a_whole_character_and_says_what_is_gone(fed: list[bytes], text: str) -> None:
    tail = TailBuffer(4)
    for data in fed:
        tail.feed(data)
    assert tail.text() == text


def test_no_accent_is_parted_from_its_letter() -> None:
    text = "".join(f"{letter}\u0301" for letter in "abcdefghij" * 20)
    for size in range(30, 300):
        for keep in KEEPS:
            for line in clip(text, size, keep).splitlines():
                assert not unicodedata.combining(line[0])
                assert line.startswith("[") or len(line) % 2 == 0
