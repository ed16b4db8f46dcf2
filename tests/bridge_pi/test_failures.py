"""pi's words → the failure of a mail."""

import pytest

from bridge_pi.failures import crashed, from_text, silent


@pytest.mark.parametrize(
    ("text", "class_"),
    [
        ('401: {"message":"Incorrect API key provided"}', "not_signed_in"),
        ("403: forbidden", "not_signed_in"),
        ("No API key found for the selected model.\n\nUse /login to log into a provider", "not_signed_in"),
        ("Credential store read failed for fake: EROFS", "not_signed_in"),
        ("OAuth token refresh failed", "not_signed_in"),
        ('Error: Model "nowhere/none" not found. Use --list-models to see available models.', "no_model"),
        ('404: {"error":{"message":"The model `x` does not exist"}}', "no_model"),
        ('429: {"message":"Rate limit reached"}', "rate_limited"),
        ('429: {"message":"You exceeded your current quota","code":"insufficient_quota"}', "quota"),
        ("Your credit balance is too low", "quota"),
        ('500: {"message":"boom"}', "overloaded"),
        ("529: overloaded_error", "overloaded"),
        ("terminated: other side closed (UND_ERR_SOCKET)", "overloaded"),
        ("Stream ended without finish_reason", "overloaded"),
        ("Connection error: fetch failed: getaddrinfo EAI_AGAIN", "overloaded"),
        ("400: This model's maximum context length is 128000 tokens", "context_too_long"),
        ("prompt is too long: 210000 tokens > 200000 maximum", "context_too_long"),
        ("Provider finish_reason: content_filter", "content_filtered"),
        ("something nobody foresaw", "agent_error"),
        ("", "agent_error"),
    ],
)
def test_an_error_in_words_has_its_class_and_shows_the_words(text: str, class_: str) -> None:
    failure = from_text(text)
    assert failure.class_ == class_
    assert text.split("\n")[0] in failure.message
    assert failure.next_step.endswith(".")


@pytest.mark.parametrize(
    ("code", "stderr", "class_", "words"),
    [
        (1, "Error: Unknown option: --no-mcp", "bad_option", "--no-mcp"),
        (1, 'Warning: x\nError: Model "a/b" not found.', "no_model", '"a/b"'),
        (
            1,
            "SyntaxError: The requested module 'node:module' does not provide an export named 'enableCompileCache'\n"
            "    at ModuleJob._instantiate",
            "runtime_too_old",
            "enableCompileCache",
        ),
        (137, "", "crashed", "by signal 9"),
        (-9, "", "crashed", "by signal 9"),
        (1, "TypeError: x is not a function\n    at run (cli.js:1:2)", "crashed", "x is not a function"),
        (0, "", "crashed", "with status 0"),
        (None, "", "crashed", "none"),
    ],
)
def test_a_pi_that_ended_early_is_told_with_its_last_words(
    code: int | None, stderr: str, class_: str, words: str
) -> None:
    failure = crashed(code, stderr)
    assert failure.class_ == class_
    assert words in failure.message
    assert "    at " not in failure.message
    assert failure.next_step


def test_a_long_cause_is_shortened() -> None:
    assert len(from_text("x" * 100_000).message) < 2_000


def test_a_pi_that_never_spoke_is_told() -> None:
    assert "60 s" in silent(60.0).message
