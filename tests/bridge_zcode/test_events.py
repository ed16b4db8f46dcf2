"""The event reader."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_zcode.events import EventReader, ReportedError
from bridge_zcode.vendor.line_splitter import LineSplitter
from bridge_zcode.vendor.turn import Started, Status, Text, Thinking, ToolCall, ToolResult
from bridge_zcode.vendor.wire import Usage

from .lines import CHILD, SESSION, event, failed, quota, read, result, success, tool


def test_a_plain_turn() -> None:
    events, facts = read(success("Done."))
    assert events == [Started(SESSION), Text("Done.")]
    assert (facts.text, facts.session_id, facts.result_seen, facts.result_type) == ("Done.", SESSION, True, "success")
    assert facts.usage == Usage(input_tokens=900, output_tokens=3)
    assert facts.tools.denied == facts.tools.ran == ()


def test_the_key_order_does_not_matter() -> None:
    reordered = [json.dumps(dict(sorted(json.loads(line).items(), reverse=True))) for line in success()]
    assert read(reordered)[0] == read(success())[0]


def test_the_duration_of_the_turn_is_kept_when_no_result_comes() -> None:
    assert read(success()[:-1])[1].usage == Usage(input_tokens=900, duration_ms=1990)


def test_the_answer_is_the_result_then_the_completed_turn_then_the_deltas() -> None:
    deltas = [event("model.streaming", kind="text_delta", delta=part) for part in ("one ", "two")]
    completed = event("turn.completed", response="completed")
    assert read(deltas)[1].text == "one two"
    assert read([*deltas, completed])[1].text == "completed"
    assert read([*deltas, completed, result("result")])[1].text == "result"
    assert read([*deltas, result("  ")])[1].text == "one two"


def test_reasoning_is_thinking() -> None:
    assert read([event("model.streaming", kind="reasoning_delta", delta="hm")])[0] == [Started(SESSION), Thinking("hm")]


def test_a_tool_is_called_once_and_ends_once() -> None:
    events, facts = read(
        [
            event("model.streaming", kind="tool_call", toolCallId="c1", toolName="Read", input={"path": "a"}),
            tool("scheduled", toolName="Read", input={"path": "a"}),
            tool("started", startedAt=1),
            tool("result", result={"success": True, "content": "text"}, duration=3),
            tool("result", result={"success": True, "content": "text"}, duration=3),
        ]
    )
    assert events[1:] == [ToolCall("c1", "Read", '{"path": "a"}'), ToolResult("c1", "Read", True, "text")]
    assert facts.tools.ran == ("Read",)


@pytest.mark.parametrize(
    "lines",
    [
        [tool("scheduled", toolName="X"), tool("started")],
        [tool("started", toolName="X")],
        [tool("scheduled", toolName="X"), tool("progress")],
        [tool("scheduled", toolName="X"), tool("result", result={"success": True})],
        [tool("scheduled", session=CHILD, toolName="X"), tool("started", session=CHILD)],
    ],
)
def test_a_tool_that_started_is_seen_in_any_session(lines: list[str]) -> None:
    facts = read(lines)[1]
    assert facts.tools.newly_ran() == ("X",)
    assert facts.tools.newly_ran() == ()


@pytest.mark.parametrize(
    "lines",
    [
        [tool("scheduled", toolName="X")],
        [tool("scheduled", toolName="X"), tool("error", error={"message": "no such tool"})],
        [tool("scheduled", toolName="X"), tool("result", result={"success": False, "content": "unknown tool"})],
    ],
)
def test_a_tool_that_was_only_asked_for_did_not_run(lines: list[str]) -> None:
    assert read(lines)[1].tools.ran == ()


@pytest.mark.parametrize(
    "lines",
    [
        [
            event(
                "permission.resolved",
                toolCallId="c1",
                reason="No permission client configured for mcp__a__b",
                decision="deny",
            )
        ],
        [tool("error", error={"code": "x", "message": "No permission client configured for mcp__a__b"})],
        [
            tool("scheduled", toolName="mcp__a__b"),
            tool("error", error={"message": "Plan mode only allows read-only, non-destructive tools"}),
        ],
        [tool("scheduled", toolName="mcp__a__b"), event("permission.resolved", toolCallId="c1", decision="deny")],
    ],
)
def test_denied_tools_are_named(lines: list[str]) -> None:
    """A run in build or edit mode exits 0 with nothing done, every tool denied."""
    assert read(lines)[1].tools.denied == ("mcp__a__b",)


def test_an_allowed_permission_is_no_denial() -> None:
    assert read([event("permission.resolved", toolCallId="c1", decision="allow")])[1].tools.denied == ()


def test_the_events_of_a_child_session_say_nothing_about_the_turn() -> None:
    lines = success("Ours.")
    child = [
        event("turn.started", CHILD, turnNumber=1),
        event("model.streaming", CHILD, kind="text_delta", delta="theirs"),
        event("turn.completed", CHILD, response="theirs", resultType="cancelled"),
        event("turn.failed", CHILD, error={"message": "theirs"}),
        event("session.updated", CHILD, type="model_request_failed", message="theirs"),
    ]
    assert read([*lines[:2], *child, *lines[2:]])[0] == read(lines)[0]
    facts = read([*lines[:2], *child, *lines[2:]])[1]
    assert (facts.text, facts.result_type, facts.turn_error, facts.request_error) == ("Ours.", "success", None, None)


def test_the_result_line_knows_the_session_best() -> None:
    assert read([event("turn.started", CHILD), result("x", SESSION)])[1].session_id == SESSION


def test_a_refused_request_is_told_and_kept() -> None:
    events, facts = read(quota())
    assert any(isinstance(one, Status) and "attempt 1 of 11" in one.text for one in events)
    error = facts.request_error
    assert error is not None
    assert (error.provider_code, error.status, error.retryable, error.code) == (
        "1308",
        429,
        False,
        "model_rate_limited",
    )
    assert facts.turn_error is not None
    assert facts.turn_error.provider_code == "1308"
    assert not facts.result_seen


@pytest.mark.parametrize("message", ["bad JSON in tool input", "x" * 1_000_000])
def test_a_failed_turn_is_kept_within_bounds(message: str) -> None:
    facts = read([failed(message)])[1]
    assert facts.turn_error is not None
    assert facts.turn_error.message[:20] == message[:20]
    assert len(facts.turn_error.message) < 5_000


def test_a_failed_turn_may_say_why_in_a_string() -> None:
    assert read([event("turn.failed", error="why")])[1].turn_error == ReportedError("why")


@pytest.mark.parametrize(
    "noise",
    [
        "AI SDK Warning System: To turn off warning logging, set a global",
        "\x1b[2mbanner\x1b[0m",
        "{",
        "[1,2,3]",
        '"text"',
        "{}",
        '{"type":"result"',
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"payload":7,"sessionId":9,"type":null}',
        '{"type":"something.new","sessionId":"' + SESSION + '","payload":{"deep":[1]}}',
        '{"sessionId":"' + SESSION + '","type":"tool.updated","payload":{"kind":"result","result":7}}',
        '{"sessionId":"' + SESSION + '","type":"session.updated"}',
        "\ufeff",
        "9" * 10_000,
    ],
)
def test_noise_anywhere_changes_nothing(noise: str) -> None:
    plain = read(success())[1]
    for position in range(len(success()) + 1):
        lines = success()
        lines.insert(position, noise)
        facts = read(lines)[1]
        assert (facts.text, facts.result_seen, facts.result_type, facts.usage) == (
            plain.text,
            plain.result_seen,
            plain.result_type,
            plain.usage,
        )


def test_the_first_noise_is_kept_for_when_nothing_else_says_why() -> None:
    facts = read(["banner one", "banner two"])[1]
    assert (facts.first_noise, facts.unreadable_lines) == ("banner one", 2)


def test_a_clipped_line_is_not_read() -> None:
    reader = EventReader()
    assert reader.line(result("x"), clipped=True) == []
    assert reader.facts.unreadable_lines == 1
    assert not reader.facts.result_seen


def test_a_line_of_ten_megabytes_is_read_and_told_in_short() -> None:
    events, _ = read([tool("scheduled", toolName="Read"), tool("result", result={"content": "x" * 10_000_000})])
    assert isinstance(events[-1], ToolResult)
    assert len(events[-1].text) < 1_000


def test_a_character_that_javascript_cut_in_two_becomes_whole() -> None:
    halves = [
        f'{{"payload":{{"kind":"text_delta","delta":"{half}"}},"sessionId":"{SESSION}","type":"model.streaming"}}'
        for half in ("\\ud83d", "\\ude00")
    ]
    events, facts = read(halves)
    assert facts.text == "😀"
    assert all(one.text.encode() for one in events if isinstance(one, Text))


def test_lone_halves_never_reach_the_answer() -> None:
    facts = read([result("a\ud800b")])[1]
    assert facts.text == "a\ufffdb"


def test_the_recorded_results_of_an_older_version_have_the_fields_that_are_read() -> None:
    recorded = {
        "sessionId": "sess_5e8753c0-7913-4a6a-9790-ef86f8d814e6",
        "turnId": "turn_896624bc-6195-4b0d-acf4-4e672aa24968",
        "response": "OK",
        "usage": {"source": "provider", "inputTokens": 8899, "outputTokens": 2, "totalTokens": 8901},
        "eventCount": 11,
        "projection": {"status": "idle", "turnCount": 1},
    }
    facts = read([json.dumps({"type": "result", **recorded})])[1]
    assert (facts.text, facts.session_id) == ("OK", recorded["sessionId"])
    assert facts.usage == Usage(input_tokens=8899, output_tokens=2)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KINDS = [
    "result",
    "turn.started",
    "turn.completed",
    "turn.failed",
    "model.streaming",
    "tool.updated",
    "session.updated",
    "permission.resolved",
]
FIELDS = [
    "kind",
    "type",
    "delta",
    "response",
    "usage",
    "error",
    "result",
    "toolCallId",
    "toolName",
    "input",
    "decision",
    "reason",
    "message",
    "statusCode",
    "attempt",
    "resultType",
    "duration",
]
INNER = [
    "text_delta",
    "reasoning_delta",
    "tool_call",
    "scheduled",
    "started",
    "result",
    "error",
    "model_request_failed",
    "deny",
]
payloads = st.dictionaries(st.sampled_from(FIELDS), json_values | st.sampled_from(INNER), max_size=6)


@given(st.lists(st.tuples(st.sampled_from(KINDS), json_values | st.just(SESSION), payloads | json_values), max_size=12))
def test_no_shape_of_a_line_raises(rows: list[tuple[str, object, object]]) -> None:
    lines = [
        json.dumps({"type": kind, "sessionId": session, "payload": payload, "response": payload})
        for kind, session, payload in rows
    ]
    _, facts = read(lines)
    assert facts.text.encode() is not None


@given(st.binary(max_size=300))
def test_no_bytes_raise(data: bytes) -> None:
    splitter = LineSplitter()
    read([line.text for line in [*splitter.feed(data), *splitter.end()]])


@given(st.data())
def test_whole_or_in_any_pieces_the_same_events_and_facts(data: st.DataObject) -> None:
    stream = "\n".join([*success("你好 😀"), "banner", *quota()]).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    splitter = LineSplitter()
    lines = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        lines += splitter.feed(stream[start:end])
    lines += splitter.end()
    expected_events, expected = read(stream.decode().split("\n"))
    events, facts = read([line.text for line in lines])
    assert events == expected_events
    assert (facts.text, facts.request_error, facts.turn_error) == (
        expected.text,
        expected.request_error,
        expected.turn_error,
    )


def test_a_turn_of_endless_tool_calls_stays_bounded() -> None:
    reader = EventReader()
    for number in range(6_000):
        reader.line(tool("scheduled", call=f"c{number}", toolName=f"T{number}"))
        reader.line(tool("started", call=f"c{number}"))
    assert len(reader.facts.tools.ran) <= 4_096
    assert sys.getsizeof(reader.facts.tools.ran) < 100_000
