"""Turns of the real pi in its cage, with the scripted model: answers, sessions, prompts."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge_pi.vendor.turn import Started, StopSignal, Text, ToolCall, ToolResult

from ..agents.script import mark, plain
from .machine import FIRST_LINE, Machine, machine

pytestmark = pytest.mark.slow


@pytest.fixture
async def pi(tmp_path: Path) -> AsyncIterator[Machine]:
    async with machine(tmp_path) as made:
        yield made


async def test_a_mail_is_answered_with_what_the_model_said_last(pi: Machine) -> None:
    outcome, events = await pi.run(
        mark({"text": "I look first.", "tool": "read", "arguments": {"path": "readme"}}, {"text": "It is a readme."})
    )
    assert outcome.failure is None
    assert outcome.text == "It is a readme."
    assert outcome.native_session_id == "ses-1"
    assert not outcome.context_lost
    assert outcome.usage is not None
    assert (outcome.usage.input_tokens, outcome.usage.output_tokens) == (200, 40)
    assert outcome.usage.cost_usd == pytest.approx(0.00028)
    assert isinstance(events[0], Started)
    assert [event.tool for event in events if isinstance(event, ToolCall)] == ["read"]
    (result,) = [event for event in events if isinstance(event, ToolResult)]
    assert result.ok
    assert "the project's readme" in result.text
    assert "".join(event.text for event in events if isinstance(event, Text)) == "I look first.It is a readme."


async def test_a_thread_goes_on_in_its_session_and_another_thread_has_its_own(pi: Machine) -> None:
    runner = await pi.quick()
    first, _ = await pi.run("one", runner=runner)
    second, _ = await pi.run("two", runner=runner, native=first.native_session_id)
    assert second.text.startswith("echo of 4 messages")
    assert (second.native_session_id, second.context_lost) == (first.native_session_id, False)
    other = await runner.run(pi.request("three", thread="2"), lambda _: None, StopSignal())
    assert other.text.startswith("echo of 2 messages")


async def test_a_session_that_is_gone_is_replaced_and_that_is_told(pi: Machine) -> None:
    outcome, _ = await pi.run("one", native="ses-1")
    assert outcome.failure is None
    assert outcome.context_lost
    assert outcome.native_session_id == "ses-1"


async def test_a_session_of_another_directory_is_replaced_and_that_is_told(pi: Machine) -> None:
    """claude-code#62406: the directory of a session is gone"""
    runner = await pi.quick()
    await pi.run("one", runner=runner)
    elsewhere = pi.root / "work" / "other"
    elsewhere.mkdir()
    request = pi.request("two", native="ses-1", workspace=elsewhere)
    outcome = await runner.run(request, lambda _: None, StopSignal())
    assert outcome.failure is None
    assert outcome.context_lost


async def test_a_session_whose_file_was_spoilt_is_replaced(pi: Machine) -> None:
    runner = await pi.quick()
    await pi.run("one", runner=runner)
    (file,) = (pi.state / "sessions" / "ses_1" / "pi").rglob("*.jsonl")
    file.write_text("garbage\n")
    outcome, _ = await pi.run("two", runner=runner, native="ses-1")
    assert outcome.failure is None
    assert outcome.context_lost


async def test_an_earlier_answer_is_never_taken_for_this_turn_s(pi: Machine) -> None:
    """openclaw#61020"""
    runner = await pi.quick()
    await pi.run(mark({"text": "the first answer"}), runner=runner)
    outcome, _ = await pi.run(mark({"status": 401}), runner=runner, native="ses-1")
    assert outcome.failure is not None
    assert outcome.text == ""


async def test_two_threads_work_at_once(pi: Machine) -> None:
    runner = await pi.quick()
    requests = [
        pi.request(f"thread {name} {mark({'text': f'for {name}', 'slow': 0.02})}", thread=name) for name in "ab"
    ]
    outcomes = await asyncio.gather(*(runner.run(request, lambda _: None, StopSignal()) for request in requests))
    assert [outcome.text.strip() for outcome in outcomes] == ["for a", "for b"]
    assert [outcome.native_session_id for outcome in outcomes] == ["ses-a", "ses-b"]


@pytest.mark.parametrize(
    "text",
    ["- [ ] x", "--help", "@readme", "/exit", "!ls", "$(touch pwned)", "", "a\u2028b\r\n\x0bc", "\ud83d lone"],
    ids=["list", "option", "file", "command", "shell", "substitution", "empty", "separators", "surrogate"],
)
async def test_no_text_is_taken_for_an_option_a_file_or_a_command(pi: Machine, text: str) -> None:
    """claudecodeui PR#182: a prompt was read as an option"""
    outcome, _ = await pi.run(text, "workspace")
    assert outcome.failure is None
    expected = (FIRST_LINE + text).replace("\ud83d", "\ufffd")
    assert plain(pi.model.asked[0].body["messages"][-1]["content"]) == expected
    assert sorted(path.name for path in pi.workspace.iterdir()) == ["readme"]


async def test_a_prompt_of_300_kb_in_chinese_arrives_whole(pi: Machine) -> None:
    """no-mistakes#485: a prompt as an argument ended in E2BIG"""
    text = "请看这个文件。" * 15_000
    outcome, _ = await pi.run(text)
    assert outcome.failure is None
    assert outcome.text.endswith(f"last of {len(FIRST_LINE + text)} characters")


async def test_an_answer_of_3_mb_arrives_whole(pi: Machine) -> None:
    """hermes#31417: a line of more than 64 KiB broke the reader"""
    outcome = await pi.steps({"text": "0123456789", "repeat": 300_000})
    assert outcome.failure is None
    assert outcome.text == "0123456789" * 300_000


async def test_the_key_reaches_the_model_and_no_other_variable_reaches_pi(pi: Machine) -> None:
    runner = await pi.quick(OTHER_TOKEN="not for pi")
    await pi.steps({"tool": "bash", "arguments": {"command": "env"}}, {"text": "x"}, tier="workspace", runner=runner)
    assert pi.model.asked[0].headers["authorization"] == "Bearer sk-fake-0123456789"
    assert "OTHER_TOKEN" not in pi.told()
    assert "AGENTMAIL_TURN_DIR" in pi.told()


async def test_files_for_the_answer_can_be_left(pi: Machine) -> None:
    command = 'echo made > "$AGENTMAIL_TURN_DIR/out/made.txt"'
    await pi.steps({"tool": "bash", "arguments": {"command": command}}, {"text": "x"}, tier="workspace")
    (made,) = (pi.state / "turns").rglob("made.txt")
    assert made.read_text() == "made\n"


async def test_the_model_can_be_chosen(pi: Machine) -> None:
    outcome, _ = await pi.run("x", runner=await pi.quick(AGENTMAIL_PI_MODEL="fake/fake-1"))
    assert outcome.failure is None
    outcome, _ = await pi.run("x", runner=await pi.quick(AGENTMAIL_PI_MODEL="nowhere/none"))
    assert outcome.failure is not None
    assert outcome.failure.class_ == "no_model"
