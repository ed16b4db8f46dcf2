"""A real gateway, real bridges and what stands between them, each a process or a socket of its own."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from shared.gateway_client import GatewayClient
from shared.gateway_errors import GatewayError
from shared.wire import FINAL_STATES, Mail, SendMail, Turn

__all__ = ["LIMIT_S", "Program", "World", "processes_of", "world"]

LIMIT_S = 30.0


@dataclass
class Program:
    """A running program; `lines` is what it has printed so far."""

    process: asyncio.subprocess.Process
    lines: list[str] = field(default_factory=list)
    printed: asyncio.Condition = field(default_factory=asyncio.Condition)
    reading: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, module: str, *arguments: str, env: dict[str, str]) -> "Program":
        """Start ``python -m module``."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", module, *arguments),
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        program = cls(process)
        program.reading = asyncio.create_task(program._read())
        return program

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            async with self.printed:
                self.lines.append(line.decode("utf-8", "replace").rstrip("\n"))
                self.printed.notify_all()
        async with self.printed:
            self.printed.notify_all()

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    async def says(self, words: str, times: int = 1) -> None:
        """Wait until `words` were printed so often."""
        async with asyncio.timeout(LIMIT_S), self.printed:
            await self.printed.wait_for(lambda: sum(words in line for line in self.lines) >= times)

    async def ended(self) -> int:
        """Wait for the end; the exit code (negative: the signal)."""
        async with asyncio.timeout(LIMIT_S):
            code = await self.process.wait()
            if self.reading is not None:
                await self.reading
        return code

    async def terminate(self) -> int:
        """SIGTERM; the exit code."""
        self.process.terminate()
        return await self.ended()

    async def kill(self) -> None:
        """SIGKILL: nothing more is said or written."""
        self.process.kill()
        await self.ended()


@dataclass
class World:
    """The gateway's data in `path`/gateway, the bridge's in `path`/home. The gateway keeps its port over restarts."""

    path: Path
    port: int = 0
    key: str = ""
    gateway: Program | None = None
    programs: list[Program] = field(default_factory=list)
    turns: dict[str, Turn] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def state(self) -> Path:
        return self.path / "home" / "bridges" / "echo"

    async def start_gateway(self) -> Program:
        env = {**os.environ, "AGENTMAIL_HOME": str(self.path / "home")}
        data = self.path / "gateway"
        program = await Program.start("agentmail_gateway", "--data", str(data), "--port", str(self.port), env=env)
        self.programs.append(program)
        await program.says("listening on ")
        line = next(line for line in program.lines if "listening on " in line)
        self.port = int(line.rsplit(":", 1)[1].strip().strip('/"}'))
        self.gateway = program
        if not self.key:
            async with self.person() as client:
                self.key = (await client.add_agent("echo", "full")).key
        return program

    @asynccontextmanager
    async def person(self) -> AsyncIterator[GatewayClient]:
        """The administrator's client."""
        token = (self.path / "gateway" / "person.token").read_text().strip()
        async with GatewayClient(self.url, token, attempts=8) as client:
            yield client

    async def start_bridge(self, *arguments: str, url: str | None = None, **environ: str) -> Program:
        """Start bridge-echo; `url` goes to the gateway by another way."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("AGENTMAIL_")}
        env |= {
            "AGENTMAIL_HOME": str(self.path / "home"),
            "AGENTMAIL_GATEWAY_URL": url or self.url,
            "AGENTMAIL_AGENT_KEY": self.key,
            **environ,
        }
        program = await Program.start("bridge_echo", *arguments, env={n: v for n, v in env.items() if v})
        self.programs.append(program)
        return program

    async def send(self, client: GatewayClient, body: str, **fields: object) -> str:
        """Mail `body` to echo; the turn's id."""
        mail = await client.send_mail(SendMail(("echo",), "test", body, **fields))  # type: ignore[arg-type]
        return mail.receipts[0].turn_id

    async def until(self, client: GatewayClient, met: Callable[[Turn], bool], turn_id: str) -> Turn:
        """Wait until the turn is as `met` wants it: looked at now and after each event of the stream."""
        async with asyncio.timeout(LIMIT_S), client.event_stream(connected=lambda: looked.set()) as events:
            looked = asyncio.Event()
            looked.set()
            waiting = asyncio.create_task(_pump(events, looked))
            try:
                while True:
                    await looked.wait()
                    looked.clear()
                    with suppress(GatewayError):
                        turn = await client.get_turn(turn_id)
                        if met(turn):
                            return turn
            finally:
                waiting.cancel()
                await asyncio.gather(waiting, return_exceptions=True)

    async def until_final(self, client: GatewayClient, turn_id: str) -> Turn:
        return await self.until(client, lambda turn: turn.state in FINAL_STATES, turn_id)

    async def answers(self, client: GatewayClient) -> list[Mail]:
        """All mail in the person's inbox."""
        return list((await client.list_mails(box="inbox", limit=200)).items)


async def _pump(events: AsyncIterator[object], looked: asyncio.Event) -> None:
    async for _ in events:
        looked.set()


def processes_of(turn_ids: Iterable[str]) -> list[psutil.Process]:
    """Every living process that was started under one of the turns."""
    wanted = set(turn_ids)
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            alive = process.status() != psutil.STATUS_ZOMBIE
            if alive and process.environ().get("AGENTMAIL_TURN_ID") in wanted:
                found.append(process)
    return found


@asynccontextmanager
async def world(path: Path) -> AsyncIterator[World]:
    """A world with a running gateway; everything ends with it."""
    made = World(path)
    try:
        await made.start_gateway()
        yield made
    finally:
        for program in made.programs:
            if program.process.returncode is None:
                with suppress(ProcessLookupError):
                    program.process.send_signal(signal.SIGKILL)
                await program.ended()
