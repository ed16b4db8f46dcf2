"""What is said to pi, and when."""

import json

from bridge_pi.rpc import Conversation
from bridge_pi.vendor.turn import Started, Status

STATE = (
    '{"id":"state","type":"response","command":"get_state","success":true,'
    '"data":{"sessionId":"ses-1","messageCount":4}}'
)
TAKEN = '{"id":"prompt","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}'
SETTLED = '{"type":"agent_settled","aborted":false}'


def test_the_prompt_goes_out_once_the_session_is_known() -> None:
    talk = Conversation("a mail\nwith lines")
    assert json.loads(talk.opening())["type"] == "get_state"
    assert talk.feed('{"type":"something else"}') == ([], [])
    events, (line,) = talk.feed(STATE)
    assert events == []
    assert json.loads(line) == {"id": "prompt", "type": "prompt", "message": "a mail\nwith lines"}
    assert (talk.session_id, talk.messages_before) == ("ses-1", 4)
    assert talk.feed(STATE) == ([], [])
    assert talk.feed(TAKEN) == ([Started("ses-1")], [])
    talk.feed(SETTLED)
    assert talk.phase == "over"


def test_no_character_of_a_mail_ends_the_line() -> None:
    talk = Conversation("a\r\n\u2028\u2029\x85\x00b\ud83d 你好")
    _, (line,) = talk.feed(STATE)
    assert line.isascii()
    assert len(line.splitlines()) == 1
    assert json.loads(line)["message"] == "a\r\n\u2028\u2029\x85\x00b\ufffd 你好"


def test_a_prompt_that_is_refused_is_the_end() -> None:
    """No agent_settled follows: a client that waits for one waits for ever."""
    talk = Conversation("x")
    talk.feed(STATE)
    talk.feed('{"id":"prompt","type":"response","command":"prompt","success":false,"error":"No API key found"}')
    assert (talk.phase, talk.refused) == ("over", "No API key found")


def test_a_prompt_that_can_t_be_read_is_the_end() -> None:
    talk = Conversation("x")
    talk.feed(STATE)
    talk.feed('{"type":"response","command":"parse","success":false,"error":"Failed to parse command: x"}')
    assert (talk.phase, talk.refused) == ("over", "Failed to parse command: x")


def test_after_a_stop_no_prompt_goes_out() -> None:
    talk = Conversation("x")
    talk.opening()
    assert json.loads(talk.abort())["type"] == "abort"
    assert talk.feed(STATE) == ([], [])
    assert talk.phase == "over"


def test_a_question_for_a_screen_is_declined() -> None:
    talk = Conversation("x")
    talk.feed(STATE)
    talk.feed(TAKEN)
    events, (line,) = talk.feed('{"type":"extension_ui_request","id":"q1","method":"confirm","title":"Sure?"}')
    assert [type(event) for event in events] == [Status]
    assert json.loads(line) == {"type": "extension_ui_response", "id": "q1", "cancelled": True}
    assert talk.feed('{"type":"extension_ui_request","id":"q2","method":"notify"}') == ([], [])


def test_a_state_that_says_nothing_is_no_obstacle() -> None:
    talk = Conversation("x")
    _, lines = talk.feed('{"id":"state","type":"response","success":false,"error":"?"}')
    assert len(lines) == 1
    assert (talk.session_id, talk.messages_before) == (None, 0)
