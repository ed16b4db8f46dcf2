"""Turns of the real opencode in its cage, with the scripted model: answers, sessions, prompts."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge_opencode.vendor.turn import Started, StopSignal, Text, ToolCall, ToolResult

from ..agents.script import mark, plain
from .machine import FIRST_LINE, Machine, machine

pytestmark = pytest.mark.slow


@pytest.fixture
async def opencode(tmp_path: Path) -> AsyncIterator[Machine]:
    async with machine(tmp_path) as made:
        yield made


async def test_a_mail_is_answered_and_the_thread_goes_on_in_its_session(opencode: Machine) -> None:
    runner, readiness = await opencode.ready()
    assert readiness.ready
    assert readiness.agent_version is not None
    steps = mark({"text": "I look first.", "tool": "read", "arguments": {"filePath": "readme"}}, {"text": "A readme."})
    outcome, events = await opencode.run(steps, runner=runner)
    assert outcome.failure is None
    assert outcome.text == "A readme."
    assert not outcome.context_lost
    assert outcome.usage is not None
    assert (outcome.usage.input_tokens, outcome.usage.output_tokens) == (200, 40)
    assert outcome.usage.cost_usd == pytest.approx(0.00028)
    assert events[0] == Started(outcome.native_session_id)
    assert [event.tool for event in events if isinstance(event, ToolCall)] == ["read"]
    [result] = [event for event in events if isinstance(event, ToolResult)]
    assert result.ok
    assert "the project's readme" in result.text
    assert "".join(event.text for event in events if isinstance(event, Text)) == "I look first.A readme."
    # No request but those of the turn: none for a title.
    assert len(opencode.model.asked) == 2

    again, _ = await opencode.run(mark({"text": "once more"}), runner=runner, native=outcome.native_session_id)
    assert (again.text, again.native_session_id, again.context_lost) == (
        "once more",
        outcome.native_session_id,
        False,
    )
    assert "I look first." in opencode.told()
    assert opencode.left() == []
    assert sorted(path.name for path in opencode.home.iterdir()) == [".config", "private"]
    assert [path.name for path in opencode.own.iterdir()] == ["opencode.json"]


async def test_a_session_that_is_gone_or_elsewhere_is_replaced_and_that_is_said(opencode: Machine) -> None:
    """opencode#41841, opencode#46276: a session of another directory ran there, or not at all"""
    runner = await opencode.quick()
    first, _ = await opencode.run("one", runner=runner)
    elsewhere = opencode.root / "work" / "other"
    elsewhere.mkdir()
    request = opencode.request("two", native=first.native_session_id, workspace=elsewhere)
    moved = await runner.run(request, lambda _: None, StopSignal())
    assert moved.failure is None
    assert moved.context_lost
    assert str(opencode.workspace) in moved.note
    assert moved.native_session_id != first.native_session_id
    shutil.rmtree(opencode.state / "sessions")
    lost, _ = await opencode.run("three", runner=runner, native=first.native_session_id)
    assert lost.failure is None
    assert lost.context_lost


async def test_an_earlier_answer_is_never_taken_for_this_turn_s(opencode: Machine) -> None:
    """openclaw#61020"""
    runner = await opencode.quick()
    first, _ = await opencode.run(mark({"text": "the first answer"}), runner=runner)
    second, _ = await opencode.run(mark({"status": 401}), runner=runner, native=first.native_session_id)
    assert second.failure is not None
    assert second.failure.class_ == "not_signed_in"
    assert second.text == ""
    assert second.native_session_id == first.native_session_id


async def test_two_threads_work_at_once(opencode: Machine) -> None:
    """opencode#33320: two processes on one database locked each other out"""
    runner = await opencode.quick()
    requests = [
        opencode.request(f"thread {name} {mark({'text': f'for {name}', 'slow': 0.02})}", thread=name) for name in "ab"
    ]
    outcomes = await asyncio.gather(*(runner.run(request, lambda _: None, StopSignal()) for request in requests))
    assert [outcome.text.strip() for outcome in outcomes] == ["for a", "for b"]
    assert len({outcome.native_session_id for outcome in outcomes}) == 2


