"""opencode's wishes as questions, and what an answer that is remembered covers."""

from typing import Any

import pytest

from bridge_opencode.events import Asked
from bridge_opencode.questions import question


def asked(permission: str, *patterns: str, always: tuple[str, ...] = (), **metadata: Any) -> Asked:
    return Asked("per_1", permission, patterns, always, metadata)


@pytest.mark.parametrize(
    ("command", "scope"),
    [
        ("npm test --fast", "npm test *"),
        ("npm test > out", "npm test > out"),
        ("npm test; rm -r x", "npm test; rm -r x"),
        ("npm test && x", "npm test && x"),
        ("npm test $(x)", "npm test $(x)"),
        ("npm test `x`", "npm test `x`"),
        ("npm test | sh", "npm test | sh"),
        ("npm test\nx", "npm test\nx"),
    ],
)
def test_a_remembered_answer_covers_a_plain_command_s_kind_and_else_the_very_command(command: str, scope: str) -> None:
    made = question(asked("bash", command, always=("npm test *",), command=command))
    assert made.scope == scope
    assert made.detail == command
    assert "\n" not in made.summary
    assert (made.tool, made.needs) == ("bash", "workspace")


def test_a_change_of_a_file_shows_the_file_and_the_change() -> None:
    made = question(asked("edit", "w/a.py", always=("*",), filepath="/w/a.py", diff="+x"))
    assert (made.summary, made.detail, made.scope) == ("edit: /w/a.py", "w/a.py\n+x", "*")


def test_a_reading_tool_needs_no_more_than_plan() -> None:
    assert question(asked("webfetch", "https://a.example/", always=("*",))).needs == "plan"


def test_without_patterns_of_its_own_a_wish_covers_itself() -> None:
    assert question(asked("mcp_tool", "b", "a")).scope == "a\nb"
