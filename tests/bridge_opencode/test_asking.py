"""Permission questions of the real opencode: they reach a person, and the turn goes on with the answer."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bridge_opencode.vendor.turn import Decision, Event, Question, Status, StopSignal

from ..agents.script import mark
from .machine import Machine, machine

pytestmark = pytest.mark.slow


@pytest.fixture
async def opencode(tmp_path: Path) -> AsyncIterator[Machine]:
    async with machine(tmp_path) as made:
        yield made


class Person:
    """Answers questions with what `says` has for a tool, and remembers them."""

    def __init__(self, **says: bool):
        self.says = says
        self.asked: list[Question] = []

    async def ask(self, question: Question) -> Decision:
        self.asked.append(question)
        return Decision(self.says[question.tool], "ada said so")


STEPS: list[dict[str, Any]] = [
    {"tool": "bash", "arguments": {"command": "touch by-shell.txt", "description": "d"}},
    {"tool": "write", "arguments": {"filePath": "by-tool.txt", "content": "x"}},
    {"tool": "read", "arguments": {"filePath": "readme"}},
    {"text": "went on"},
]


async def test_an_allowed_tool_runs_and_a_refused_one_does_not_end_the_turn(opencode: Machine) -> None:
    """opencode#14473: a question nobody sees hangs; opencode#44267: a refused one ends the turn without a word"""
    person, events = Person(bash=True, edit=False), list[Event]()
    runner = await opencode.quick(AGENTMAIL_ASK_TOOLS="Bash, write")
    request = opencode.request(mark(*STEPS), "workspace", ask=person.ask)
    outcome = await runner.run(request, events.append, StopSignal())
    assert outcome.failure is None
    assert outcome.text == "went on"
    assert [(question.tool, question.needs) for question in person.asked] == [
        ("bash", "workspace"),
        ("edit", "workspace"),
    ]
    assert person.asked[0].summary == "bash: touch by-shell.txt"
    assert person.asked[0].scope == "touch *"
    assert (opencode.workspace / "by-shell.txt").exists()
    assert not (opencode.workspace / "by-tool.txt").exists()
    assert "ada said so" in opencode.told()
    assert outcome.denied_tools == ("write",)
    assert any(isinstance(event, Status) and "refused" in event.text for event in events)


async def test_no_answer_raises_a_tier_and_without_anybody_to_ask_it_is_no(opencode: Machine) -> None:
    """vercel/ai#19800: a question blocked the session for ever"""
    person = Person(bash=True, edit=True)
    runner = await opencode.quick(AGENTMAIL_ASK_TOOLS="bash edit")
    plan = await runner.run(opencode.request(mark(*STEPS), "plan", ask=person.ask), lambda _: None, StopSignal())
    assert (plan.text, person.asked) == ("went on", [])
    nobody = await runner.run(opencode.request(mark(*STEPS), "workspace"), lambda _: None, StopSignal())
    assert nobody.text == "went on"
    assert set(nobody.denied_tools) == {"bash", "write"}
    assert [path.name for path in opencode.workspace.iterdir()] == ["readme"]


async def test_no_sub_agent_goes_around_a_question(tmp_path: Path) -> None:
    """opencode#37902: a sub-agent's session does not ask what its parent's does"""
    async with machine(tmp_path, AGENTMAIL_MAX_MODE="full", AGENTMAIL_ASK_TOOLS="bash") as opencode:
        person = Person(bash=True)
        runner = await opencode.quick()
        request = opencode.request(mark(*STEPS), "full", ask=person.ask)
        outcome = await runner.run(request, lambda _: None, StopSignal())
        assert outcome.text == "went on"
        assert "task" not in opencode.model.asked[0].tools
        assert [question.tool for question in person.asked] == ["bash"]
        assert (opencode.workspace / "by-shell.txt").exists()
        assert (opencode.workspace / "by-tool.txt").exists()


async def test_a_stop_while_a_person_is_asked_ends_the_turn(opencode: Machine) -> None:
    asked = asyncio.Event()

    async def never(question: Question) -> Decision:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    stop = StopSignal()
    runner = await opencode.quick(AGENTMAIL_ASK_TOOLS="bash")
    task = asyncio.create_task(runner.run(opencode.request(mark(*STEPS), "workspace", ask=never), lambda _: None, stop))
    async with asyncio.timeout(120):
        await asked.wait()
    stop.stop("cancelled")
    assert (await task).stopped == "cancelled"
    assert opencode.left() == []
