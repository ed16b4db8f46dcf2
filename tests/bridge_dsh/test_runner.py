"""Turns of the real dsh in its cage, with the scripted model: answers, sessions, prompts."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge_dsh.vendor.turn import Started, StopSignal, ToolCall, ToolResult

from ..agents.script import mark, plain
from .machine import FIRST_LINE, Machine, machine

pytestmark = pytest.mark.slow


@pytest.fixture
async def dsh(tmp_path: Path) -> AsyncIterator[Machine]:
    async with machine(tmp_path) as made:
        yield made


async def test_a_mail_is_answered_and_its_thread_goes_on(dsh: Machine) -> None:
    runner = await dsh.quick()
    steps = ({"text": "I look.", "tool": "read", "arguments": {"file_path": "readme"}}, {"text": "It is a readme."})
    first, events = await dsh.run(mark(*steps), runner=runner)
    assert first.failure is None
    assert first.text == "It is a readme."
    assert first.usage is not None
    assert (first.usage.input_tokens, first.usage.output_tokens) == (200, 40)
    assert events[0] == Started(first.native_session_id)
    assert [event.tool for event in events if isinstance(event, ToolCall)] == ["read"]
    (result,) = [event for event in events if isinstance(event, ToolResult)]
    assert (result.tool, result.ok) == ("read", True)
    assert "the project's readme" in result.text
    second, _ = await dsh.run("and now?" + mark({"text": "second"}), runner=runner, native=first.native_session_id)
    assert (second.text, second.native_session_id, second.context_lost) == (
        "second",
        first.native_session_id,
        False,
    )
    assert "It is a readme." in dsh.told()


async def test_two_threads_work_at_once_in_their_own_sessions(dsh: Machine) -> None:
    runner = await dsh.quick()
    requests = [dsh.request(f"thread {name} {mark({'text': f'for {name}'})}", thread=name) for name in "ab"]
    outcomes = await asyncio.gather(*(runner.run(request, lambda _: None, StopSignal()) for request in requests))
    assert [outcome.text for outcome in outcomes] == ["for a", "for b"]
    assert len({outcome.native_session_id for outcome in outcomes}) == 2


async def test_a_session_that_is_gone_is_replaced_and_that_is_told(dsh: Machine) -> None:
    outcome, _ = await dsh.run(mark({"text": "here"}), native="session-nope")
    assert (outcome.text, outcome.context_lost) == ("here", True)
    assert outcome.native_session_id not in (None, "session-nope")
    assert "does not exist" in outcome.note


async def test_a_session_of_another_directory_is_not_taken_and_that_is_told(dsh: Machine) -> None:
    """claude-code#62406: the directory of a session is gone"""
    runner = await dsh.quick()
    first, _ = await dsh.run("x", runner=runner)
    elsewhere = dsh.root / "work" / "other"
    elsewhere.mkdir()
    request = dsh.request(mark({"text": "here"}), native=first.native_session_id, workspace=elsewhere)
    outcome = await runner.run(request, lambda _: None, StopSignal())
    assert (outcome.text, outcome.context_lost) == ("here", True)
    assert f'was recorded in "{dsh.workspace}"' in outcome.note


async def test_a_session_whose_log_was_spoilt_is_replaced(dsh: Machine) -> None:
    runner = await dsh.quick()
    first, _ = await dsh.run("x", runner=runner)
    (log,) = (dsh.state / "sessions").rglob("session.v4.jsonl.zstd")
    log.write_text("garbage")
    outcome, _ = await dsh.run(mark({"text": "here"}), runner=runner, native=first.native_session_id)
    assert (outcome.text, outcome.context_lost) == ("here", True)


@pytest.mark.parametrize(
    "text", ["- [ ] x\n--help", "@readme /exit", "!ls $(touch pwned) `touch pwned`", "", "a\u2028b\r\nc"]
)
async def test_no_text_is_taken_for_an_option_a_file_or_a_command(dsh: Machine, text: str) -> None:
    """claudecodeui PR#182: a prompt was read as an option"""
    outcome, _ = await dsh.run(text, "workspace")
    assert outcome.failure is None
    assert FIRST_LINE + text in plain(dsh.model.asked[0].body["messages"][-1]["content"]) or not text
    assert "the project's readme" not in dsh.told()
    assert sorted(path.name for path in dsh.workspace.iterdir()) == ["readme"]


async def test_a_prompt_of_300_kb_in_chinese_arrives_whole(dsh: Machine) -> None:
    """no-mistakes#485: a prompt as an argument ended in E2BIG"""
    text = "请看这个文件。" * 15_000
    outcome, _ = await dsh.run(text)
    assert outcome.failure is None
    assert text in dsh.told()


async def test_an_answer_of_3_mb_arrives_whole(dsh: Machine) -> None:
    """hermes#31417: a line of more than 64 KiB broke the reader"""
    outcome = await dsh.steps({"text": "0123456789", "repeat": 300_000})
    assert outcome.failure is None
    assert outcome.text == "0123456789" * 300_000


async def test_nothing_but_the_mail_and_the_key_goes_to_the_model(dsh: Machine) -> None:
    command = {"command": "env; ls -a ~", "description": "look"}
    runner = await dsh.quick(OTHER_TOKEN="not for dsh")
    await dsh.steps({"tool": "bash", "arguments": command}, {"text": "x"}, tier="workspace", runner=runner)
    assert len(dsh.model.asked) == 2
    assert "OTHER_TOKEN" not in dsh.told()
    assert "sk-fake-0123456789" not in dsh.told()
    assert "sk-fake-0123456789" in json.dumps(dsh.model.asked[0].headers)
    assert not {"dsh_session_log", "dsh_plugin_packages"} & set(dsh.model.asked[0].body)


async def test_another_provider_can_be_set_up(dsh: Machine) -> None:
    provider = {"apiKeyEnv": "MY_KEY", "api": "openai-completions", "baseURL": f"{dsh.model.url}/v1"}
    config = {"providers": {"mine": {**provider, "models": [{"id": "m-1"}]}}}
    row = {"id": "llm-pi-ai", "name": "@deepseek-ai/dsh-llm-pi-ai", "config": config}
    patch = dsh.write(dsh.root / "mine.yml", json.dumps([row]))
    dsh.env |= {"AGENTMAIL_DSH_PATCH": str(patch), "AGENTMAIL_DSH_MODEL": "mine/m-1"}
    runner, readiness = await dsh.ready(AGENTMAIL_DSH_ENV="MY_KEY", MY_KEY="my-own-key-0123")
    assert readiness.ready
    outcome, _ = await dsh.run("x", runner=runner)
    assert outcome.failure is None
    assert dsh.model.asked[0].path == "/v1/chat/completions"
    assert dsh.model.asked[0].headers["authorization"] == "Bearer my-own-key-0123"
