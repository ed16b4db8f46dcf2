"""A gateway, a machine with the stand-in for ZCode, and the real bridge between them, each a process of its own."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from shared.gateway_client import GatewayClient
from shared.wire import Agent, Mail, SendMail, Tier
from tests.bridge_echo.world import LIMIT_S, Program, World
from tests.bridge_zcode.machine import Machine

__all__ = ["ZcodeWorld", "zcode_world"]

ROOT = Path(__file__).parents[2]


@dataclass
class ZcodeWorld(World):
    """`machine` is where ZCode is; `key` is the bridge's."""

    machine: Machine = field(init=False)
    zcode_key: str = ""

    def __post_init__(self) -> None:
        self.machine = Machine(self.path / "machine")

    async def start_zcode(self, **environ: str) -> Program:
        """Start bridge-zcode and wait until it is subscribed."""
        if not self.zcode_key:
            async with self.person() as client:
                self.zcode_key = (await client.add_agent("zcode", "full")).key
        env = {
            **self.machine.environ,
            "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
            "AGENTMAIL_HOME": str(self.path / "home"),
            "AGENTMAIL_GATEWAY_URL": self.url,
            "AGENTMAIL_AGENT_KEY": self.zcode_key,
            "AGENTMAIL_WORKSPACES": f"site={self.machine.workspace}",
            "AGENTMAIL_MAX_MODE": "full",
            "AGENTMAIL_ALLOW_ROOT": "1",
            **environ,
        }
        program = await Program.start("bridge_zcode", env=env)
        self.programs.append(program)
        await program.says("subscribed")
        return program

    async def restart_gateway_later(self, seconds: float) -> None:
        """Stop the gateway and start it again, so many seconds later by its own clock."""
        assert self.gateway is not None
        await self.gateway.terminate()
        env = {**os.environ, "AGENTMAIL_HOME": str(self.path / "home"), "PYTHONPATH": str(ROOT)}
        data = str(self.path / "gateway")
        words = ("agentmail_gateway", "--data", data, "--port", str(self.port))
        self.gateway = await Program.start("tests.e2e.ahead", str(seconds), *words, env=env)
        self.programs.append(self.gateway)
        await self.gateway.says("listening on ")

    async def mail(
        self,
        client: GatewayClient,
        *directives: str,
        mode: Tier = "plan",
        reply_to: str | None = None,
        subject: str = "x",
    ) -> str:
        """Mail directives for the stand-in to zcode; the turn's id."""
        body = "\n".join(f"zcode-do: {directive}" for directive in directives)
        mail = await client.send_mail(SendMail(("zcode",), subject, body, in_reply_to=reply_to, permission_mode=mode))
        return mail.receipts[0].turn_id

    async def agent(self, client: GatewayClient, met: Callable[[Agent], bool]) -> Agent:
        """Wait until the directory's entry of zcode is as `met` wants it."""
        changed = asyncio.Event()
        async with asyncio.timeout(LIMIT_S), client.event_stream(connected=changed.set) as events:

            async def listen() -> None:
                async for _ in events:
                    changed.set()

            listening = asyncio.create_task(listen())
            try:
                while True:
                    await changed.wait()
                    changed.clear()
                    entry = next(one for one in (await client.list_agents()).items if one.name == "zcode")
                    if met(entry):
                        return entry
            finally:
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)

    async def answer(self, client: GatewayClient, turn_id: str) -> Mail:
        """Wait for the turn's end; the mail that answers it."""
        turn = await self.until_final(client, turn_id)
        assert turn.reply_id is not None, turn
        return await client.get_mail(turn.reply_id)


@asynccontextmanager
async def zcode_world(path: Path) -> AsyncIterator[ZcodeWorld]:
    """A world with a running gateway; everything ends with it."""
    made = ZcodeWorld(path)
    try:
        await made.start_gateway()
        yield made
    finally:
        for program in made.programs:
            if program.process.returncode is None:
                with suppress(ProcessLookupError):
                    program.process.kill()
                await program.ended()
