"""Secrets don't leave the bridge in a failure mail or a log line (AgentChatBus#8, mcp-memory-service#1117)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ..redact import HIDDEN, redact

SECRET = "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA"


@pytest.mark.parametrize(
    "text",
    [
        f"key ama_{SECRET} refused",
        f"amp_{SECRET}",
        f"amt_{SECRET}.",
        f"Authorization: Bearer {SECRET}",
        f"authorization: basic {SECRET}==",
        f"sk-{SECRET}",
        f"sk-ant-api03-{SECRET}",
        f"ghp_{SECRET}",
        f"https://ada:{SECRET}@example.org/x",
        f"OPENAI_API_KEY={SECRET}",
        f'"api_key": "{SECRET}"',
        f"password: {SECRET}",
        f"eyJhbGciOi.{SECRET}.{SECRET}",
    ],
)
def test_a_secret_is_hidden(text: str) -> None:
    shown = redact(text)
    assert SECRET not in shown
    assert HIDDEN in shown


def test_a_known_secret_is_hidden_whatever_its_form() -> None:
    assert redact("it said plain-words-secret!", ["plain-words-secret"]) == f"it said {HIDDEN}!"


@pytest.mark.parametrize(
    "text",
    [
        "TypeError: cannot read key 'x' of undefined at /srv/app/keys.py:12",
        "the session was recorded in /a, not /b",
        "https://example.org:8443/path@v2",
        "ask-me-anything is no secret",
        "token limit reached: 128000",
    ],
)
def test_an_ordinary_line_stays_as_it_is(text: str) -> None:
    assert redact(text) == text


@given(st.text(max_size=300))
def test_hiding_twice_changes_nothing_more(text: str) -> None:
    once = redact(text)
    assert redact(once) == once
