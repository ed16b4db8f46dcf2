"""dsh's words → the failure of a mail."""

import pytest

from bridge_dsh.events import Reader
from bridge_dsh.failures import from_boot, from_reader, from_refusal, lost_session


@pytest.mark.parametrize(
    ("code", "status", "message", "class_"),
    [
        ("AUTH", 401, "Authentication Fails", "not_signed_in"),
        ("MISSING_CREDENTIAL", None, "llm-deepseek: no API key for provider route", "not_signed_in"),
        ("QUOTA", 402, "Insufficient Balance", "quota"),
        ("RATE_LIMIT", 429, "slow down", "rate_limited"),
        ("SERVER", 503, "busy", "overloaded"),
        ("TRANSPORT", None, "DeepSeek Messages transport failed", "overloaded"),
        ("STREAM_CLOSED", None, "stream ended before message_stop", "overloaded"),
        ("MALFORMED_RESPONSE", None, "unsupported stop reason refusal", "content_filtered"),
        ("INVALID_REQUEST", 400, "This model's maximum context length is 131072 tokens", "context_too_long"),
        ("INVALID_REQUEST", 400, "Model Not Exist: x", "no_model"),
        ("SERVER", 404, "no such route", "agent_error"),
        ("", None, "", "agent_error"),
    ],
)
def test_an_error_has_its_class_and_shows_the_words(code: str, status: int | None, message: str, class_: str) -> None:
    failure = from_reader(Reader(ending="error", error_code=code, status=status, error=message, final=""))
    assert failure is not None
    assert failure.class_ == class_
    assert message in failure.message
    assert failure.next_step.endswith(".")


@pytest.mark.parametrize(
    ("ending", "denied", "class_"),
    [
        ("completed", [], "empty_answer"),
        ("completed", ["write"], "tool_denied"),
        ("max-tokens", [], "context_too_long"),
        ("blocked", [], "tool_denied"),
        ("aborted", [], "cancelled"),
        ("interrupted", [], "cancelled"),
        ("invented", [], "agent_error"),
    ],
)
def test_every_other_ending_is_a_failure(ending: str, denied: list[str], class_: str) -> None:
    failure = from_reader(Reader(ending=ending, denied=denied, final=" "))
    assert failure is not None
    assert failure.class_ == class_
    assert failure.next_step


ELSEWHERE = 'session "session-1" was recorded in "/a", not "/b"'
CORRUPT = 'stored session "session-1" is corrupt: corrupt Zstandard session log'
BUSY = 'session "session-1" is already owned by an active write handle'


@pytest.mark.parametrize(
    ("refused", "lost"),
    [
        ('session "session-1" does not exist; omit --session-id to start a new Session', True),
        (ELSEWHERE, True),
        (CORRUPT, True),
        (BUSY, False),
        ("unknown option '--x'", False),
        ("a task is required", False),
        ("", False),
    ],
)
def test_a_session_that_can_t_go_on_is_recognised(refused: str, lost: bool) -> None:
    assert bool(lost_session(refused)) == lost


@pytest.mark.parametrize(
    ("refused", "class_"),
    [
        (ELSEWHERE, "session_elsewhere"),
        (BUSY, "session_elsewhere"),
        ("unknown option '--x'", "bad_option"),
        ("something nobody foresaw", "agent_error"),
    ],
)
def test_a_run_that_was_refused_is_told_with_the_reason(refused: str, class_: str) -> None:
    failure = from_refusal(refused)
    assert failure.class_ == class_
    assert refused in failure.message


STACK = "\n    at readEnvLayer (file:///snapshot/node/index.js:3718:9)\n"
BLOCKED = 'Error: dsh: /w/.env sets "HTTPS_PROXY", which only the launching environment may set; export it' + STACK


@pytest.mark.parametrize(
    ("code", "stderr", "class_", "words"),
    [
        (1, BLOCKED, "agent_error", "/w/.env sets HTTPS_PROXY"),
        (1, "Error: dsh: failed to read overlay /x.yml: Error: ENOENT" + STACK, "provider_missing", "/x.yml"),
        (137, "", "crashed", "by signal 9"),
        (-9, "", "crashed", "by signal 9"),
        (0, "", "crashed", "with status 0"),
        (None, "RangeError: x" + STACK, "crashed", "RangeError: x"),
    ],
)
def test_a_dsh_that_ended_early_is_told_with_its_last_words(
    code: int | None, stderr: str, class_: str, words: str
) -> None:
    failure = from_boot(code, stderr)
    assert failure.class_ == class_
    assert words in failure.message
    assert "readEnvLayer" not in failure.message
    assert failure.next_step