ODD = (
    "- [ ] x",
    "--help",
    "@readme",
    "/exit",
    "!ls",
    "$(touch pwned)",
    "`touch pwned`",
    "a\u2028b\r\n\x0bc",
    "\ud83d x",
)


async def test_no_text_is_taken_for_an_option_a_file_or_a_command(opencode: Machine) -> None:
    """claudecodeui PR#182: a prompt was read as an option"""
    text = "\n".join(ODD)
    outcome, _ = await opencode.run(text, "workspace")
    assert outcome.failure is None
    expected = (FIRST_LINE + text).replace("\ud83d", "\ufffd")
    assert plain(opencode.model.asked[0].body["messages"][-1]["content"]) == expected
    assert sorted(path.name for path in opencode.workspace.iterdir()) == ["readme"]


async def test_long_texts_arrive_whole(opencode: Machine) -> None:
    """no-mistakes#485: a prompt of 300 KB as an argument ended in E2BIG; opencode#29330: an answer was cut at 64 KiB"""
    text = "请看这个文件。" * 15_000
    outcome = await opencode.steps({"text": "0123456789", "repeat": 300_000})
    assert outcome.failure is None
    assert outcome.text == "0123456789" * 300_000
    outcome, _ = await opencode.run(text)
    assert outcome.text.endswith(f"last of {len(FIRST_LINE + text)} characters")


async def test_the_key_reaches_the_model_and_nothing_else_reaches_opencode(opencode: Machine) -> None:
    opencode.write(
        opencode.home / ".local/share/opencode/auth.json",
        {
            "anthropic": {"type": "oauth", "access": "the-access", "refresh": "the-refresh", "expires": 9e15},
            "other": {"type": "api", "key": "the-other-key"},
        },
    )
    runner = await opencode.quick(OTHER_TOKEN="not for opencode")
    look = "env; cat ~/.local/share/opencode/auth.json; cd ~/.config/opencode; echo x >> opencode.json; ls -a; true"
    step = {"tool": "bash", "arguments": {"command": f"sh -c '{look}'", "description": "look"}}
    before = (opencode.own / "opencode.json").read_bytes()
    outcome = await opencode.steps(step, {"text": "x"}, tier="workspace", runner=runner)
    assert outcome.failure is None
    assert opencode.model.asked[0].headers["authorization"] == "Bearer sk-fake-0123456789"
    told = opencode.told()
    assert "AGENTMAIL_TURN_ID" in told
    assert "not for opencode" not in told
    assert "the-access" in told
    assert "the-refresh" not in told
    assert (opencode.own / "opencode.json").read_bytes() == before
    assert not list(opencode.state.rglob("logins/*"))
    assert not any("the-access" in path.read_text("latin-1") for path in opencode.state.rglob("auth.json"))


async def test_a_missing_sign_in_or_model_is_told_and_nothing_is_sent(opencode: Machine) -> None:
    """Without a provider opencode would send the mail to its maker's public models."""
    (opencode.own / "opencode.json").write_text("{}")
    outcome, _ = await opencode.run("x")
    assert outcome.failure is not None
    assert outcome.failure.class_ == "not_signed_in"
    assert "opencode auth login" in outcome.failure.next_step
    opencode.models(opencode.model.url)
    runner = await opencode.quick(AGENTMAIL_OPENCODE_MODEL="fake/none")
    outcome, _ = await opencode.run("x", runner=runner)
    assert outcome.failure is not None
    assert outcome.failure.class_ == "no_model"
    assert opencode.model.asked == []


async def test_an_agent_that_is_not_there_is_not_replaced_by_another(opencode: Machine) -> None:
    """opencode#36764"""
    outcome, _ = await opencode.run("x", runner=await opencode.quick(AGENTMAIL_OPENCODE_AGENT="nosuch"))
    assert outcome.failure is not None
    assert outcome.failure.class_ == "bad_option"
    assert "nosuch" in outcome.failure.message
    assert opencode.model.asked == []


async def test_a_configuration_that_opencode_refuses_is_told(opencode: Machine) -> None:
    (opencode.own / "opencode.json").write_text('{"permissions": {}}')
    outcome, _ = await opencode.run("x")
    assert outcome.failure is not None
    assert outcome.failure.class_ in ("bad_option", "crashed")
    assert "V2 permissions" in outcome.failure.message
