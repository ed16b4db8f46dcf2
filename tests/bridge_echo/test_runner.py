"""The echo runner: real child processes, a self-check that can see a hole, and stops that leave nobody behind."""

import asyncio
import stat
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bridge_echo.runner import EchoRunner
from bridge_echo.vendor.settings import load
from bridge_echo.vendor.turn import Event, Outcome, Status, StopSignal, TurnRequest

from .test_agent import prompt_of
from .world import processes_of

Run = Callable[..., Awaitable[Outcome]]
MARK = f"turn_{uuid.uuid4().hex}"  # processes are told apart by their turn, also those of another run of these tests


def runner_with(tmp_path: Path, command: str = "", **environ: str) -> EchoRunner:
    settings = load({"AGENTMAIL_HOME": str(tmp_path), "PATH": "/usr/bin:/bin", **environ}, "echo")
    return EchoRunner(replace(settings, command=command or None))


def request_for(tmp_path: Path, body: str, turn_id: str) -> TurnRequest:
    for name in ("work", "turn/out", "session"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    return TurnRequest(
        turn_id=turn_id,
        attempt=1,
        prompt=prompt_of(body),
        workspace=tmp_path / "work",
        tier="workspace",
        turn_dir=tmp_path / "turn",
        session_dir=tmp_path / "session",
        session_id="ses_1",
        native_session_id=None,
        turn_key="amt_x",
        gateway_url="http://127.0.0.1:1",
        env={"AGENTMAIL_TURN_ID": turn_id, "AGENTMAIL_BRIDGE_ID": f"bridge-{turn_id}"},
        timeout_s=60,
    )


async def test_the_self_check_sees_the_agent_refuse_what_each_tier_forbids(tmp_path: Path) -> None:
    readiness = await runner_with(tmp_path).check()
    assert readiness.ready
    assert readiness.agent_version == "1.0.0"
    assert {tier: seen.level for tier, seen in readiness.enforcement.items()} == {
        "plan": "native",
        "workspace": "native",
    }


async def test_an_agent_that_writes_all_the_same_is_only_advised(tmp_path: Path) -> None:
    """A guard proves itself before it is trusted: here it is made to fail."""
    hole = tmp_path / "hole.sh"
    hole.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "echo 9.9.9" && exit\ntouch probe.txt ../probe.txt\n')
    hole.chmod(hole.stat().st_mode | stat.S_IXUSR)
    readiness = await runner_with(tmp_path, str(hole)).check()
    assert {seen.level for seen in readiness.enforcement.values()} == {"advisory"}


async def test_an_agent_that_says_nothing_of_a_refusal_is_only_advised(tmp_path: Path) -> None:
    quiet = tmp_path / "quiet.sh"
    quiet.write_text("#!/bin/sh\necho 'echo 9.9.9'\n")
    quiet.chmod(quiet.stat().st_mode | stat.S_IXUSR)
    readiness = await runner_with(tmp_path, str(quiet)).check()
    assert {seen.level for seen in readiness.enforcement.values()} == {"advisory"}


@pytest.mark.parametrize("command", ["/nonexistent/agent", "/bin/false"])
async def test_an_agent_that_does_not_start_is_a_finding(tmp_path: Path, command: str) -> None:
    readiness = await runner_with(tmp_path, command).check()
    assert not readiness.ready
    assert readiness.failure is not None
    assert not readiness.findings[0].ok
    assert readiness.findings[0].mend


async def test_a_turn_is_a_child_process_that_ends_with_an_outcome(tmp_path: Path) -> None:
    seen: list[Event] = []
    outcome = await runner_with(tmp_path).run(request_for(tmp_path, "hello", f"{MARK}_1"), seen.append, StopSignal())
    assert outcome.failure is None
    assert "> hello" in outcome.text
    assert outcome.native_session_id is not None
    assert seen


async def test_the_bridges_own_environment_does_not_reach_the_agent(tmp_path: Path) -> None:
    spy = tmp_path / "spy.sh"
    spy.write_text('#!/bin/sh\nenv > "$AGENTMAIL_TURN_DIR/env"\n')
    spy.chmod(spy.stat().st_mode | stat.S_IXUSR)
    runner = runner_with(tmp_path, str(spy), AGENTMAIL_AGENT_KEY="ama_hidden", OTHER_SECRET="x")
    request = request_for(tmp_path, "hello", f"{MARK}_2")
    env = {**request.env, "AGENTMAIL_TURN_DIR": str(request.turn_dir)}
    await runner.run(replace(request, env=env), lambda _: None, StopSignal())
    passed = (request.turn_dir / "env").read_text()
    assert "ama_hidden" not in passed
    assert "OTHER_SECRET" not in passed
    assert f"AGENTMAIL_TURN_ID={MARK}_2" in passed


@pytest.mark.parametrize("body", ["echo: wait 600", "echo: stubborn\necho: children 2\necho: wait 600"])
async def test_a_stop_ends_the_whole_tree_before_the_runner_returns(tmp_path: Path, body: str) -> None:
    """zai-org/feedback#104"""
    turn_id = f"{MARK}_3" if "stubborn" in body else f"{MARK}_4"
    waiting, stop = asyncio.Event(), StopSignal()

    def emit(event: Event) -> None:
        if isinstance(event, Status) and event.text.startswith("waiting"):
            waiting.set()

    running = asyncio.create_task(runner_with(tmp_path).run(request_for(tmp_path, body, turn_id), emit, stop))
    async with asyncio.timeout(20):
        await waiting.wait()
        assert processes_of([turn_id])
        stop.stop("cancelled")
        outcome = await running
    assert outcome.stopped == "cancelled"
    assert not processes_of([turn_id])


async def test_a_workspace_that_is_gone_is_a_failure_of_the_turn(tmp_path: Path) -> None:
    request = replace(request_for(tmp_path, "hello", f"{MARK}_5"), workspace=tmp_path / "gone")
    outcome = await runner_with(tmp_path).run(request, lambda _: None, StopSignal())
    assert outcome.failure is not None
    assert outcome.failure.class_ == "workspace_gone"
