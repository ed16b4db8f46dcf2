"""Turns of the real dsh that are stopped, killed, or meet a failing model: nothing is left, and the reason is told."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from bridge_dsh.agent_turn import Times
from bridge_dsh.vendor.sandbox_host import agent_process
from bridge_dsh.vendor.turn import Event, Outcome, StopReason, StopSignal, ToolCall
from bridge_dsh.vendor.wire import Tier

from ..agents.script import mark
from .machine import Machine, machine, until

pytestmark = pytest.mark.slow


@pytest.fixture
async def dsh(tmp_path: Path) -> AsyncIterator[Machine]:
    async with machine(tmp_path) as made:
        yield made


class Going:
    """A turn on its way, in which a tool has started."""

    def __init__(self, dsh: Machine, task: "asyncio.Task[Outcome]", stop: StopSignal):
        self.dsh, self.task, self.stop = dsh, task, stop

    @classmethod
    async def start(cls, dsh: Machine, *steps: dict[str, Any], tier: Tier = "workspace", sign: str) -> "Going":
        """Run `steps` until the file `sign` is in the workspace."""
        runner, stop, events = await dsh.quick(), StopSignal(), list[Event]()
        task = asyncio.create_task(runner.run(dsh.request(mark(*steps), tier), events.append, stop))
        await until(lambda: task.done() or (dsh.workspace / sign).exists())
        assert not task.done(), task.result()
        assert any(isinstance(event, ToolCall) for event in events)
        return cls(dsh, task, stop)

    def bwrap(self) -> psutil.Process:
        """The outermost process of the turn."""
        return next(each for each in psutil.Process().children() if str(self.dsh.root) in " ".join(each.cmdline()))


SLEEPERS = "touch started; sleep 300 & setsid sleep 300 & (trap '' TERM INT HUP; sleep 300); sleep 300"


def sleepers(dsh: Machine) -> list[dict[str, Any]]:
    # The folder's name on the command line is how the processes are found again.
    return [
        {"tool": "bash", "arguments": {"command": f": {dsh.root}; {SLEEPERS}", "description": "wait"}},
        {"text": "never"},
    ]


@pytest.mark.parametrize("reason", ["cancelled", "timed_out", "shutdown"])
async def test_a_turn_that_is_stopped_in_a_tool_leaves_no_process(dsh: Machine, reason: StopReason) -> None:
    """avibe#2144, untether#590: what a cancelled turn had started worked on"""
    going = await Going.start(dsh, *sleepers(dsh), sign="started")
    inside = going.bwrap().children(recursive=True)
    assert any("sleep" in " ".join(process.cmdline()) for process in inside)
    going.stop.stop(reason)
    outcome = await going.task
    assert (outcome.stopped, outcome.failure) == (reason, None)
    assert not [process for process in inside if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]
    assert dsh.left() == []


async def test_a_session_goes_on_after_a_stop(dsh: Machine) -> None:
    going = await Going.start(dsh, *sleepers(dsh), sign="started")
    going.stop.stop("cancelled")
    native = (await going.task).native_session_id
    assert native is not None
    outcome, _ = await dsh.run(mark({"text": "here again"}), native=native)
    assert (outcome.text, outcome.context_lost) == ("here again", False)


async def test_a_task_that_is_cancelled_leaves_no_process(dsh: Machine) -> None:
    going = await Going.start(dsh, *sleepers(dsh), sign="started")
    going.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going.task
    assert dsh.left() == []


