"""Permission questions as text for a terminal. Pure: values in, lines out."""

from collections.abc import Sequence
from datetime import datetime

from .terminal import Column, Screen, safe, safe_block, table
from .times import when
from .vendor.wire import PermissionDecision, PermissionRequest

__all__ = ["question_state", "question_table", "question_text"]

_MEANS: dict[PermissionDecision, str] = {
    "once": "allowed this once",
    "thread": "allowed in this thread",
    "always": "always allowed",
    "reject": "refused",
}


def question_state(asked: PermissionRequest) -> str:
    """Who said what: ``allowed this once by ada``; ``open`` while nobody did."""
    if asked.decision is None:
        return "open"
    by = f" by {safe(asked.decided_by)}" if asked.decided_by else ", since nobody answered"
    return f"{_MEANS[asked.decision]}{by}"


def question_table(questions: Sequence[PermissionRequest], now: datetime, screen: Screen) -> list[str]:
    """One line per question."""
    columns = [
        Column("QUESTION", style=lambda text: screen.paint(text, "dim")),
        Column("WHEN"),
        Column("AGENT"),
        Column("STATE"),
        Column("MAY IT", flexible=True),
    ]
    rows = [
        [each.id, when(each.created_at, now), each.agent, question_state(each), each.summary or each.tool]
        for each in questions
    ]
    return table(columns, rows, screen.columns)


def question_text(asked: PermissionRequest, now: datetime) -> list[str]:
    """The whole of a question, with what an answer that is remembered would cover."""
    lines = [
        f"Question:  {asked.id}  ({question_state(asked)})",
        f"Agent:     {safe(asked.agent)}, turn {asked.turn_id}, thread {asked.thread_id}",
        f"Asked:     {when(asked.created_at, now)}",
        f"May it:    {safe(asked.summary or asked.tool)}",
    ]
    if asked.decision is None and asked.expires_at is not None:
        lines.append(f"Until:     {when(asked.expires_at, now)}; no answer is a no")
    if asked.scope_hint:
        lines.append(f"Remember:  thread and always cover {safe(asked.tool)}: {safe(asked.scope_hint)}")
    if asked.detail:
        lines += ["", *safe_block(asked.detail).split("\n")]
    return lines
