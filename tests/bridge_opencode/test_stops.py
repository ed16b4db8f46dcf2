"""Turns of the real opencode that are stopped, killed, or meet a model that fails: nothing is left, the reason told."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from bridge_opencode.agent_turn import Times
from bridge_opencode.vendor.sandbox_host import agent_process
from bridge_opencode.vendor.turn import Event, Outcome, Status, StopReason, StopSignal, ToolCall
from bridge_opencode.vendor.wire import Tier

from ..agents.script import mark
from .machine import Machine, machine, until

pytestmark = pytest.mark.slow
IMPATIENT = Times(retries=0)


@pytest.fixture
async def opencode(tmp_path: Path) -> AsyncIterator[Machine]:
    async with machine(tmp_path) as made:
        yield made


class Going:
    """A turn on its way, in which a tool has started."""

    def __init__(self, opencode: Machine, task: "asyncio.Task[Outcome]", stop: StopSignal):
        self.opencode, self.task, self.stop = opencode, task, stop

    @classmethod
    async def start(cls, opencode: Machine, *steps: dict[str, Any], tier: Tier = "workspace", sign: str) -> "Going":
        """Run `steps` until the file `sign` is in the workspace."""
        runner, stop, events = await opencode.quick(), StopSignal(), list[Event]()
        task = asyncio.create_task(runner.run(opencode.request(mark(*steps), tier), events.append, stop))
        await until(lambda: task.done() or (opencode.workspace / sign).exists())
        assert not task.done(), task.result()
        await until(lambda: any(isinstance(event, ToolCall) for event in events))
        return cls(opencode, task, stop)

    def bwrap(self) -> psutil.Process:
        """The outermost process of the turn."""
        own = psutil.Process().children()
        return next(each for each in own if str(self.opencode.root) in " ".join(each.cmdline()))


SLEEPERS = "touch started; sleep 300 & setsid sleep 300 & (trap '' TERM INT HUP; sleep 300); sleep 300"


def sleepers(opencode: Machine) -> list[dict[str, Any]]:
    # The folder's name on the command line is how the processes are found again.
    arguments = {"command": f": {opencode.root}; {SLEEPERS}", "description": "sleep"}
    return [{"tool": "bash", "arguments": arguments}, {"text": "never"}]


@pytest.mark.parametrize("reason", ["cancelled", "timed_out"])
async def test_a_turn_that_is_stopped_in_a_tool_leaves_no_process(opencode: Machine, reason: StopReason) -> None:
    """opencode#20899: what a stopped opencode had started worked on"""
    going = await Going.start(opencode, *sleepers(opencode), sign="started")
    inside = going.bwrap().children(recursive=True)
    assert any("sleep" in " ".join(process.cmdline()) for process in inside)
    going.stop.stop(reason)
    outcome = await going.task
    assert (outcome.stopped, outcome.failure) == (reason, None)
    assert not [process for process in inside if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]
    assert opencode.left() == []
    again, _ = await opencode.run(mark({"text": "here again"}), native=outcome.native_session_id)
    assert (again.text, again.context_lost) == ("here again", False)


async def test_a_task_that_is_cancelled_leaves_no_process(opencode: Machine) -> None:
    going = await Going.start(opencode, *sleepers(opencode), sign="started")
    going.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going.task
    assert opencode.left() == []


async def test_a_model_that_hangs_is_stopped(opencode: Machine) -> None:
    runner, stop = await opencode.quick(), StopSignal()
    request = opencode.request(mark({"text": "a b", "hang": True}))
    task = asyncio.create_task(runner.run(request, lambda _: None, stop))
    await opencode.model.wait_for(1)
    stop.stop("timed_out")
    assert (await task).stopped == "timed_out"
    assert opencode.left() == []


async def test_a_stop_before_the_first_word_is_a_stop(opencode: Machine) -> None:
    runner, stop = await opencode.quick(), StopSignal()
    stop.stop("cancelled")
    outcome = await runner.run(opencode.request("x"), lambda _: None, stop)
    assert outcome.stopped == "cancelled"
    assert opencode.left() == []


