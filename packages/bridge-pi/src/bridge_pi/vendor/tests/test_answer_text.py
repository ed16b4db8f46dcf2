"""The words a turn ends with."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ..answer_text import (
    LONGEST_ANSWER,
    answer_body,
    bridge_fault,
    failure_body,
    made_safe,
    timed_out,
)
from ..wire import Failure


def test_an_answer_alone_is_the_agents_own_words() -> None:
    assert answer_body("Done.\n") == "Done."


def test_remarks_denied_tools_and_the_note_stand_below_a_line() -> None:
    body = answer_body("Done.", note="n", denied_tools=["Bash", "Write", "Bash"], remarks=["Context was lost.", ""])
    assert body == "Done.\n\n---\nContext was lost.\n\nDenied by this turn's tier: Bash, Write.\n\nn"


def test_many_denied_tools_are_counted() -> None:
    assert "and 5 more" in answer_body("x", denied_tools=[f"t{n}" for n in range(25)])


def test_control_characters_of_a_tool_do_not_reach_the_mail() -> None:
    assert "\x1b" not in answer_body("a\x1b[31mred\x00")


@settings(max_examples=20, deadline=None)
@given(st.text(max_size=50), st.text(max_size=50), st.lists(st.text(max_size=20), max_size=5))
def test_any_text_makes_a_bounded_body(text: str, note: str, tools: list[str]) -> None:
    body = answer_body(text * 140_000, note=note, denied_tools=tools)
    assert len(body.encode()) <= LONGEST_ANSWER


def test_a_failure_mail_has_cause_next_step_and_what_was_said_until_then() -> None:
    body = failure_body(Failure("timed_out", "Cause.", "Step."), partial="half an answer", remarks=["r"])
    assert body == "Cause.\n\nStep.\n\nr\n\nWhat it said until then:\n\nhalf an answer"


def test_a_failure_loses_its_secrets_and_its_length() -> None:
    failure = made_safe(Failure("crashed", "ama_abcdefgh12345 " + "x" * 20000, "my-own-secret"), ["my-own-secret"])
    assert "ama_abcdefgh12345" not in failure.message
    assert len(failure.message.encode()) <= 8 * 1024
    assert failure.next_step == "[hidden]"


def test_a_time_limit_is_told_in_words() -> None:
    assert "after 60 minutes" in timed_out(3600).message
    assert "after 1.5 seconds" in timed_out(1.5).message


def test_a_fault_of_the_bridge_names_the_error() -> None:
    assert bridge_fault(KeyError("x")).message == "The bridge failed while it worked on this mail: KeyError ('x')."
