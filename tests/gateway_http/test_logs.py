"""Logs hold no keys."""

import io
import json
import logging

import pytest
import structlog

from agentmail_gateway.http.logs import LogFormat, configure, masked

KEY = "ama_" + "aB3-_xyz" * 5


@pytest.mark.parametrize("text", [KEY, f"Bearer {KEY}", f"'{KEY}'", f"x={KEY}&y", f"amp_{KEY[4:]}", f"ams_{KEY[4:]}"])
def test_a_key_is_masked_wherever_it_stands(text: str) -> None:
    assert KEY[4:] not in masked(text)


@pytest.mark.parametrize("text", ["ama_short", "turn_0123456789abcdef", "grammar_checker_of_everything"])
def test_what_is_no_key_stays(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize("form", ["json", "text"])
def test_an_event_an_error_and_a_library_warning_are_logged_without_keys(form: LogFormat) -> None:
    out = io.StringIO()
    before, handlers, level = structlog.get_config(), logging.getLogger().handlers[:], logging.getLogger().level
    try:
        configure(form, out)
        structlog.get_logger("x").warning("something happened", what=KEY, nothing=None)
        try:
            raise RuntimeError(f"could not use {KEY}")
        except RuntimeError as error:
            structlog.get_logger("x").error("it broke", exc_info=error)
        logging.getLogger("library").warning("odd header %s", KEY)
        logging.getLogger("library").info("chatter")
    finally:
        structlog.configure(**before)
        logging.getLogger().handlers[:] = handlers
        logging.getLogger().setLevel(level)
    text = out.getvalue()
    assert KEY[4:] not in text
    assert "something happened" in text
    assert "RuntimeError: could not use ama_***" in text
    assert "odd header ama_***" in text
    assert "chatter" not in text
    if form == "json":
        lines = [json.loads(line) for line in text.splitlines()]
        assert [line["level"] for line in lines] == ["warning", "error", "warning"]