async def test_a_bridge_that_is_killed_leaves_no_process_and_the_session_goes_on(dsh: Machine) -> None:
    """untether#590"""
    words = ("-m", "tests.bridge_dsh.one_turn", str(dsh.root), str(dsh.model.port))
    bridge = await asyncio.create_subprocess_exec(
        *(sys.executable, *words), stdin=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    assert bridge.stdin is not None
    bridge.stdin.write(mark(*sleepers(dsh)).encode())
    bridge.stdin.close()
    await until(lambda: (dsh.workspace / "started").exists())
    bridge.kill()
    await bridge.wait()
    await until(lambda: dsh.left() == [], 10)
    (log,) = (dsh.state / "sessions").rglob("session.v4.jsonl.zstd")
    native = log.parent.name
    outcome, _ = await dsh.run(mark({"text": "here again"}), native=native)
    assert (outcome.text, outcome.context_lost) == ("here again", False)


async def test_a_model_that_hangs_is_stopped(dsh: Machine) -> None:
    runner, stop = await dsh.quick(), StopSignal()
    request = dsh.request(mark({"text": "a b", "hang": True}))
    task = asyncio.create_task(runner.run(request, lambda _: None, stop))
    await dsh.model.wait_for(1)
    stop.stop("timed_out")
    assert (await task).stopped == "timed_out"
    assert dsh.left() == []


async def test_a_stop_before_the_first_word_is_a_stop(dsh: Machine) -> None:
    runner, stop = await dsh.quick(), StopSignal()
    stop.stop("cancelled")
    outcome = await runner.run(dsh.request("x"), lambda _: None, stop)
    assert outcome.stopped == "cancelled"
    assert dsh.left() == []


async def test_a_killed_dsh_is_told_at_once(dsh: Machine) -> None:
    going = await Going.start(dsh, *sleepers(dsh), sign="started")
    agent = agent_process(going.bwrap().pid)
    assert agent is not None
    agent.send_signal(signal.SIGKILL)
    outcome = await going.task
    assert outcome.failure is not None
    assert outcome.failure.class_ == "crashed"
    assert "signal 9" in outcome.failure.message
    assert dsh.left() == []


async def test_a_dsh_that_says_nothing_is_ended(dsh: Machine) -> None:
    outcome, _ = await dsh.run("x", runner=await dsh.quick(Times(start_s=0.0)))
    assert outcome.failure is not None
    assert outcome.failure.class_ == "crashed"
    assert "said nothing" in outcome.failure.message
    assert dsh.left() == []


@pytest.mark.parametrize(
    ("step", "class_", "words"),
    [
        ({"status": 401}, "not_signed_in", "scripted 401"),
        ({"status": 402}, "quota", "scripted 402"),
        ({"status": 429}, "rate_limited", "scripted 429"),
        ({"status": 500}, "overloaded", "scripted 500"),
        ({"text": "half a word", "drop": True}, "overloaded", "STREAM_CLOSED"),
        ({"text": ""}, "empty_answer", "without saying"),
        ({"text": "cut of", "finish": "length"}, "context_too_long", "cut off"),
        ({"text": "x", "finish": "content_filter"}, "content_filtered", "refusal"),
    ],
    ids=["401", "402", "429", "500", "dropped", "empty", "length", "filtered"],
)
async def test_what_the_model_did_is_the_failure(dsh: Machine, step: dict[str, Any], class_: str, words: str) -> None:
    outcome = await dsh.steps(*[step] * 8)
    assert outcome.failure is not None
    assert outcome.failure.class_ == class_
    assert words in outcome.failure.message
    assert outcome.failure.next_step
    assert outcome.native_session_id is not None
    assert "sk-fake" not in outcome.failure.message


async def test_a_model_that_is_not_there_is_told(dsh: Machine) -> None:
    outcome, _ = await dsh.run("x", runner=await dsh.quick(DEEPSEEK_BASE_URL="http://127.0.0.1:9"))
    assert outcome.failure is not None
    assert outcome.failure.class_ == "overloaded"


async def test_a_missing_key_is_told(dsh: Machine) -> None:
    outcome, _ = await dsh.run("x", runner=await dsh.quick(DEEPSEEK_API_KEY=""))
    assert outcome.failure is not None
    assert outcome.failure.class_ == "not_signed_in"
    assert "DEEPSEEK_API_KEY" in outcome.failure.next_step


async def test_a_workspace_that_is_gone_is_told(dsh: Machine) -> None:
    """claude-code#62406"""
    runner = await dsh.quick()
    request = dsh.request("x", workspace=dsh.root / "work" / "gone")
    outcome = await runner.run(request, lambda _: None, StopSignal())
    assert outcome.failure is not None
    assert outcome.failure.class_ == "workspace_gone"
