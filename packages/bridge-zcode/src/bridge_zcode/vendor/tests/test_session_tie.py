from pathlib import Path

import pytest

from ..mail_session_id import Tie
from ..session_tie import read_tie, write_tie


def test_a_tie_is_read_back(tmp_path: Path) -> None:
    tie = Tie("ses_1", "native", "/srv/文")
    write_tie(tmp_path, tie)
    assert read_tie(tmp_path, "ses_1") == tie


def test_a_later_tie_replaces_the_earlier_and_leaves_nothing_behind(tmp_path: Path) -> None:
    write_tie(tmp_path, Tie("ses_1", "old", "/a"))
    write_tie(tmp_path, Tie("ses_1", "new", "/b"))
    assert read_tie(tmp_path, "ses_1") == Tie("ses_1", "new", "/b")
    assert [path.name for path in tmp_path.iterdir()] == ["tie.json"]


def test_the_tie_of_another_session_is_none(tmp_path: Path) -> None:
    write_tie(tmp_path, Tie("ses_2", "native", "/a"))
    assert read_tie(tmp_path, "ses_1") is None


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"\xff\xfe", b"{}", b'{"session_id":"ses_1","native_id":"","directory":"/a"}', b"null"],
)
def test_an_unreadable_tie_is_none(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "tie.json").write_bytes(data)
    assert read_tie(tmp_path, "ses_1") is None


def test_no_tie_is_none(tmp_path: Path) -> None:
    assert read_tie(tmp_path, "ses_1") is None
    assert read_tie(tmp_path / "missing", "ses_1") is None
