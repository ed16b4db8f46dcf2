"""Success, failure classes and what a person reads."""

import pytest

from bridge_zcode.error_lines import error_line
from bridge_zcode.failures import Run, failure_of, lost_session, passing_fault, quota_message
from bridge_zcode.vendor.wire import FailureClass

from .lines import event, failed, quota, read, result, success, tool

HELP = """
Usage: zcode [options]
      --max-turns <n>        limit the turns
Commands:
  login [zai|bigmodel]       sign in, or no key is found: Model provider is missing an API key
"""
DENIED = tool("error", error={"message": "No permission client configured for Bash"})


def run(lines: list[str], exit_code: int = 0, stderr: str = "") -> Run:
    return Run(read(lines)[1], exit_code, stderr)


def class_of(one: Run) -> FailureClass | None:
    found = failure_of(one)
    return None if found is None else found.class_


def test_exit_zero_a_result_and_an_answer_are_a_success() -> None:
    assert failure_of(run(success())) is None
    assert failure_of(run([result("answer")])) is None


def test_denied_tools_beside_an_answer_are_a_success() -> None:
    assert failure_of(run([DENIED, *success()])) is None


def test_without_a_result_line_exit_zero_is_no_success() -> None:
    """zai-org/feedback#418: there is no contract for exit codes."""
    found = failure_of(run(success()[:-1]))
    assert found is not None
    assert found.class_ == "crashed"
    assert "without giving a result" in found.message


@pytest.mark.parametrize(
    ("result_type", "class_"),
    [
        ("cancelled", "cancelled"),
        ("error_max_turns", "agent_error"),
        ("error_max_budget", "agent_error"),
        ("error_max_tool_calls", "agent_error"),
        ("error_during_execution", "agent_error"),
        ("something_new", "agent_error"),
    ],
)
def test_a_cancelled_turn_exits_zero_and_is_no_success(result_type: str, class_: FailureClass) -> None:
    """zai-org/feedback#174"""
    lines = [event("turn.completed", response="half", resultType=result_type), result("half")]
    assert class_of(run(lines)) == class_


def test_an_empty_answer_and_a_denied_one_differ() -> None:
    assert class_of(run([result("")])) == "empty_answer"
    denied = failure_of(run([DENIED, result(" \n")]))
    assert denied is not None
    assert denied.class_ == "tool_denied"
    assert "Bash" in denied.message


@pytest.mark.parametrize(
    ("stderr", "class_"),
    [
        (
            "Error: Model config is missing. Create /home/a/.zcode/cli/config.json with an explicit model provider.",
            "provider_missing",
        ),
        (
            "无法定位 CLI ZCode Built-in Provider Config：/opt/ZCode/resources/config/provider/zcode-builtin.json",
            "provider_missing",
        ),
        ("Error: Model creation failed (traceId: t)", "no_model"),
        (
            "Error: Turn execution failed (traceId: t)\nCause: Error: Select a model before continuing\n    at x",
            "no_model",
        ),
        ("Error: Model provider is missing an API key: zai", "not_signed_in"),
        ("Model access is not configured for zai. Run /login…", "not_signed_in"),
        ("Error: Bundled 与 Active ZCode Built-in Release 均不可用", "overloaded"),
        (
            "node:internal\nError [ERR_UNKNOWN_BUILTIN_MODULE]: No such built-in module: node:sqlite\n    at x",
            "runtime_too_old",
        ),
        ("Error: No such built-in module: node:sqlite", "runtime_too_old"),
        (f"Unknown option '--max-turns'. To specify a positional argument\n\n{HELP}", "bad_option"),
        (f"Option '--prompt' argument is ambiguous.\nDid you forget\n\n{HELP}", "bad_option"),
        (f"Option '-p, --prompt <value>' argument missing\n\n{HELP}", "bad_option"),
        (f"Option '--json' does not take an argument\n\n{HELP}", "bad_option"),
        (f"--disallowed-tools requires at least one tool.\n\n{HELP}", "bad_option"),
        ("Unsupported --mode value: bad. Supported modes: build, edit, plan, yolo, guarded.", "bad_option"),
        ("--output-format must be one of text, json, stream-json (received: bad).", "bad_option"),
        ("--prompt requires non-empty text.", "bad_option"),
        (f"Unknown command: x\n\n{HELP}", "bad_option"),
        ("Error: Session not found (traceId: t)", "agent_error"),
        ("Error: Turn execution failed (traceId: t)", "agent_error"),
        ("Error: Failed to load environment file: /w/.env", "agent_error"),
        ("TypeError: x is not a function", "crashed"),
        ("", "crashed"),
    ],
)
def test_stderr_is_recognised_by_whole_lines(stderr: str, class_: FailureClass) -> None:
    assert class_of(run([], 1, stderr)) == class_


def test_help_text_with_the_word_login_is_no_missing_login() -> None:
    """Clutch#56: the help that follows a bad option holds "login"; a classifier by words reported "not logged in"."""
    stderr = f"Unknown option '--brand-new'. To specify…\n{HELP}"
    found = failure_of(run([], 1, stderr))
    assert found is not None
    assert found.class_ == "bad_option"
    assert "--brand-new" in found.message
    assert "login" not in found.message


