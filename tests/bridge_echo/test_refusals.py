"""When a bridge does not start, or ends by itself: the exit code and what it says."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from .world import LIMIT_S, Program, world


async def test_a_second_bridge_on_the_same_state_folder_is_refused_and_names_the_holder(tmp_path: Path) -> None:
    """mcp_agent_mail#123, takopi#254"""
    async with world(tmp_path) as w, w.person() as ada:
        first = await w.start_bridge()
        await first.says("subscribed")
        second = await w.start_bridge()
        assert await second.ended() == 3
        assert f"bridge-echo, process {first.process.pid}" in second.text
        assert (await w.until_final(ada, await w.send(ada, "still there?"))).state == "answered"


async def test_a_lock_left_by_a_killed_bridge_is_no_lock(tmp_path: Path) -> None:
    """takopi#254: a stale lock kept the next one out."""
    async with world(tmp_path) as w:
        first = await w.start_bridge()
        await first.says("subscribed")
        await first.kill()
        await (await w.start_bridge()).says("subscribed")


async def test_a_key_that_is_not_taken_ends_the_bridge_and_says_how_to_mend_it(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        bridge = await w.start_bridge(AGENTMAIL_AGENT_KEY="ama_wrongwrongwrongwrongwrongwrongwrongwrongwro")
        assert await bridge.ended() == 3
        assert "agentmail agent rotate echo" in bridge.text
        assert "ama_wrong" not in bridge.text


async def test_a_key_that_is_rotated_under_a_bridge_ends_it(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.person() as ada:
        bridge = await w.start_bridge()
        await bridge.says("the agent is ready")
        w.key = (await ada.rotate_agent("echo")).key
        assert (await bridge.ended()) == 3
        await (await w.start_bridge()).says("subscribed")


async def test_a_gateway_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        assert w.gateway is not None
        await w.gateway.terminate()
        bridge = await w.start_bridge()
        await bridge.says("not connected")
        await w.start_gateway()
        await bridge.says("subscribed")


def run(*arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AGENTMAIL_")}
    return subprocess.run(
        [sys.executable, "-m", "bridge_echo", *arguments],
        env={**clean, **environ},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


async def test_check_works_with_no_gateway_and_no_key_and_says_what_is_missing(tmp_path: Path) -> None:
    done = await asyncio.to_thread(
        run, "--check", AGENTMAIL_HOME=str(tmp_path), AGENTMAIL_GATEWAY_URL="http://127.0.0.1:1"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok       agent: version 1.0.0" in done.stdout
    assert "later    key: none" in done.stdout
    assert "later    gateway: no gateway answers" in done.stdout
    assert "plan       native" in done.stdout
    assert not list(tmp_path.iterdir())


async def test_check_says_when_the_agent_is_missing_and_exits_with_1(tmp_path: Path) -> None:
    environ = {"AGENTMAIL_HOME": str(tmp_path), "AGENTMAIL_ECHO_COMMAND": "/nonexistent/agent"}
    done = await asyncio.to_thread(run, "--check", **environ)
    assert done.returncode == 1
    assert "missing  agent: " in done.stdout
    assert "not ready" in done.stdout


async def test_without_a_key_the_bridge_says_where_one_belongs(tmp_path: Path) -> None:
    done = await asyncio.to_thread(run, AGENTMAIL_HOME=str(tmp_path))
    assert done.returncode == 2
    assert str(tmp_path / "keys" / "echo.key") in done.stderr


async def test_a_bad_setting_is_named(tmp_path: Path) -> None:
    done = await asyncio.to_thread(
        run, AGENTMAIL_HOME=str(tmp_path), AGENTMAIL_MAX_MODE="yolo", AGENTMAIL_AGENT_KEY="ama_x"
    )
    assert done.returncode == 2
    assert done.stderr.startswith("bridge-echo: AGENTMAIL_MAX_MODE: ")
    assert (await asyncio.to_thread(run, "--nonsense")).returncode == 2


async def test_a_missing_agent_is_told_by_mail_and_is_no_reason_to_end(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.person() as ada:
        bridge = await w.start_bridge(AGENTMAIL_ECHO_COMMAND="/nonexistent/agent")
        turn = await w.until_final(ada, await w.send(ada, "hello"))
        assert turn.failure is not None
        assert turn.failure.class_ == "cli_missing"
        assert "/nonexistent/agent" in (await w.answers(ada))[0].body
        [echo] = [agent for agent in (await ada.list_agents()).items if agent.name == "echo"]
        assert not echo.ready
        assert await bridge.terminate() == 0


async def test_the_log_can_be_json(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        bridge: Program = await w.start_bridge(AGENTMAIL_LOG="json")
        await bridge.says('"step": "subscribed"')
