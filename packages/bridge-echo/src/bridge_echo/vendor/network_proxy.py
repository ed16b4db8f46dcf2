"""The way out of a turn whose network is closed: a proxy of the bridge on a UNIX socket in the turn's folder.

The kernel cuts the turn off (a network namespace of its own); what stands here is the only hole in it, and lets pass
what `network_reach.decide` says. One request per connection.
"""

import asyncio
import functools
import os
import socket
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from .http_head import HeadError, parse
from .network_reach import Forward, Reach, Refused, Tunnel, decide

__all__ = ["Proxy", "serve"]

HEAD_LIMIT = 64 * 1024
CONNECT_S = 30.0
HEAD_S = 60.0
MOST_CONNECTIONS = 128
MOST_PLACES = 200
PIECE = 64 * 1024
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@functools.cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


class Proxy:
    """What one turn's proxy was asked for. `refused` are the places that it did not let through, each once."""

    def __init__(self, reach: Reach):
        self._reach = reach
        self._open: set[asyncio.Task[None]] = set()
        self.refused: dict[str, None] = {}

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end. Never raises for what comes over it."""
        task = asyncio.current_task()
        if task is None or len(self._open) >= MOST_CONNECTIONS:
            writer.close()
            return
        self._open.add(task)
        try:
            await self._answer(reader, writer)
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError, TimeoutError):
            pass
        finally:
            self._open.discard(task)
            writer.close()

    async def close(self) -> None:
        """End what is still going on."""
        left = tuple(self._open)
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HEAD_S):
            raw = await reader.readuntil(b"\r\n\r\n")
        try:
            head = parse(raw)
        except HeadError as error:
            await _refuse(writer, 400, str(error))
            return
        going = decide(head, self._reach)
        if isinstance(going, Refused):
            if going.place and len(self.refused) < MOST_PLACES:
                self.refused[going.place] = None
            await _refuse(writer, going.status, going.told)
            return
        try:
            async with asyncio.timeout(CONNECT_S):
                tls = _tls() if isinstance(going, Forward) and going.tls else None
                there = await asyncio.open_connection(going.host, going.port, ssl=tls, limit=HEAD_LIMIT)
        except (OSError, TimeoutError) as error:
            told = getattr(error, "strerror", None) or type(error).__name__
            await _refuse(writer, 502, f"{going.host}:{going.port} can't be reached: {told}")
            return
        try:
            match going:
                case Tunnel():
                    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    await _both((reader, writer), there)
                case Forward():
                    there[1].write(going.head)
                    await _exchange((reader, writer), there, head.body)
        finally:
            there[1].close()


async def _refuse(writer: asyncio.StreamWriter, status: int, told: str) -> None:
    body = f"{told}\n".encode()
    head = f"HTTP/1.1 {status} Refused\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    await writer.drain()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(PIECE):
        writer.write(data)
        await writer.drain()
    with suppress(OSError, NotImplementedError):
        writer.write_eof()


async def _both(here: Streams, there: Streams) -> None:
    """Until both sides said their end, or one of them broke off."""
    tasks = [asyncio.ensure_future(_pump(here[0], there[1])), asyncio.ensure_future(_pump(there[0], here[1]))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        await _ended(tasks)


async def _ended(tasks: "Sequence[asyncio.Future[None]]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()


async def _exchange(here: Streams, there: Streams, body: int | None) -> None:
    """Send the body and pass the answer back, until it ends or the agent hangs up."""

    async def send() -> None:
        await (_chunks(here[0], there[1]) if body is None else _exactly(here[0], there[1], body))
        # Nothing more is passed on; the end of the agent's side is the end of its interest.
        await here[0].read(1)

    tasks = [asyncio.ensure_future(send()), asyncio.ensure_future(_pump(there[0], here[1]))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await _ended(tasks)


async def _exactly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, size: int) -> None:
    while size:
        data = await reader.read(min(size, PIECE))
        if not data:
            raise EOFError
        writer.write(data)
        await writer.drain()
        size -= len(data)


async def _chunks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A chunked body (RFC 9112, 7.1), as it comes, without extensions and trailers."""
    while True:
        line = await reader.readuntil(b"\r\n")
        digits = line.partition(b";")[0].strip()
        if not 0 < len(digits) <= 12:
            raise ValueError("no size of a chunk")
        size = int(digits, 16)
        writer.write(b"%x\r\n" % size)
        if size == 0:
            break
        await _exactly(reader, writer, size)
        if await reader.readexactly(2) != b"\r\n":
            raise ValueError("no end of a chunk")
        writer.write(b"\r\n")
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass
    writer.write(b"\r\n")
    await writer.drain()


def _listening(path: Path) -> socket.socket:
    """A socket at `path`, for this user only. Its folder goes by descriptor: a socket's path has 107 bytes at most."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.unlink(missing_ok=True)
        made.bind(f"/proc/self/fd/{folder}/{path.name}")
        path.chmod(0o600)
        made.setblocking(False)
    except BaseException:
        made.close()
        raise
    finally:
        os.close(folder)
    return made


@asynccontextmanager
async def serve(path: Path, reach: Reach) -> AsyncIterator[Proxy]:
    """The proxy at `path` for `reach`, while the block runs. Raises OSError when the socket can't be made."""
    proxy = Proxy(reach)
    server = await asyncio.start_unix_server(proxy.handle, sock=_listening(path), limit=HEAD_LIMIT)
    try:
        yield proxy
    finally:
        server.close()
        await proxy.close()
        with suppress(OSError):
            path.unlink()
