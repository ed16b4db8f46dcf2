import re
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ..mail_session_id import Resume, Tie, resume, session_id

HERE = Path("/srv/site")
TIE = Tie("ses_1", "native-new", "/srv/site")


def test_a_session_id_is_always_the_same() -> None:
    assert session_id("thr_1", "zcode", "site") == "ses_79fd5d1bbfe382ce8d13a8c88272b021"


@pytest.mark.parametrize(
    "parts", [("thr_1", "zcode", "site"), ("", "", ""), ("文", "\ud800", "a/b"), ("x" * 9999, "", "")]
)
def test_a_session_id_is_a_version_8_uuid_in_hex(parts: tuple[str, str, str]) -> None:
    made = session_id(*parts)
    assert re.fullmatch(r"ses_[0-9a-f]{32}", made)
    assert UUID(made[4:]).version == 8
    assert UUID(made[4:]).variant == "specified in RFC 4122"


parts = st.tuples(*[st.text("ab/\0é", max_size=4)] * 3)


@given(parts, parts)
def test_two_sessions_share_an_id_only_when_thread_agent_and_workspace_are_the_same(
    a: tuple[str, str, str], b: tuple[str, str, str]
) -> None:
    assert (session_id(*a) == session_id(*b)) is (a == b)


def test_text_moved_from_one_part_to_the_next_makes_another_session() -> None:
    assert len({session_id("ab", "c", "d"), session_id("a", "bc", "d"), session_id("a", "b", "cd")}) == 3


@pytest.mark.parametrize(
    ("native_id", "tie", "expected"),
    [
        (None, None, Resume(None)),
        ("native", None, Resume("native")),
        (None, TIE, Resume("native-new")),
        ("native", TIE, Resume("native-new")),
    ],
)
def test_a_session_goes_on_in_the_directory_it_began_in(
    native_id: str | None, tie: Tie | None, expected: Resume
) -> None:
    assert resume(native_id, tie, HERE) == expected


@pytest.mark.parametrize("native_id", [None, "native"])
def test_a_session_does_not_go_on_in_another_directory(native_id: str | None) -> None:
    """claude-code#62406"""
    got = resume(native_id, TIE, Path("/srv/elsewhere"))
    assert got.native_session_id is None
    assert got.context_lost
    assert "another directory" in got.reason
