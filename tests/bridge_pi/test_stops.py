"""Turns of the real pi that are stopped, killed, or meet a failing model: nothing is left, and the reason is told."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from bridge_pi.agent_turn import Times
from bridge_pi.vendor.sandbox_host import agent_process
from bridge_pi.vendor.turn import Event, Outcome, Status, StopReason, StopSignal, ToolCall
from bridge_pi.vendor.wire import Tier

from ..agents.script import mark
from .machine import Machine, machine, until

pytestmark = pytest.mark.slow


@pytest.fixture
async def pi(tmp_path: Path) -> AsyncIterator[Machine]:
    async with machine(tmp_path) as made:
        yield made


class Going:
    """A turn on its way, in which a tool has started."""

    def __init__(self, pi: Machine, task: "asyncio.Task[Outcome]", stop: StopSignal):
        self.pi, self.task, self.stop = pi, task, stop

    @classmethod
    async def start(cls, pi: Machine, *steps: dict[str, Any], tier: Tier = "workspace", sign: str) -> "Going":
        """Run `steps` until the file `sign` is in the workspace."""
        runner, stop, events = await pi.quick(), StopSignal(), list[Event]()
        task = asyncio.create_task(runner.run(pi.request(mark(*steps), tier), events.append, stop))
        await until(lambda: task.done() or (pi.workspace / sign).exists())
        assert not task.done(), task.result()
        assert any(isinstance(event, ToolCall) for event in events)
        return cls(pi, task, stop)

    def bwrap(self) -> psutil.Process:
        """The outermost process of the turn."""
        return next(each for each in psutil.Process().children() if str(self.pi.root) in " ".join(each.cmdline()))


SLEEPERS = "touch started; sleep 300 & setsid sleep 300 & (trap '' TERM INT HUP; sleep 300); sleep 300"


def sleepers(pi: Machine) -> list[dict[str, Any]]:
    # The folder's name on the command line is how the processes are found again.
    return [{"tool": "bash", "arguments": {"command": f": {pi.root}; {SLEEPERS}"}}, {"text": "never"}]


@pytest.mark.parametrize("reason", ["cancelled", "timed_out", "shutdown"])
async def test_a_turn_that_is_stopped_in_a_tool_leaves_no_process(pi: Machine, reason: StopReason) -> None:
    """avibe#2144, untether#590: what a cancelled turn had started worked on"""
    going = await Going.start(pi, *sleepers(pi), sign="started")
    inside = going.bwrap().children(recursive=True)
    assert any("sleep" in " ".join(process.cmdline()) for process in inside)
    going.stop.stop(reason)
    outcome = await going.task
    assert (outcome.stopped, outcome.failure) == (reason, None)
    assert not [process for process in inside if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]
    assert pi.left() == []


async def test_a_session_goes_on_after_a_stop(pi: Machine) -> None:
    going = await Going.start(pi, *sleepers(pi), sign="started")
    going.stop.stop("cancelled")
    await going.task
    outcome, _ = await pi.run(mark({"text": "here again"}), native="ses-1")
    assert (outcome.text, outcome.context_lost) == ("here again", False)


async def test_a_task_that_is_cancelled_leaves_no_process(pi: Machine) -> None:
    going = await Going.start(pi, *sleepers(pi), sign="started")
    going.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going.task
    assert pi.left() == []


