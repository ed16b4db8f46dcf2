"""One line per step, as text or JSON, without keys."""

import io
import json

from ..bridge_log import Log, rfc3339


def log_to(stream: io.StringIO, *, as_json: bool = False) -> Log:
    return Log(stream, as_json=as_json, now=lambda: 1_796_000_000.0, secrets=["my-secret-key", ""])


def test_a_step_is_a_line_of_words_and_fields() -> None:
    stream = io.StringIO()
    log_to(stream).step("claimed", turn="turn_1", attempt=1, nothing=None, empty="", why="two words")
    assert stream.getvalue() == '2026-11-30T00:53:20.000Z claimed turn=turn_1 attempt=1 why="two words"\n'


def test_a_warning_says_so() -> None:
    stream = io.StringIO()
    log_to(stream).warn("not connected")
    assert stream.getvalue() == "2026-11-30T00:53:20.000Z warning: not connected\n"


def test_json_has_one_object_a_line() -> None:
    stream = io.StringIO()
    log_to(stream, as_json=True).step("claimed", turn="turn_1", attempt=1)
    assert json.loads(stream.getvalue()) == {
        "at": "2026-11-30T00:53:20.000Z",
        "level": "info",
        "step": "claimed",
        "turn": "turn_1",
        "attempt": 1,
    }


def test_no_key_is_written_and_no_text_of_others_makes_a_line_of_its_own() -> None:
    """AgentChatBus#8"""
    stream = io.StringIO()
    log_to(stream).step("x", why="my-secret-key ama_abcdefghijk\n2026 forged line\x1b[0m", long="y" * 5000)
    [line] = stream.getvalue().splitlines()
    assert "my-secret-key" not in line
    assert "ama_abc" not in line
    assert "\x1b" not in line
    assert len(line) < 1000


def test_a_closed_pipe_does_not_stop_the_bridge() -> None:
    stream = io.StringIO()
    log = log_to(stream)
    stream.close()
    log.step("x")
    log.warn("y")


def test_times_are_utc_with_milliseconds() -> None:
    assert rfc3339(0.1239) == "1970-01-01T00:00:00.123Z"
