import re

from hypothesis import given
from hypothesis import strategies as st

from ..relay_key import Kind, reply_key, spool_key

KINDS: tuple[Kind, ...] = ("reply", "finish", "release")
turns = st.text("turn_01:", min_size=1, max_size=6)


def test_the_key_of_a_reply_is_the_same_in_every_process() -> None:
    assert reply_key("turn_1") == "rk_b370203e8cfb43df0cb6707c4bdd3739b4e6c541"


def test_a_key_is_short_and_fit_for_a_header() -> None:
    for turn in ("turn_1", "", "文", "\ud800", "x\r\ny", "x" * 10_000):
        assert re.fullmatch(r"rk_[0-9a-f]{40}", reply_key(turn))


def test_a_second_attempts_reply_has_the_key_of_the_first() -> None:
    """openclaw#29106"""
    assert {spool_key("reply", "turn_1", lease) for lease in (1, 2, 3)} == {reply_key("turn_1")}


@given(
    st.tuples(st.sampled_from(KINDS), turns, st.integers(0, 12)),
    st.tuples(st.sampled_from(KINDS), turns, st.integers(0, 12)),
)
def test_two_keys_are_the_same_only_for_the_same_thing(a: tuple[Kind, str, int], b: tuple[Kind, str, int]) -> None:
    same = a == b or (a[0] == b[0] == "reply" and a[1] == b[1])
    assert (spool_key(*a) == spool_key(*b)) is same


def test_turn_and_lease_do_not_run_into_each_other() -> None:
    assert spool_key("finish", "turn_1", 12) != spool_key("finish", "turn_11", 2)
