"""What a waiting person sees."""

import io

from agentmail.progress import TerminalProgress
from agentmail.terminal import Screen
from agentmail.vendor.wire import Failure, ProgressEvent

from .mails import turn

LIVE = Screen(colour=False, live=True, columns=60)
DUMB = Screen(colour=False, live=False, columns=60)


def test_a_turn_is_told_from_queue_to_end() -> None:
    stream = io.StringIO()
    shower = TerminalProgress(stream, DUMB, lambda: 0.0)
    shower.state(turn(state="queued"))
    shower.state(turn(state="leased"))
    shower.state(turn(state="running"))
    shower.progress(turn(), [ProgressEvent(1, "", "tool_call", "ls", "bash"), ProgressEvent(2, "", "text", "hello")])
    shower.state(turn(state="failed", failure=Failure("quota", "Used up until 19:27.", "Wait.")))
    shower.close()
    assert stream.getvalue().splitlines() == [
        "zcode: leased",
        "zcode: running",
        "zcode › bash ls",
        "zcode: failed: Used up until 19:27. Wait.",
    ]


def test_the_moving_line_shows_who_is_busy_and_goes_away() -> None:
    stream = io.StringIO()
    now = [0.0]
    shower = TerminalProgress(stream, LIVE, lambda: now[0])
    shower.state(turn())
    now[0] = 65.0
    shower.progress(turn(), [ProgressEvent(1, "", "text", "I look at the test")])
    assert stream.getvalue().endswith("\r\x1b[2Kzcode running 1 min 5 s: I look at the test")
    shower.close()
    assert stream.getvalue().endswith("\r\x1b[2K")


def test_a_gateway_that_is_away_is_told_once() -> None:
    stream = io.StringIO()
    shower = TerminalProgress(stream, DUMB, lambda: 0.0)
    for _ in range(3):
        shower.trouble("no gateway answers")
    assert stream.getvalue() == "waiting: no gateway answers\n"


def test_what_an_agent_says_can_not_steer_the_terminal() -> None:
    stream = io.StringIO()
    shower = TerminalProgress(stream, DUMB, lambda: 0.0)
    shower.progress(turn(), [ProgressEvent(1, "", "tool_call", "\x1b]52;c;ZXZpbA==\x07", "bash")])
    assert "\x1b" not in stream.getvalue()