def test_no_model_is_a_matter_of_set_up_and_says_so() -> None:
    """zai-org/feedback#744: "Select a model" comes in the stream, stderr says only that the creation failed."""
    found = failure_of(run([failed("Model creation failed.")], 1, "Error: Model creation failed (traceId: t)"))
    assert found is not None
    assert found.class_ == "no_model"
    assert "default model" in found.next_step


@pytest.mark.parametrize(
    ("code", "class_"),
    [
        ("1308", "quota"),
        ("1310", "quota"),
        ("1302", "rate_limited"),
        ("1305", "overloaded"),
        ("1261", "context_too_long"),
        ("1301", "content_filtered"),
        ("1002", "not_signed_in"),
        ("1113", "not_signed_in"),
        ("1211", "no_model"),
    ],
)
def test_the_provider_s_code_decides(code: str, class_: FailureClass) -> None:
    assert class_of(run(quota(code, "text"), 1, "Error: Turn execution failed (traceId: t)")) == class_


def test_an_unknown_code_is_told_as_it_is() -> None:
    found = failure_of(run([failed("[1999][Something new][r]")], 1, "Error: Turn execution failed (traceId: t)"))
    assert found is not None
    assert found.class_ == "agent_error"
    assert "Something new (code 1999)" in found.message


@pytest.mark.parametrize(
    ("status", "class_"),
    [
        (401, "not_signed_in"),
        (403, "not_signed_in"),
        (413, "context_too_long"),
        (429, "rate_limited"),
        (503, "overloaded"),
        (529, "overloaded"),
        (500, "agent_error"),
        (None, "agent_error"),
    ],
)
def test_without_a_code_the_status_decides(status: int | None, class_: FailureClass) -> None:
    assert class_of(run([failed("text", attribution={"statusCode": status})], 1)) == class_


def test_a_request_that_failed_and_then_worked_is_no_failure() -> None:
    assert failure_of(run([quota("1302")[0], *success()])) is None


def test_bad_tool_json_is_reported_as_zcode_told_it() -> None:
    """fastctx#7"""
    found = failure_of(run([failed("Tool input is not valid JSON")], 1))
    assert found is not None
    assert "Tool input is not valid JSON" in found.message


@pytest.mark.parametrize(
    ("code", "word"), [(143, "SIGTERM"), (130, "SIGINT"), (129, "SIGHUP"), (-9, "signal 9"), (7, "exit code 7")]
)
def test_a_crash_says_how_it_ended_and_what_was_said_last(code: int, word: str) -> None:
    found = failure_of(run([], code, "line\nlast words"))
    assert found is not None
    assert found.class_ == "crashed"
    assert word in found.message
    assert "last words" in found.message


def test_a_result_line_with_exit_143_is_no_success() -> None:
    assert class_of(run(success(), 143)) == "crashed"


def test_an_error_on_stdout_is_found_too() -> None:
    assert class_of(run(["Error: Model provider is missing an API key: zai"], 1)) == "not_signed_in"


def test_the_quota_s_words_are_the_provider_s() -> None:
    message, long_window = quota_message(read(quota())[1])
    assert "2026-09-12 19:27:04" in message
    assert not long_window
    assert quota_message(read(quota("1310"))[1])[1]
    assert quota_message(read(success())[1]) == ("", False)


@pytest.mark.parametrize(
    ("one", "lost"),
    [
        (run([], 1, "Error: Session not found (traceId: t)"), True),
        (run([failed("Model creation failed.")], 1, "Error: Model creation failed"), True),
        (run([], 1, "Error: Turn execution failed (traceId: t)"), True),
        (run([event("turn.started"), failed("Connection refused")], 1, "Error: Turn execution failed"), False),
        (run([event("turn.started"), failed("Model creation failed.")], 1), True),
        (run(quota(), 1), False),
        (run([], 1, "Error: Model provider is missing an API key: zai"), False),
        (run([], 1, "Unknown option '--x'"), False),
        (run([], 143), False),
        (run(success()), False),
        (run([result("")]), False),
        (run([tool("started", toolName="Read"), failed("x")], 1), False),
        (run([event("model.streaming", kind="text_delta", delta="half"), failed("x")], 1), False),
    ],
)
def test_a_fresh_session_is_tried_only_where_nothing_was_done(one: Run, lost: bool) -> None:
    """kingsword09/zcode-cli#160, #161; open-ace#1075, #1150: resuming fails for unknown ids and for models gone."""
    assert lost_session(one) is lost


def test_files_in_exchange_are_a_passing_fault() -> None:
    assert passing_fault(run([], 1, "Error: Bundled 与 Active ZCode Built-in Release 均不可用"))
    assert not passing_fault(run([], 1, "Error: other"))


def test_every_failure_says_what_to_do() -> None:
    for one in (run([], 1), run([result("")]), run(quota(), 1), run([], 1, "Unknown option '--x'")):
        found = failure_of(one)
        assert found is not None
        assert found.message
        assert found.next_step


def test_the_first_known_line_counts_before_a_plain_error() -> None:
    assert error_line("Error: something\nError: Model creation failed") == ("Error: Model creation failed", "no_model")
    assert error_line("note: Model creation failed") is None