async def test_a_bridge_that_is_killed_leaves_no_process_and_the_session_goes_on(pi: Machine) -> None:
    """untether#590"""
    words = ("-m", "tests.bridge_pi.one_turn", str(pi.root), str(pi.model.port))
    bridge = await asyncio.create_subprocess_exec(
        *(sys.executable, *words), stdin=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    assert bridge.stdin is not None
    bridge.stdin.write(mark(*sleepers(pi)).encode())
    bridge.stdin.close()
    await until(lambda: (pi.workspace / "started").exists())
    bridge.kill()
    await bridge.wait()
    await until(lambda: pi.left() == [], 10)
    native = "ses-1"
    outcome, _ = await pi.run(mark({"text": "here again"}), native=native)
    assert (outcome.text, outcome.context_lost) == ("here again", False)


async def test_a_model_that_hangs_is_stopped(pi: Machine) -> None:
    runner, stop = await pi.quick(), StopSignal()
    request = pi.request(mark({"text": "a b", "hang": True}))
    task = asyncio.create_task(runner.run(request, lambda _: None, stop))
    await pi.model.wait_for(1)
    stop.stop("timed_out")
    assert (await task).stopped == "timed_out"
    assert pi.left() == []


async def test_a_stop_before_the_first_word_is_a_stop(pi: Machine) -> None:
    runner, stop = await pi.quick(), StopSignal()
    stop.stop("cancelled")
    outcome = await runner.run(pi.request("x"), lambda _: None, stop)
    assert outcome.stopped == "cancelled"
    assert pi.left() == []


async def test_a_killed_pi_is_told_at_once(pi: Machine) -> None:
    """pi#4764: a client waited half a minute for an answer of a dead process"""
    going = await Going.start(pi, *sleepers(pi), sign="started")
    agent = agent_process(going.bwrap().pid)
    assert agent is not None
    agent.send_signal(signal.SIGKILL)
    outcome = await going.task
    assert outcome.failure is not None
    assert outcome.failure.class_ == "crashed"
    assert "signal 9" in outcome.failure.message
    assert pi.left() == []


async def test_a_pi_that_never_answers_is_ended(pi: Machine) -> None:
    going = await pi.quick(Times(start_s=0.0))
    outcome, _ = await pi.run("x", runner=going)
    assert outcome.failure is not None
    assert outcome.failure.class_ == "crashed"
    assert "did not answer" in outcome.failure.message
    assert pi.left() == []


@pytest.mark.parametrize(
    ("step", "class_", "words"),
    [
        ({"status": 401}, "not_signed_in", "scripted 401"),
        ({"status": 429, "retry_after": "1"}, "rate_limited", "scripted 429"),
        ({"status": 500}, "overloaded", "scripted 500"),
        ({"text": "half a word", "drop": True}, "overloaded", "Stream ended"),
        ({"text": ""}, "empty_answer", "without saying"),
        ({"text": "cut of", "finish": "length"}, "context_too_long", "cut off"),
        ({"text": "x", "finish": "content_filter"}, "content_filtered", "content_filter"),
    ],
    ids=["401", "429", "500", "dropped", "empty", "length", "filtered"],
)
async def test_what_the_model_did_is_the_failure(pi: Machine, step: dict[str, Any], class_: str, words: str) -> None:
    """pi#9089: the exit status is 0 after all of these"""
    outcome = await pi.steps(*[step] * 8)
    assert outcome.failure is not None
    assert outcome.failure.class_ == class_
    assert words in outcome.failure.message
    assert outcome.failure.next_step
    assert "sk-fake" not in outcome.failure.message


async def test_a_model_that_recovers_is_waited_for_and_that_is_shown(pi: Machine) -> None:
    """pi#4716: an agent_end is not the end when a try follows it"""
    events: list[Event] = []
    runner = await pi.quick()
    task = asyncio.create_task(runner.run(pi.request(mark({"text": "better now"})), events.append, StopSignal()))
    pi.model.down = True
    await pi.model.wait_for(1)
    pi.model.down = False
    outcome = await task
    assert outcome.text == "better now"
    assert any(isinstance(event, Status) and "try 1 of 1" in event.text for event in events)


async def test_a_model_that_is_not_there_is_told(pi: Machine) -> None:
    pi.models("http://127.0.0.1:9")
    outcome, _ = await pi.run("x")
    assert outcome.failure is not None
    assert outcome.failure.class_ == "overloaded"


async def test_a_missing_sign_in_is_told(pi: Machine) -> None:
    outcome, _ = await pi.run("x", runner=await pi.quick(FAKE_KEY=""))
    assert outcome.failure is not None
    assert outcome.failure.class_ == "not_signed_in"
    assert "AGENTMAIL_PI_ENV" in outcome.failure.next_step


async def test_a_workspace_that_is_gone_is_told(pi: Machine) -> None:
    """claude-code#62406"""
    runner = await pi.quick()
    request = pi.request("x", workspace=pi.root / "work" / "gone")
    outcome = await runner.run(request, lambda _: None, StopSignal())
    assert outcome.failure is not None
    assert outcome.failure.class_ == "workspace_gone"
