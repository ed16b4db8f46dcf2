"""Real processes under measurement: the gateway and the prototype, each on a free port and a folder of its own."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from .raw_http import Connection


@dataclass(frozen=True, slots=True)
class Gateway:
    """A running gateway: its port, its administrator's token and its process."""

    port: int
    token: str
    data: Path
    process: psutil.Process

    def connect(self, token: str | None = None) -> Connection:
        """A connection that carries the administrator's token, or another one."""
        return Connection(self.port, {"Authorization": f"Bearer {token or self.token}"})


def free_port() -> int:
    """A port of loopback that nobody listened on a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


async def stop(process: asyncio.subprocess.Process) -> None:
    """SIGTERM, and SIGKILL after ten seconds."""
    if process.returncode is None:
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), 10)
        except TimeoutError:
            process.kill()
            await process.wait()


@asynccontextmanager
async def gateway(data: Path, port: int | None = None) -> AsyncIterator[Gateway]:
    """A gateway process on `data` that stands ready when the context is entered."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "agentmail_gateway", "--data", str(data), "--port", str(port or 0), "--admin", "bench"),
        stdout=asyncio.subprocess.PIPE,
        stderr=(data.parent / f"{data.name}.log").open("ab"),
        env=os.environ | {"PYTHONWARNINGS": "default"},
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(30):
            while b"listening on" not in (line := await process.stdout.readline()):
                if not line:
                    raise RuntimeError((data.parent / f"{data.name}.log").read_text())
        real = int(line.decode().split("http://")[1].split()[0].rstrip("/").rsplit(":", 1)[1])
        token = (data / "person.token").read_text().strip()
        yield Gateway(real, token, data, psutil.Process(process.pid))
    finally:
        await stop(process)


@asynccontextmanager
async def prototype(folder: Path) -> AsyncIterator[Connection]:
    """The minimal prototype; yields a connection that carries its key (its `again` makes more)."""
    folder.mkdir(parents=True, exist_ok=True)
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(Path(__file__).with_name("prototype.py")), str(folder), stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        port = int(await process.stdout.readline())
        yield Connection(port, {"Authorization": "Bearer prototype-key"})
    finally:
        await stop(process)