async def test_a_killed_opencode_is_told_at_once(opencode: Machine) -> None:
    going = await Going.start(opencode, *sleepers(opencode), sign="started")
    agent = agent_process(going.bwrap().pid)
    assert agent is not None
    agent.send_signal(signal.SIGKILL)
    outcome = await going.task
    assert outcome.failure is not None
    assert outcome.failure.class_ == "crashed"
    assert "signal 9" in outcome.failure.message
    assert opencode.left() == []


async def test_an_opencode_that_does_not_come_up_is_tried_once_more_and_told(opencode: Machine) -> None:
    """opencode#38723: it hung at its start, without a word"""
    events: list[Event] = []
    runner = await opencode.quick(Times(start_s=0.0))
    outcome = await runner.run(opencode.request("x"), events.append, StopSignal())
    assert outcome.failure is not None
    assert outcome.failure.class_ == "crashed"
    assert "did not answer" in outcome.failure.message
    assert [event.text for event in events if isinstance(event, Status)] == [
        "opencode did not come up, starting it once more"
    ]
    assert opencode.left() == []


@pytest.mark.parametrize(
    ("step", "class_", "words"),
    [
        ({"status": 429}, "rate_limited", "scripted 429"),
        ({"status": 500}, "overloaded", "scripted 500"),
        ({"text": ""}, "empty_answer", "without saying"),
        ({"text": "cut of", "finish": "length"}, "context_too_long", "cut off"),
        ({"text": "x", "finish": "content_filter"}, "content_filtered", "content filter"),
    ],
    ids=["429", "500", "empty", "length", "filtered"],
)
async def test_what_the_model_did_is_the_failure(
    opencode: Machine, step: dict[str, Any], class_: str, words: str
) -> None:
    """opencode#40330: minutes of silent tries; opencode#44267: rc 0 and no answer"""
    outcome = await opencode.steps(*[step] * 8, runner=await opencode.quick(IMPATIENT))
    assert outcome.failure is not None
    assert outcome.failure.class_ == class_, outcome.failure
    assert words in outcome.failure.message
    assert outcome.failure.next_step
    assert "sk-fake" not in outcome.failure.message
    assert opencode.left() == []


async def test_an_answer_that_broke_off_is_not_taken_for_one(opencode: Machine) -> None:
    outcome = await opencode.steps({"text": "half a word", "drop": True}, {"text": "the whole of it"})
    assert (outcome.text, outcome.failure) == ("the whole of it", None)


async def test_a_provider_that_wants_hours_is_a_quota_with_its_time(opencode: Machine) -> None:
    """opencode#40330: a Retry-After of any length was waited for"""
    outcome = await opencode.steps({"status": 429, "retry_after": "7200"})
    assert outcome.failure is not None
    assert outcome.failure.class_ == "quota"
    assert outcome.wait_until is not None


async def test_a_model_that_recovers_is_waited_for_and_that_is_shown(opencode: Machine) -> None:
    events: list[Event] = []
    runner = await opencode.quick()
    opencode.model.down = True
    request = opencode.request(mark({"text": "better now"}))
    task = asyncio.create_task(runner.run(request, events.append, StopSignal()))
    await until(lambda: any(isinstance(event, Status) for event in events))
    opencode.model.down = False
    outcome = await task
    assert outcome.text == "better now"
    assert any(isinstance(event, Status) and "try 1" in event.text for event in events)


async def test_a_model_that_is_not_there_is_told(opencode: Machine) -> None:
    opencode.models("http://127.0.0.1:9")
    outcome, _ = await opencode.run("x", runner=await opencode.quick(IMPATIENT))
    assert outcome.failure is not None
    assert outcome.failure.class_ == "overloaded"


async def test_a_workspace_that_is_gone_is_told(opencode: Machine) -> None:
    """opencode#46276, claude-code#62406"""
    runner = await opencode.quick()
    request = opencode.request("x", workspace=opencode.root / "work" / "gone")
    outcome = await runner.run(request, lambda _: None, StopSignal())
    assert outcome.failure is not None
    assert outcome.failure.class_ == "workspace_gone"
