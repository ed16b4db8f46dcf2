"""The echo agent's lines as events, and what its turn came to."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_echo.events import Reader
from bridge_echo.vendor.turn import Started, Status, Text, ToolCall, ToolResult
from bridge_echo.vendor.wire import Failure


def line(kind: str, **fields: object) -> str:
    return json.dumps({"type": kind, **fields})


@pytest.mark.parametrize(
    ("text", "event"),
    [
        (line("started", session="s", resumed=True), Started("s")),
        (line("text", text="a"), Text("a")),
        (line("status", text="a"), Status("a")),
        (line("tool", id="1", tool="write", arguments="x"), ToolCall("1", "write", "x")),
        (line("tool_end", id="1", tool="write", ok=False, text="no"), ToolResult("1", "write", False, "no")),
        (line("final", text="done", denied=[]), Text("done")),
        (line("unheard-of", text="a"), None),
        (line("text", text=7), None),
        ("no JSON", None),
        ("[1]", None),
        ("", None),
    ],
)
def test_each_line_is_an_event_or_nothing(text: str, event: object) -> None:
    assert Reader(None).line(text) == event


@given(st.lists(st.text(max_size=60), max_size=10))
def test_no_output_breaks_the_reader(lines: list[str]) -> None:
    reader = Reader("s")
    for text in lines:
        reader.line(text)
    assert reader.outcome(0, "").failure is not None


def test_success_is_a_last_word_and_a_status_of_0() -> None:
    reader = Reader(None)
    reader.line(line("started", session="s"))
    reader.line(line("final", text="done", denied=["write"]))
    outcome = reader.outcome(0, "")
    assert (outcome.text, outcome.failure, outcome.native_session_id) == ("done", None, "s")
    assert outcome.denied_tools == ("write",)
    assert reader.outcome(1, "").failure is not None


def test_a_status_of_0_without_a_last_word_is_a_crash() -> None:
    outcome = Reader(None).outcome(0, "")
    assert outcome.failure is not None
    assert outcome.failure.class_ == "crashed"


def test_a_crash_tells_the_signal_and_the_last_words() -> None:
    reader = Reader(None)
    reader.line(line("text", text="half"))
    outcome = reader.outcome(-9, "last words\n")
    assert outcome.text == "half"
    assert outcome.failure == Failure(
        "crashed",
        "The echo agent ended by signal 9 before it was done. Its last words: last words",
        "Send the mail again.",
    )


@pytest.mark.parametrize(
    ("said", "class_"), [("overloaded", "overloaded"), ("nonsense", "agent_error"), (None, "agent_error")]
)
def test_a_failure_has_its_own_class_or_the_general_one(said: object, class_: str) -> None:
    reader = Reader(None)
    reader.line(line("error", failure=said, message="m", wait_until="2026-12-01T00:00:00+00:00"))
    outcome = reader.outcome(0, "")
    assert outcome.failure is not None
    assert outcome.failure.class_ == class_
    assert outcome.wait_until == "2026-12-01T00:00:00+00:00"


@pytest.mark.parametrize(("asked", "resumed", "lost"), [(None, False, False), ("s", True, False), ("s", False, True)])
def test_a_session_that_did_not_go_on_is_lost_context(asked: str | None, resumed: bool, lost: bool) -> None:
    reader = Reader(asked)
    reader.line(line("started", session="s", resumed=resumed))
    reader.line(line("final", text="x"))
    assert reader.outcome(0, "").context_lost is lost
