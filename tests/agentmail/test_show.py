"""Mail, turns and agents as text."""

import unicodedata

import pytest

from agentmail.progress import progress_line
from agentmail.show import agent_table, mail_table, mail_text, outcome_line, thread_text, turn_table, turn_text
from agentmail.terminal import Screen, width
from agentmail.vendor.wire import AddressRef, Attachment, Failure, ProgressEvent, Receipt, Thread

from .mails import HOSTILE, NOW, agent, hostile_mail, mail, turn

PLAIN = Screen(colour=False, live=False, columns=120)


def _harmless(lines: list[str]) -> bool:
    text = "\n".join(lines).replace("\n", "")
    bidi = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    return not any(unicodedata.category(c) == "Cc" or unicodedata.bidirectional(c) in bidi for c in text)


def test_hostile_mail_is_shown_harmlessly_everywhere() -> None:
    bad = hostile_mail()
    bad_turn = turn(
        agent=HOSTILE, subject=HOSTILE, sender=HOSTILE, reason=HOSTILE, failure=Failure("crashed", HOSTILE, HOSTILE)
    )
    shown = [
        mail_table([bad], NOW, PLAIN),
        mail_text(bad, NOW, PLAIN),
        thread_text(Thread(bad.thread_id, HOSTILE, (bad,), (bad_turn,)), NOW, PLAIN),
        turn_table([bad_turn], NOW, PLAIN),
        turn_text(bad_turn, NOW, PLAIN),
        [outcome_line(bad_turn, PLAIN)],
        agent_table([agent(name=HOSTILE, agent_version=HOSTILE, lacks=(HOSTILE,), ready=False)], NOW, PLAIN),
        [progress_line(ProgressEvent(1, "", "tool_call", HOSTILE, HOSTILE)) or ""],
        [progress_line(ProgressEvent(1, "", "status", HOSTILE)) or ""],
    ]
    for lines in shown:
        assert _harmless(lines), lines
        assert "gnp.exe" in "".join(lines)


def test_a_list_shows_full_ids_and_what_is_unread() -> None:
    lines = mail_table([mail(unread=True), mail(attachments=(Attachment("att_1", "a", "b", 1),))], NOW, PLAIN)
    assert lines[1].split() == ["*", "mail_" + "1" * 32, "14:03", "ada", "Tests"]
    assert lines[2].startswith("+  mail_")


def test_a_mail_without_subject_is_listed_by_its_first_words() -> None:
    assert "(Why is it so?)" in mail_table([mail(subject="", body="Why\nis it  so?")], NOW, PLAIN)[1]


def test_a_long_subject_does_not_break_the_line() -> None:
    lines = mail_table([mail(subject="长" * 300)], NOW, PLAIN)
    assert all(width(line) <= 120 for line in lines)


def test_a_mail_is_shown_with_its_receipts() -> None:
    receipt = Receipt(
        to="zcode",
        turn_id="turn_" + "3" * 32,
        state="failed",
        started_at="2026-11-30T14:03:01.000Z",
        finished_at="2026-11-30T14:03:03.500Z",
        attempt=2,
        failure=Failure("not_signed_in", "ZCode is not signed in.", "Sign in."),
    )
    text = "\n".join(mail_text(mail(receipts=(receipt,), cc=(AddressRef("bob", "person"),)), NOW, PLAIN))
    assert "From:    Ada <ada>" in text
    assert "Cc:      bob" in text
    assert "zcode: failed, attempt 2, 2.5 s" in text
    assert "  ZCode is not signed in.\n  Sign in." in text


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "ready"),
        ({"ready": False}, "not ready"),
        ({"paused": True}, "paused"),
        ({"online": False}, "offline"),
        ({"disabled": True}, "removed"),
    ],
)
def test_an_agent_has_one_state(changes: dict[str, object], state: str) -> None:
    assert agent_table([agent(**changes)], NOW, PLAIN)[1].startswith(f"zcode  {state}  ")


def test_what_enforces_each_allowed_tier_is_listed() -> None:
    assert "plan:sandbox workspace:native" in agent_table([agent()], NOW, PLAIN)[1]
    assert "workspace" not in agent_table([agent(max_mode="plan")], NOW, PLAIN)[1]


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (ProgressEvent(1, "", "tool_call", "ls -la", "bash"), "› bash ls -la"),
        (ProgressEvent(1, "", "tool_result", "ok", "bash", ok=True), None),
        (ProgressEvent(1, "", "tool_result", "no such file", "bash", ok=False), "✗ bash no such file"),
        (ProgressEvent(1, "", "status", "retrying"), "· retrying"),
        (ProgressEvent(1, "", "text", "hello"), None),
        (ProgressEvent(1, "", "thinking", "hm"), None),
    ],
)
def test_a_step_gets_a_line_when_it_says_something(event: ProgressEvent, line: str | None) -> None:
    assert progress_line(event) == line
