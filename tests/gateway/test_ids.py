import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmail_gateway.ids import MAX_BLOCK, IdMint, Ids, head_at, milliseconds_of

IDS = Ids(b"0123456789abcdef")
HEADS = st.integers(0, (1 << 63) - 1)


@given(HEADS)
def test_an_id_gives_its_head_back(head: int) -> None:
    assert IDS.head("mail", IDS.text("mail", head)) == head


@given(st.integers(0, (1 << 47) - 1))
def test_an_id_is_a_uuid_of_version_seven_with_its_time_in_front(ms: int) -> None:
    """RFC 9562, section 5.7"""
    made = uuid.UUID(IDS.text("turn", head_at(ms)).removeprefix("turn_"))
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == ms


@given(st.text(max_size=60))
def test_any_text_is_an_id_or_is_not(text: str) -> None:
    head = IDS.head("mail", text)
    assert head is None or IDS.text("mail", head) == text


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.upper(),
        lambda text: text[:-1],
        lambda text: text + "0",
        lambda text: "thr_" + text[5:],
        lambda text: text[:5] + "+" + text[6:],
        lambda text: text[:-1] + ("0" if text[-1] != "0" else "1"),
        lambda text: Ids(b"another store 16").text("mail", 5 << 40),
    ],
)
def test_what_this_store_did_not_make_is_no_id(change) -> None:  # type: ignore[no-untyped-def]
    assert IDS.head("mail", change(IDS.text("mail", 5 << 40))) is None


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, MAX_BLOCK)), max_size=50))
def test_heads_only_ever_grow_also_when_the_clock_steps_back(steps: list[tuple[int, int]]) -> None:
    now = 0
    mint = IdMint(lambda: now, 0)
    last = -1
    for ms, size in steps:
        now = ms
        first = mint.block(size)
        assert first > last
        assert milliseconds_of(first) == milliseconds_of(first + size - 1), "a block lies in one millisecond"
        assert (first + size - 1) & 0xF000 == 0x7000
        last = first + size - 1


def test_a_mint_starts_behind_every_id_that_the_store_may_have_made() -> None:
    mint = IdMint(lambda: 0, head_at(1000) + 5)
    assert milliseconds_of(mint.head()) == 1001


@pytest.mark.parametrize("size", [0, MAX_BLOCK + 1])
def test_a_block_has_a_size(size: int) -> None:
    with pytest.raises(ValueError, match="a block holds"):
        IdMint(lambda: 0, 0).block(size)
