"""What `up` says of each agent."""

from datetime import UTC, datetime

import pytest

from agentmail.up.presence import agent_line, is_back

from .mails import agent

SINCE = datetime(2026, 11, 30, 14, 59, 58, tzinfo=UTC)


@pytest.mark.parametrize(
    ("changes", "back"),
    [
        ({}, True),
        ({"online": False}, False),
        ({"last_seen": None}, False),
        ({"last_seen": "2026-11-30T14:59:57.000Z"}, False),
        ({"ready": False, "lacks": ("ZCode: not signed in",)}, True),
        ({"ready": False, "lacks": ("the first self-check is running",)}, False),
    ],
)
def test_only_a_fresh_report_of_a_finished_check_counts(changes: dict[str, object], back: bool) -> None:
    assert is_back(agent(**changes), SINCE) is back


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "ready (0.16.9, plan: sandbox, workspace: native)"),
        ({"max_mode": "plan"}, "ready (0.16.9, plan: sandbox)"),
        ({"agent_version": None, "mode_enforcement": {}}, "ready"),
        ({"paused": True}, "ready but paused; to go on: agentmail agent resume zcode"),
        ({"ready": False, "lacks": ("login: none (sign in)", "x")}, "not ready: login: none (sign in); x"),
        ({"ready": False}, "not ready: its self-check failed"),
        ({"agent_version": "\x1b[31m1"}, "ready (␛[31m1, plan: sandbox, workspace: native)"),
    ],
)
def test_one_line_says_ready_or_what_is_lacking(changes: dict[str, object], line: str) -> None:
    assert agent_line(agent(**changes)) == line
