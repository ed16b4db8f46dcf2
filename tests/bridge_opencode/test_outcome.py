"""What became of a turn, from the answer to its prompt."""

from typing import Any

import pytest

from bridge_opencode.events import Reader
from bridge_opencode.failures import crashed, from_retry
from bridge_opencode.outcome import Ended, told
from bridge_opencode.vendor.turn import StopReason
from bridge_opencode.vendor.wire import Failure

TOKENS = {"input": 90, "output": 20, "reasoning": 0, "cache": {"read": 10, "write": 0}}


def answer(*texts: str, finish: str = "stop", error: dict[str, Any] | None = None) -> dict[str, Any]:
    info: dict[str, Any] = {"id": "msg_9", "role": "assistant", "tokens": TOKENS, "cost": 0.25, "finish": finish}
    if error is not None:
        info["error"] = error
    return {"info": info, "parts": [{"type": "step-start"}, *({"type": "text", "text": text} for text in texts)]}


def error(name: str, message: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "data": {"message": message, **more}}


ABORTED = error("MessageAbortedError", "Aborted")


def test_the_text_of_the_last_message_is_the_answer() -> None:
    reader = Reader(messages={"msg_1": (100, 20, 0.5)}, said="something before")
    outcome = told(Ended(reader, answer("One.", "  ", "Two."), session_id="ses_1"))
    assert outcome.text == "One.\n\nTwo."
    assert outcome.failure is None
    assert outcome.native_session_id == "ses_1"
    assert outcome.usage is not None
    assert (outcome.usage.input_tokens, outcome.usage.output_tokens, outcome.usage.cost_usd) == (200, 40, 0.75)


def test_what_opencode_wrote_itself_is_no_answer() -> None:
    made = answer("Real.")
    made["parts"].append({"type": "text", "text": "Continue if you have next steps", "synthetic": True})
    assert told(Ended(Reader(), made)).text == "Real."


@pytest.mark.parametrize(
    ("made", "class_"),
    [
        (answer("x", finish="length"), "context_too_long"),
        (answer("x", finish="unknown"), "agent_error"),
        (answer("x", finish=""), "agent_error"),
        (answer(), "empty_answer"),
        (answer("  \n"), "empty_answer"),
        (answer(finish="tool-calls"), "empty_answer"),
        (answer("x", finish="content-filter", error=error("ContentFilterError", "blocked")), "content_filtered"),
        (answer(error=error("APIError", "Incorrect API key provided", statusCode=401)), "not_signed_in"),
        (answer(error=error("APIError", "no", statusCode=403)), "not_signed_in"),
        (answer(error=error("APIError", "Too many", statusCode=429)), "rate_limited"),
        (answer(error=error("APIError", "insufficient_quota", statusCode=429)), "quota"),
        (answer(error=error("APIError", "x", statusCode=502)), "overloaded"),
        (answer(error=error("APIError", "Cannot connect to API: Unable to connect.")), "overloaded"),
        (answer(error=error("APIError", "maximum context length is 8", statusCode=400)), "context_too_long"),
        (answer(error=error("ContextOverflowError", "too big")), "context_too_long"),
        (answer(error=error("ProviderAuthError", "sign in")), "not_signed_in"),
        (answer(error=error("UnknownError", "Model not found: fake/nope.")), "no_model"),
        (answer(error=error("UnknownError", "Unexpected")), "agent_error"),
        (answer(error=ABORTED), "cancelled"),
    ],
)
def test_what_went_wrong_is_a_failure_with_a_next_step(made: dict[str, Any], class_: str) -> None:
    """opencode#44267, opencode#2489: errors and empty answers that end as if all were well"""
    failure = told(Ended(Reader(), made)).failure
    assert failure is not None
    assert (failure.class_, bool(failure.next_step)) == (class_, True)


def test_an_empty_answer_names_the_tools_that_were_refused() -> None:
    """opencode#44267"""
    outcome = told(Ended(Reader(denied=["bash", "bash", "edit"]), answer(finish="tool-calls")))
    assert outcome.failure is not None
    assert outcome.failure.class_ == "tool_denied"
    assert "bash, edit" in outcome.failure.message
    assert outcome.denied_tools == ("bash", "edit")


@pytest.mark.parametrize("reason", ["cancelled", "timed_out", "shutdown"])
def test_a_stopped_turn_is_stopped_with_what_it_had_said(reason: StopReason) -> None:
    reader = Reader(said="so far")
    for made in (None, answer(error=ABORTED), answer(finish="")):
        outcome = told(Ended(reader, made, stopped=reason))
        assert (outcome.stopped, outcome.failure, outcome.text) == (reason, None, "so far")


def test_an_answer_that_was_complete_before_the_stop_is_kept() -> None:
    outcome = told(Ended(Reader(), answer("done"), stopped="timed_out"))
    assert (outcome.text, outcome.stopped) == ("done", None)


@pytest.mark.parametrize(
    ("message", "class_"),
    [
        ("Rate limit reached", "rate_limited"),
        ("HTTP 429", "rate_limited"),
        ("Provider is overloaded", "overloaded"),
        ("something odd", "overloaded"),
        ("You exceeded your current quota: insufficient_quota", "quota"),
    ],
)
def test_what_opencode_still_tries_again_is_a_trouble_that_passes(message: str, class_: str) -> None:
    assert from_retry(message).class_ == class_


def test_no_secret_is_shown() -> None:
    outcome = told(
        Ended(Reader(), answer(error=error("APIError", "bad key sk-secret-123", statusCode=401))), ("sk-secret-123",)
    )
    assert outcome.failure is not None
    assert "sk-secret-123" not in outcome.failure.message


def test_a_lost_session_is_said() -> None:
    outcome = told(Ended(Reader(), answer("x"), lost="it is gone"))
    assert (outcome.context_lost, outcome.note) == (True, "it is gone")


@pytest.mark.parametrize(
    ("code", "stderr", "class_", "words"),
    [
        (-9, "", "crashed", "signal 9"),
        (137, "", "crashed", "signal 9"),
        (1, "Error: Unexpected error", "crashed", "status 1"),
        (1, "Configuration is invalid at /x/opencode.json", "bad_option", "configuration"),
        (1, "Unknown argument: hostname", "bad_option", "command line"),
    ],
)
def test_a_server_that_ended_is_told_with_its_last_words(code: int, stderr: str, class_: str, words: str) -> None:
    failure: Failure = crashed(code, stderr)
    assert failure.class_ == class_
    assert words in failure.message
