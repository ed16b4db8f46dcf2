"""Permission questions as text."""

import unicodedata

import pytest

from agentmail.question_text import question_state, question_table, question_text
from agentmail.terminal import Screen
from agentmail.vendor.wire import PermissionDecision, PermissionRequest

from .mails import HOSTILE, NOW

PLAIN = Screen(colour=False, live=False, columns=120)
ID = "perm_" + "0" * 32


def asked(
    summary: str = "bash: npm test", decision: PermissionDecision | None = None, by: str | None = None, **texts: str
) -> PermissionRequest:
    return PermissionRequest(
        ID,
        "turn_1",
        "thr_1",
        "opencode",
        "bash",
        summary,
        "2026-11-30T12:00:00.000Z",
        expires_at="2026-11-30T12:09:00.000Z",
        decision=decision,
        decided_by=by,
        **texts,
    )


@pytest.mark.parametrize(
    ("decision", "by", "state"),
    [
        (None, None, "open"),
        ("once", "ada", "allowed this once by ada"),
        ("thread", "ada", "allowed in this thread by ada"),
        ("always", "ada", "always allowed by ada"),
        ("reject", "ada", "refused by ada"),
        ("reject", None, "refused, since nobody answered"),
    ],
)
def test_a_question_says_who_decided_what(decision: PermissionDecision | None, by: str | None, state: str) -> None:
    assert question_state(asked(decision=decision, by=by)) == state


def test_a_question_is_shown_with_what_a_remembered_answer_covers() -> None:
    lines = question_text(asked(detail="npm test\nnpm run lint", scope_hint="npm test *"), NOW)
    assert f"Question:  {ID}  (open)" in lines
    assert "Remember:  thread and always cover bash: npm test *" in lines
    assert lines[-2:] == ["npm test", "npm run lint"]
    assert any(line.startswith("Until:") for line in lines)
    assert not any(line.startswith("Until:") for line in question_text(asked(decision="once", by="ada"), NOW))


def test_a_list_has_a_line_per_question() -> None:
    [head, line] = question_table([asked()], NOW, PLAIN)
    assert head.split()[:2] == ["QUESTION", "WHEN"]
    assert line.endswith("bash: npm test")


def test_a_hostile_question_is_shown_harmlessly() -> None:
    bad = asked(HOSTILE, "once", HOSTILE, detail=HOSTILE, scope_hint=HOSTILE)
    text = "".join([*question_table([bad], NOW, PLAIN), *question_text(bad, NOW)]).replace("\n", "")
    assert not any(unicodedata.category(character) == "Cc" for character in text)
