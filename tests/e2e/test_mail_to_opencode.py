"""A mail to opencode from end to end: gateway, bridge and the real agent, each a process; a person decides on the way.

The bridge is killed and stopped here too, since that is a matter of its whole process.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from shared.gateway_client import GatewayClient
from shared.wire import PermissionDecision, PermissionRequest, SendMail, Turn
from tests.agents.model_server import model_server
from tests.agents.script import mark
from tests.bridge_echo.world import Program, World
from tests.bridge_opencode.machine import Machine, until

pytestmark = pytest.mark.slow
LIMIT_S = 120.0


@dataclass
class OpencodeWorld(World):
    """`machine` is where opencode is; `opencode_key` is the bridge's."""

    machine: Machine = field(init=False)
    opencode_key: str = ""

    async def start_opencode(self, **environ: str) -> Program:
        """Start bridge-opencode and wait until it is subscribed."""
        if not self.opencode_key:
            async with self.person() as client:
                self.opencode_key = (await client.add_agent("opencode", "workspace")).key
        env = {
            **self.machine.env,
            "HOME": str(self.machine.home),
            "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
            "AGENTMAIL_HOME": str(self.path / "home"),
            "AGENTMAIL_STATE_DIR": str(self.machine.state),
            "AGENTMAIL_GATEWAY_URL": self.url,
            "AGENTMAIL_AGENT_KEY": self.opencode_key,
            "AGENTMAIL_WORKSPACES": f"site={self.machine.workspace}",
            "AGENTMAIL_ALLOW_ROOT": "1",
            **environ,
        }
        program = await Program.start("bridge_opencode", env=env)
        self.programs.append(program)
        await program.says("subscribed")
        return program

    async def mail(self, client: GatewayClient, *steps: dict[str, Any], reply_to: str | None = None) -> Turn:
        """Mail a script to opencode; its turn."""
        body = SendMail(("opencode",), "x", mark(*steps), in_reply_to=reply_to, permission_mode="workspace")
        mail = await client.send_mail(body)
        return await client.get_turn(mail.receipts[0].turn_id)

    async def answer(self, client: GatewayClient, turn: Turn) -> str:
        """Wait for the turn's end; the text that answers it."""
        async with asyncio.timeout(LIMIT_S):
            while (ended := await client.get_turn(turn.id)).finished_at is None:
                await _changed(client)
        assert ended.reply_id is not None, ended
        return (await client.get_mail(ended.reply_id)).body

    async def question(self, client: GatewayClient) -> PermissionRequest:
        """Wait for an open question."""
        async with asyncio.timeout(LIMIT_S):
            while not (found := (await client.list_permissions(state="open")).items):
                await _changed(client)
        return found[0]


async def _changed(client: GatewayClient) -> None:
    """Wait until something happened, or a moment."""
    with suppress(TimeoutError):
        async with asyncio.timeout(0.5), client.event_stream() as events:
            await anext(events)


@asynccontextmanager
async def opencode_world(path: Path) -> AsyncIterator[OpencodeWorld]:
    async with model_server() as model:
        made = OpencodeWorld(path)
        made.machine = Machine(path / "machine", model)
        try:
            await made.start_gateway()
            yield made
        finally:
            for program in made.programs:
                if program.process.returncode is None:
                    with suppress(ProcessLookupError):
                        program.process.kill()
                    await program.ended()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[OpencodeWorld]:
    async with opencode_world(tmp_path) as made:
        yield made


def shell(command: str) -> dict[str, Any]:
    return {"tool": "bash", "arguments": {"command": command, "description": "d"}}


async def test_a_person_decides_what_a_turn_may_do(world: OpencodeWorld) -> None:
    """opencode#36762, opencode#14473: an `ask` that reaches nobody hangs for ever"""
    await world.start_opencode(AGENTMAIL_ASK_TOOLS="bash", AGENTMAIL_PERMISSION_WAIT_MS="60000")
    made = world.machine.workspace
    decisions: list[PermissionDecision] = ["once", "reject", "thread"]
    async with world.person() as client:
        for decision in decisions:
            turn = await world.mail(client, shell(f"touch {decision}"), {"text": f"after {decision}"})
            asked = await world.question(client)
            assert (asked.turn_id, asked.summary) == (turn.id, f"bash: touch {decision}")
            assert asked.scope_hint == "touch *"
            await client.decide_permission(asked.id, decision)
            assert (await world.answer(client, turn)).startswith(f"after {decision}")
            assert (made / decision).exists() is (decision != "reject")
        # What was allowed for the thread is not asked for there again, and elsewhere it is.
        again = await world.mail(client, shell("touch again"), {"text": "ok"}, reply_to=turn.mail_id)
        assert (await world.answer(client, again)).startswith("ok")
        assert (made / "again").exists()
        assert (await client.list_permissions(state="open")).items == ()
        other = await world.mail(client, shell("touch other"), {"text": "ok"})
        await client.decide_permission((await world.question(client)).id, "always")
        assert (await world.answer(client, other)).startswith("ok")
        last = await world.mail(client, shell("touch last"), {"text": "ok"})
        assert (await world.answer(client, last)).startswith("ok")
        assert (made / "last").exists()
        assert len((await client.list_permissions()).items) == 4


async def test_silence_is_no_and_the_turn_goes_on(world: OpencodeWorld) -> None:
    await world.start_opencode(AGENTMAIL_ASK_TOOLS="bash", AGENTMAIL_PERMISSION_WAIT_MS="300")
    async with world.person() as client:
        turn = await world.mail(client, shell("touch never"), {"text": "without it"})
        answer = await world.answer(client, turn)
    assert answer.startswith("without it")
    assert "bash" in answer
    assert not (world.machine.workspace / "never").exists()
    assert "nobody answered" in world.machine.told()


SLEEP = "touch started; setsid sleep 300 & (trap '' TERM INT HUP; sleep 300)"


async def test_a_bridge_that_is_killed_or_stopped_leaves_no_process(world: OpencodeWorld) -> None:
    """opencode#20899, untether#590: what the agent had started outlived the bridge"""
    program = await world.start_opencode()
    started = world.machine.workspace / "started"
    async with world.person() as client:
        first = await world.mail(client, shell(f": {world.machine.root}; {SLEEP}"), {"text": "never"})
        await until(lambda: started.exists())
        program.process.kill()
        await program.ended()
        await until(lambda: world.machine.left() == [], 10)
        started.unlink()
        await client.cancel(first.id)

        program = await world.start_opencode()
        await world.mail(client, shell(f": {world.machine.root}; {SLEEP}"), {"text": "never"})
        # The killed bridge's directory is free again at once, its turn's lease a little later.
        await until(lambda: started.exists())
        await program.terminate()
        assert world.machine.left() == []
