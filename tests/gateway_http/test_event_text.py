"""Events as bytes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmail_gateway.http.event_text import comment, frame, reset


def test_a_stored_event_carries_its_id() -> None:
    item = frame(7, "new_mail", {"mail_id": "mail_1", "turn_id": "turn_1"})
    assert item.data == b'id: 7\nevent: new_mail\ndata: {"mail_id":"mail_1","turn_id":"turn_1"}\n\n'
    assert (item.id, item.turn_id) == (7, "turn_1")


def test_a_live_event_carries_no_id() -> None:
    item = frame(0, "turn_progress", {"turn_id": "turn_1"})
    assert item.data == b'event: turn_progress\ndata: {"turn_id":"turn_1"}\n\n'
    assert (item.id, item.turn_id) == (0, None)


@pytest.mark.parametrize("kind", ["turn_state", "turn_cancel"])
def test_only_new_mail_counts_as_pushed(kind: str) -> None:
    assert frame(1, kind, {"turn_id": "turn_1"}).turn_id is None


def test_a_comment_moves_the_cursor_and_dispatches_nothing() -> None:
    assert comment("ping", 12) == b": ping\nid: 12\n\n"


def test_a_reset_says_why_and_where_to_go_on() -> None:
    assert reset("unknown_cursor", 12) == b'id: 12\nevent: reset\ndata: {"reason":"unknown_cursor"}\n\n'


@given(st.dictionaries(st.text(), st.text()))
def test_no_text_can_break_out_of_its_event(data: dict[str, str]) -> None:
    block = frame(1, "turn_progress", dict(data)).data
    assert block.count(b"\n") == 4
    assert b"\r" not in block
    assert json.loads(block.split(b"data: ", 1)[1]) == data
