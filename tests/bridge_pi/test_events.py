"""pi's lines, whole captures of pi 1.6.0 and lines that no pi writes."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_pi.events import Reader
from bridge_pi.failures import from_reader
from bridge_pi.vendor.line_splitter import LineSplitter
from bridge_pi.vendor.turn import Event, Status, Text, Thinking, ToolCall, ToolResult

SAMPLES = Path(__file__).with_name("samples")


def read(name: str) -> tuple[Reader, list[Event]]:
    reader = Reader()
    lines = (SAMPLES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return reader, [event for line in lines for event in reader.feed(line)]


def line(**data: object) -> str:
    return json.dumps(data)


@pytest.mark.parametrize(
    ("name", "text", "class_"),
    [
        ("answer", "echo: say hi (n_msgs=2)", None),
        ("rpc-refused-tool", "FINAL after 2 tool steps", None),
        ("bad-arguments", "FINAL after 1 tool steps", None),
        ("401", "", "not_signed_in"),
        ("429", "", "rate_limited"),
        ("500", "", "overloaded"),
        ("dropped", "partial text before drop", "overloaded"),
        ("content-filter", "filtered", "content_filtered"),
        ("empty", "", "empty_answer"),
        ("length", "cut off answer", "context_too_long"),
    ],
)
def test_a_captured_turn_is_read_to_its_outcome(name: str, text: str, class_: str | None) -> None:
    reader, _ = read(name)
    assert reader.settled
    assert not reader.aborted
    assert reader.text.startswith(text)
    assert bool(reader.text) == bool(text)
    failure = from_reader(reader)
    assert (failure.class_ if failure else None) == class_


def test_a_turn_that_was_broken_off_is_not_settled() -> None:
    reader, events = read("rpc-broken-off")
    assert not reader.settled
    assert [type(event) for event in events][-1] is ToolCall


def test_tokens_and_cost_of_all_of_the_turn_are_counted() -> None:
    reader, _ = read("rpc-refused-tool")
    assert (reader.usage.input_tokens, reader.usage.output_tokens) == (312, 60)
    assert reader.usage.cost == pytest.approx(0.000405)


def test_what_was_not_on_offer_is_named() -> None:
    reader, events = read("rpc-refused-tool")
    assert reader.denied == ["bash"]
    assert [(event.tool, event.ok) for event in events if isinstance(event, ToolResult)] == [
        ("mcp__mail__send_mail", True),
        ("bash", False),
    ]


def test_tries_of_a_failing_model_are_shown() -> None:
    _, events = read("429")
    shown = [event.text for event in events if isinstance(event, Status)]
    assert shown[0].startswith("the model failed, try 1 of 3 in 2 s: 429: ")
    assert len(shown) == 3


def test_an_end_that_a_try_follows_is_not_the_end() -> None:
    """pi#4716"""
    reader = Reader()
    failed = {"role": "assistant", "content": [], "stopReason": "error", "errorMessage": "500: x"}
    good = {"role": "assistant", "content": [{"type": "text", "text": "here"}], "stopReason": "stop"}
    for data in (
        {"type": "message_end", "message": failed},
        {"type": "agent_end", "willRetry": True},
        {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 2000, "errorMessage": "500: x"},
    ):
        reader.feed(line(**data))
    assert reader.settled is False
    reader.feed(line(type="message_end", message=good))
    reader.feed(line(type="agent_settled", aborted=False))
    assert bool(reader.settled)
    assert from_reader(reader) is None
    assert reader.text == "here"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not JSON",
        "[]",
        "null",
        "{",
        '{"type":7}',
        line(type="message_end"),
        line(type="message_end", message=[]),
        line(type="message_end", message={"role": "assistant", "content": "x", "usage": {"input": "many"}}),
        line(type="message_end", message={"role": "assistant", "usage": {"input": -1, "cost": {"total": True}}}),
        '{"type":"message_end","message":{"role":"assistant","usage":{"input":1e999,"cost":{"total":NaN}}}}',
        line(type="message_update", assistantMessageEvent={"type": "text_delta", "delta": None}),
        line(type="tool_execution_end", result={"content": [1, None]}),
        line(type="response", id=[1]),
        line(type="invented", by="a later pi"),
        "[" * 100_000,
        "\x00\x1b[0m",
    ],
)
def test_what_can_t_be_understood_is_passed_over(text: str) -> None:
    reader = Reader()
    assert [event for event in reader.feed(text) if isinstance(event, Text)] == []
    assert (reader.text, reader.settled, reader.usage.cost) == ("", False, 0.0)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = (
    "type",
    "message",
    "role",
    "content",
    "usage",
    "cost",
    "assistantMessageEvent",
    "delta",
    "result",
    "id",
    "method",
)
TYPES = (
    *("response", "message_update", "message_end", "tool_execution_start", "tool_execution_end", "auto_retry_start"),
    *("agent_settled", "extension_ui_request", "compaction_start", "assistant", "text_delta", "thinking_delta"),
)
objects = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(TYPES) | json_values, max_size=6)


@given(st.lists(st.text(max_size=30) | objects.map(json.dumps), max_size=6))
def test_no_line_breaks_the_reader(lines: list[str]) -> None:
    reader = Reader()
    for text in lines:
        for event in reader.feed(text):
            assert isinstance(event, Text | Thinking | ToolCall | ToolResult | Status)
            str(event).encode()
    reader.text.encode()


@given(st.data())
def test_how_the_bytes_are_cut_makes_no_difference(data: st.DataObject) -> None:
    raw = (SAMPLES / "rpc-refused-tool.jsonl").read_bytes()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=8)))
    splitter, reader = LineSplitter(), Reader()
    events: list[Event] = []
    for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True):
        for each in splitter.feed(raw[start:end]):
            events += reader.feed(each.text)
    whole, expected = read("rpc-refused-tool")
    assert events == expected
    assert reader == whole


def test_a_line_of_several_mib_is_read() -> None:
    """hermes#31417"""
    text = "很长" * 1_000_000
    message = {"role": "assistant", "content": [{"type": "text", "text": text}], "stopReason": "stop"}
    reader = Reader()
    reader.feed(json.dumps({"type": "message_end", "message": message}, ensure_ascii=False))
    assert reader.text == text


def test_half_a_character_can_be_written_on() -> None:
    reader = Reader()
    (event,) = reader.feed('{"type":"message_update","assistantMessageEvent":{"type":"text_delta","delta":"\\ud83d"}}')
    assert event == Text("\ufffd")
