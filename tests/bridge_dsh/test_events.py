"""dsh's lines, whole captures of dsh 0.2.1-rc.2 and lines that no dsh writes."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_dsh.agent_turn import Ended, told
from bridge_dsh.events import Reader
from bridge_dsh.vendor.line_splitter import LineSplitter
from bridge_dsh.vendor.turn import Event, Started, Status, StopSignal, Text, Thinking, ToolCall, ToolResult

SAMPLES = Path(__file__).with_name("samples")


def read(name: str) -> tuple[Reader, list[Event]]:
    reader = Reader()
    lines = (SAMPLES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return reader, [event for line in lines for event in reader.feed(line)]


@pytest.mark.parametrize(
    ("name", "code", "text", "class_"),
    [
        ("ok", 0, "Hello from the fake model. 你好。 messages=1", None),
        ("resume", 0, "Hello from the fake model. 你好。 messages=3", None),
        ("tool-ok", 0, "Tool said is_error=False: hi", None),
        ("readonly-denied", 0, "Tool said is_error=True", None),
        ("auth-error", 1, "", "not_signed_in"),
        ("no-key", 1, "", "not_signed_in"),
        ("max-tokens", 1, "cut off", "context_too_long"),
        ("bad-flag", 1, "", "bad_option"),
        ("no-task", 1, "", "bad_option"),
        ("unknown-session", 1, "", "session_elsewhere"),
        # Not asked to stop by the bridge, and ended by a signal all the same: the status alone would be a success.
        ("sigterm", 0, "tick0 tick1", "crashed"),
        ("sigint", 130, "tick0 tick1", "crashed"),
    ],
)
def test_a_captured_run_is_read_to_its_outcome(name: str, code: int, text: str, class_: str | None) -> None:
    reader, _ = read(name)
    ended = Ended(reader, code, "", stopped=False, silent=False)
    outcome = told(ended, StopSignal(), secrets=(), context_lost=False, note="")
    assert (outcome.failure.class_ if outcome.failure else None) == class_
    assert outcome.text.startswith(text)
    assert bool(outcome.text) == bool(text)
    assert ended.whole == (class_ is None)


@pytest.mark.parametrize(
    ("code", "ending", "final"), [(1, "completed", "x"), (0, "", "x"), (0, "completed", None), (0, "error", "x")]
)
def test_no_sign_alone_is_success(code: int, ending: str, final: str | None) -> None:
    reader = Reader(ending=ending, final=final, said="x")
    outcome = told(Ended(reader, code, "", False, False), StopSignal(), secrets=(), context_lost=False, note="")
    assert outcome.failure is not None


def test_a_stopped_run_is_stopped_and_keeps_what_it_said() -> None:
    reader, _ = read("sigint")
    stop = StopSignal()
    stop.stop("timed_out")
    outcome = told(Ended(reader, 130, "", True, False), stop, secrets=(), context_lost=False, note="")
    assert (outcome.stopped, outcome.failure) == ("timed_out", None)
    assert outcome.text.startswith("tick0")
    assert outcome.native_session_id == reader.session_id


def test_an_answer_that_was_whole_before_the_stop_is_kept() -> None:
    reader, _ = read("ok")
    stop = StopSignal()
    stop.stop("shutdown")
    outcome = told(Ended(reader, 0, "", True, False), stop, secrets=(), context_lost=False, note="")
    assert (outcome.stopped, outcome.failure) == (None, None)
    assert outcome.text.startswith("Hello")


def test_the_session_is_known_from_the_first_line() -> None:
    line = (SAMPLES / "ok.jsonl").read_text().splitlines()[0]
    assert Reader().feed(line) == [Started("session-842a73db-3677-47be-8396-4d2136721961")]


def test_tools_and_tokens_are_read() -> None:
    reader, events = read("tool-ok")
    assert [event for event in events if isinstance(event, ToolCall | ToolResult)] == [
        ToolCall("toolu_1", "bash", "echo hi; exit 3"),
        ToolResult("toolu_1", "bash", True, "hi\n[exit code: 3]"),
    ]
    assert (reader.input_tokens, reader.output_tokens) == (200, 14)


def test_a_tool_that_a_sandbox_stopped_is_named() -> None:
    reader, _ = read("readonly-denied")
    assert reader.denied == ["write"]
    assert not reader.powerless


def test_text_about_a_read_only_file_system_is_no_refusal() -> None:
    reader = Reader()
    reader.feed('{"type":"tool_call","callId":"a","tool":"bash","input":{"command":"cat log"}}')
    reader.feed(
        '{"type":"tool_result","callId":"a","status":"completed","result":"EROFS was in the log\\n[exit code: 0]"}'
    )
    assert reader.denied == []
    reader.feed('{"type":"tool_call","callId":"b","tool":"bash","input":{"command":"touch x"}}')
    reader.feed(
        '{"type":"tool_result","callId":"b","status":"completed","result":"Read-only file system\\n[exit code: 1]"}'
    )
    assert reader.denied == ["bash"]


def test_a_turn_in_which_no_command_ran_says_so() -> None:
    """dsh ends such a turn well."""
    reader, _ = read("ok")
    reader.feed('{"type":"tool_call","callId":"a","tool":"bash","input":{}}')
    refusal = 'Error: sandbox mode "read-only" is requested but no sandbox backend is usable on this host; refusing'
    reader.feed(json.dumps({"type": "tool_result", "callId": "a", "status": "error", "result": refusal}))
    outcome = told(Ended(reader, 0, "", False, False), StopSignal(), secrets=(), context_lost=False, note="")
    assert outcome.denied_tools == ("bash",)
    assert "refused to run commands" in outcome.note


def test_the_last_of_several_turns_counts() -> None:
    reader, _ = read("auth-error")
    for line in (
        '{"type":"status","phase":"turn_start","turn":2}',
        '{"type":"status","phase":"turn_end","turn":2,"reason":{"kind":"completed"}}',
        '{"type":"final","text":"done in the second"}',
    ):
        reader.feed(line)
    assert (reader.ending, reader.error, reader.final) == ("completed", "", "done in the second")


def test_a_turn_that_began_and_did_not_end_is_not_ended_by_the_one_before() -> None:
    reader, _ = read("ok")
    reader.feed('{"type":"status","phase":"turn_start","turn":2}')
    assert reader.ending == ""


def test_the_answer_is_whole_where_the_text_was_cut() -> None:
    reader = Reader()
    reader.feed(json.dumps({"type": "text", "text": "a" * 8192, "truncated": True}))
    reader.feed(json.dumps({"type": "final", "text": "a" * 3_000_000}))
    assert reader.final == "a" * 3_000_000


@pytest.mark.parametrize(
    "text",
    [
        *("", "not JSON", "[]", "{", '{"type":7}', "[" * 100_000, "\x00"),
        '{"type":"session","sessionId":7}',
        '{"type":"status","phase":"step_end","usage":{"inputTokens":-1,"outputTokens":true,"cacheReadTokens":1e999}}',
        '{"type":"status","phase":"turn_end","reason":"completed"}',
        '{"type":"tool_result","callId":[1],"result":{}}',
        '{"type":"invented","by":"a later dsh"}',
    ],
)
def test_what_can_t_be_understood_is_passed_over(text: str) -> None:
    reader = Reader()
    reader.feed(text)
    assert (reader.session_id, reader.ending, reader.final, reader.input_tokens) == (None, "", None, 0)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = ("type", "phase", "text", "callId", "tool", "input", "result", "status", "usage", "reason", "turn", "message")
WORDS = ("session", "status", "text", "thinking", "tool_call", "tool_result", "final", "error", "turn_end", "step_end")
objects = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(WORDS) | json_values, max_size=6)


@given(st.lists(st.text(max_size=30) | objects.map(json.dumps), max_size=6))
def test_no_line_breaks_the_reader(lines: list[str]) -> None:
    reader = Reader()
    for text in lines:
        for event in reader.feed(text):
            assert isinstance(event, Started | Text | Thinking | ToolCall | ToolResult | Status)
            str(event).encode()
    told(Ended(reader, 1, "", False, False), StopSignal(), secrets=(), context_lost=False, note="")


@given(st.data())
def test_how_the_bytes_are_cut_makes_no_difference(data: st.DataObject) -> None:
    raw = (SAMPLES / "ok.jsonl").read_bytes()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=8)))
    splitter, reader = LineSplitter(), Reader()
    events: list[Event] = []
    for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True):
        for each in splitter.feed(raw[start:end]):
            events += reader.feed(each.text)
    whole, expected = read("ok")
    assert events == expected
    assert reader == whole
