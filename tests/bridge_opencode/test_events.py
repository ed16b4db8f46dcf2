"""The server's events as events of a turn."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_opencode.events import Asked, Reader, Retry
from bridge_opencode.vendor.turn import Event, Status, Text, Thinking, ToolCall, ToolResult

SESSION = "ses_1"


def data(kind: str, **properties: Any) -> str:
    payload = {"id": "evt_1", "type": kind, "properties": {"sessionID": SESSION, **properties}}
    return json.dumps({"directory": "/w", "project": "global", "payload": payload})


def message(id_: str = "msg_1", session: str = SESSION, role: str = "assistant", **more: Any) -> str:
    return data("message.updated", info={"id": id_, "role": role, "sessionID": session, **more})


def part(kind: str, id_: str = "prt_1", message_id: str = "msg_1", **more: Any) -> str:
    return data("message.part.updated", part={"id": id_, "type": kind, "messageID": message_id, **more})


def tool(status: str, name: str = "bash", **state: Any) -> str:
    return part("tool", "prt_2", tool=name, callID="call_1", state={"status": status, **state})


def delta(text: str, part_id: str = "prt_1") -> str:
    return data("message.part.delta", messageID="msg_1", partID=part_id, field="text", delta=text)


def read(*lines: str) -> tuple[Reader, list[Event]]:
    reader = Reader(SESSION)
    return reader, [event for line in lines for event in reader.feed(line)]


def test_what_the_assistant_says_is_shown_as_it_comes() -> None:
    reader, events = read(
        message(),
        part("text", text=""),
        delta("Hel"),
        delta("lo"),
        part("reasoning", "prt_9"),
        delta("hm", "prt_9"),
        part("text", text="Hello", time={"start": 1, "end": 2}),
    )
    assert events == [Text("Hel"), Text("lo"), Thinking("hm")]
    assert reader.said == "Hello"


def test_what_the_person_said_is_not_taken_for_the_assistant_s() -> None:
    reader, events = read(
        message(role="user"), part("text", text="the prompt", time={"start": 1, "end": 1}), delta("x")
    )
    assert (events, reader.said) == ([], "")


def test_a_message_whose_beginning_was_missed_is_known_by_its_parts() -> None:
    _, events = read(part("step-start", "prt_0"), part("text", text=""), delta("x"))
    assert events == [Text("x")]


def test_a_tool_is_shown_once_when_it_runs_and_once_when_it_ended() -> None:
    arguments = {"command": "make"}
    _, events = read(
        tool("pending", input={}),
        tool("running", input=arguments),
        tool("running", input=arguments, metadata={"output": "a"}),
        tool("completed", input=arguments, output="a\n"),
    )
    assert events == [ToolCall("call_1", "bash", "make"), ToolResult("call_1", "bash", True, "a\n")]


@pytest.mark.parametrize(
    ("state", "denied"),
    [
        ({"error": "The user has specified a rule which prevents you from using this specific tool call."}, ["bash"]),
        (
            {"error": "The user rejected permission to use this specific tool call with the following feedback: no"},
            ["bash"],
        ),
        ({"error": "Model tried to call unavailable tool 'invalid'. Available tools: read."}, ["bash"]),
        ({"error": "Command failed"}, []),
    ],
)
def test_a_refused_tool_is_told_from_one_that_failed(state: dict[str, Any], denied: list[str]) -> None:
    reader, events = read(tool("error", input={"command": "x"}, **state))
    assert reader.denied == denied
    assert isinstance(events[-1], ToolResult)
    assert not events[-1].ok


def test_a_tool_that_is_not_offered_counts_as_denied_and_a_wrong_argument_does_not() -> None:
    unavailable = {"tool": "bash", "error": "Model tried to call unavailable tool 'bash'. Available tools: read."}
    reader, events = read(tool("completed", "invalid", input=unavailable, output="The arguments are invalid"))
    assert reader.denied == ["bash"]
    assert [type(event) for event in events] == [ToolCall, ToolResult]
    wrong = {"tool": "read", "error": "Invalid input for tool read: expected string"}
    assert read(tool("completed", "invalid", input=wrong, output="x"))[0].denied == []


def test_a_provider_that_is_tried_again_is_shown() -> None:
    """opencode#40330: minutes of tries without a word"""
    status = {"type": "retry", "attempt": 2, "message": "Rate limit reached\nmore", "next": 1796077795369}
    reader, events = read(data("session.status", status=status))
    assert reader.retry == Retry(2, "Rate limit reached\nmore", 1796077795369.0)
    assert events == [Status("the model failed, opencode tries again (try 2): Rate limit reached")]


def test_a_question_of_any_session_is_seen() -> None:
    """opencode#37902: a sub-agent's"""
    asked = {
        "id": "per_1",
        "sessionID": "ses_sub",
        "permission": "bash",
        "patterns": ["ls"],
        "always": ["ls *"],
        "metadata": {"command": "ls"},
    }
    reader, _ = read(data("permission.asked", **asked), data("question.asked", id="que_1", sessionID="ses_sub"))
    assert reader.asked == [Asked("per_1", "bash", ("ls",), ("ls *",), {"command": "ls"})]
    assert reader.questions == ["que_1"]


def test_usage_is_counted_once_per_message_and_for_sub_agents_too() -> None:
    tokens = {"input": 90, "output": 15, "reasoning": 5, "cache": {"read": 10, "write": 0}}
    reader, _ = read(message(tokens={}), message(tokens=tokens, cost=0.5), message("msg_2", "ses_sub", tokens=tokens))
    assert reader.messages == {"msg_1": (100, 20, 0.5), "msg_2": (100, 20, 0.0)}


def test_other_sessions_are_not_shown() -> None:
    assert read(data("session.idle", sessionID="ses_sub"))[0].idle is False
    assert read(data("session.idle"))[0].idle is True


@pytest.mark.parametrize("line", ["", "x", "[]", "{}", "null", '{"payload": 3}', "[" * 100_000, data("new.kind")])
def test_what_is_unknown_is_passed_over(line: str) -> None:
    assert read(line)[1] == []


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=10,
)
KINDS = st.sampled_from(
    ["message.updated", "message.part.updated", "message.part.delta", "session.status", "permission.asked", "x"]
)
KEYS = st.sampled_from(["info", "part", "status", "delta", "id", "permission", "patterns", "metadata", "sessionID"])


@given(st.lists(st.tuples(KINDS, st.dictionaries(KEYS, JSON, max_size=5)), max_size=5))
def test_no_event_breaks_the_reader(events: list[tuple[str, dict[str, Any]]]) -> None:
    reader = Reader(SESSION)
    for kind, properties in events:
        shown = reader.feed(data(kind, **properties))
        assert all(json.dumps(getattr(event, "text", "")).encode() for event in shown)
