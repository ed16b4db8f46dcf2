"""Exit codes by outcome."""

from typing import get_args

import pytest

from agentmail.errors import Exit, exit_codes
from agentmail.outcome import exit_for
from agentmail.vendor.wire import TurnState

from .mails import turn

CODES: dict[TurnState, Exit] = {
    "queued": Exit.TIMED_OUT,
    "leased": Exit.TIMED_OUT,
    "running": Exit.TIMED_OUT,
    "answered": Exit.OK,
    "answered_by_agent": Exit.OK,
    "no_reply": Exit.OK,
    "failed": Exit.TURN_FAILED,
    "cancelled": Exit.TURN_FAILED,
    "dead": Exit.TURN_FAILED,
}


@pytest.mark.parametrize("state", get_args(TurnState))
def test_each_state_has_its_exit_code(state: TurnState) -> None:
    assert exit_for([turn(state=state)]) is CODES[state]


@pytest.mark.parametrize(
    ("states", "code"),
    [
        ([], Exit.OK),
        (["answered", "failed"], Exit.TURN_FAILED),
        (["failed", "answered"], Exit.TURN_FAILED),
        (["failed", "running"], Exit.TIMED_OUT),
        (["running", "failed"], Exit.TIMED_OUT),
    ],
)
def test_the_worst_turn_decides(states: list[str], code: Exit) -> None:
    assert exit_for([turn(state=state) for state in states]) is code


def test_every_exit_code_is_documented_and_numbers_are_unique() -> None:
    assert [code for code, _ in exit_codes()] == sorted(int(code) for code in Exit)
    assert all(meaning for _, meaning in exit_codes())
