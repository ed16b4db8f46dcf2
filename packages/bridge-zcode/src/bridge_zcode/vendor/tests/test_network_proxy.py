"""The proxy and the program inside of the sandbox, as real processes and sockets."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ..network_proxy import Proxy, serve
from ..network_reach import Reach, Route

LIMIT_S = 20
SHIM = Path(__file__).parents[1] / "network_shim.py"


@dataclass
class Service:
    """A server on loopback that keeps what it was sent and answers the same to all."""

    port: int = 0
    heads: list[bytes] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    hangs: bool = False

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head)
        if b"Content-Length: 5" in head:
            self.bodies.append(await reader.readexactly(5))
        if b"chunked" in head:
            self.bodies.append(await reader.readuntil(b"0\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\nfirst ")
        await writer.drain()
        if self.hangs:
            await reader.read()
            self.gone.set()
        else:
            writer.write(b"last")
            await writer.drain()
        writer.close()


@asynccontextmanager
async def service(*, hangs: bool = False) -> AsyncIterator[Service]:
    made = Service(hangs=hangs)
    server = await asyncio.start_server(made.handle, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()


@dataclass
class Way:
    service: Service
    path: Path
    proxy: Proxy

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_unix_connection(str(self.path))

    async def say(self, raw: bytes) -> bytes:
        reader, writer = await self.connect()
        writer.write(raw)
        async with asyncio.timeout(LIMIT_S):
            said = await reader.read()
        writer.close()
        return said


@pytest.fixture
async def way(tmp_path: Path) -> AsyncIterator[Way]:
    async with service() as there:
        reach = Reach((Route("model", f"http://127.0.0.1:{there.port}/v1", {"stand-in": "sk-key"}),), ("127.0.0.1:1",))
        async with serve(tmp_path / "s", reach) as proxy:
            yield Way(there, tmp_path / "s", proxy)


async def test_a_request_reaches_its_service_with_the_key(way: Way) -> None:
    said = await way.say(b"POST /model/v1/x HTTP/1.1\r\nX-Api-Key: stand-in\r\nContent-Length: 5\r\n\r\nhello")
    assert said.endswith(b"first last")
    assert b"X-Api-Key: sk-key\r\n" in way.service.heads[0]
    assert way.service.bodies == [b"hello"]


async def test_a_body_in_chunks_arrives(way: Way) -> None:
    body = b"5;x=y\r\nhello\r\n0\r\nTrailer: x\r\n\r\n"
    await way.say(b"POST /model/v1/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
    assert way.service.bodies == [b"5\r\nhello\r\n0\r\n\r\n"]


async def test_a_second_request_on_the_same_connection_goes_nowhere(way: Way) -> None:
    first = b"POST /model/v1/x HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"
    await way.say(first + b"GET /outside HTTP/1.1\r\nX-Api-Key: stand-in\r\n\r\n")
    assert len(way.service.heads) == 1
    assert b"/outside" not in b"".join((*way.service.heads, *way.service.bodies))


async def test_a_place_that_is_not_on_the_list_is_refused_and_told_once(way: Way) -> None:
    for _ in range(2):
        said = await way.say(f"CONNECT 127.0.0.1:{way.service.port} HTTP/1.1\r\n\r\n".encode())
        assert said.startswith(b"HTTP/1.1 403 ")
    assert list(way.proxy.refused) == [f"127.0.0.1:{way.service.port}"]
    assert way.service.heads == []


async def test_a_place_that_is_down_is_told_as_that(way: Way) -> None:
    said = await way.say(b"CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 502 ")
    assert not way.proxy.refused


async def test_a_tunnel_carries_bytes_both_ways(tmp_path: Path) -> None:
    async with service() as there, serve(tmp_path / "s", Reach((), (f"127.0.0.1:{there.port}",))) as proxy:
        way = Way(there, tmp_path / "s", proxy)
        said = await way.say(f"CONNECT 127.0.0.1:{there.port} HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n".encode())
        assert said.startswith(b"HTTP/1.1 200 ")
        assert said.endswith(b"first last")


async def test_an_agent_that_hangs_up_ends_its_request(tmp_path: Path) -> None:
    async with service(hangs=True) as there:
        reach = Reach((Route("model", f"http://127.0.0.1:{there.port}"),))
        async with serve(tmp_path / "s", reach) as proxy:
            reader, writer = await Way(there, tmp_path / "s", proxy).connect()
            writer.write(b"GET /model/ HTTP/1.1\r\n\r\n")
            async with asyncio.timeout(LIMIT_S):
                await reader.readuntil(b"first ")
                writer.close()
                await there.gone.wait()


async def test_the_end_of_the_turn_ends_what_is_going_on(tmp_path: Path) -> None:
    async with service(hangs=True) as there:
        reach = Reach((Route("model", f"http://127.0.0.1:{there.port}"),))
        async with serve(tmp_path / "s", reach) as proxy:
            reader, writer = await Way(there, tmp_path / "s", proxy).connect()
            writer.write(b"GET /model/ HTTP/1.1\r\n\r\n")
            async with asyncio.timeout(LIMIT_S):
                await reader.readuntil(b"first ")
        async with asyncio.timeout(LIMIT_S):
            await there.gone.wait()
        writer.close()
        assert not (tmp_path / "s").exists()


async def test_a_long_path_is_no_obstacle_and_what_lies_there_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 120)
    folder.mkdir()
    (folder / "s").write_text("left by an earlier attempt")
    async with serve(folder / "s", Reach()):
        assert (folder / "s").is_socket()
        assert (folder / "s").stat().st_mode & 0o777 == 0o600


CLIENT = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as made:
    made.sendall(b"GET /model/ HTTP/1.1\\r\\n\\r\\n")
    said = b""
    while piece := made.recv(1000):
        said += piece
print(said.decode()[-10:], sys.stdin.read())
sys.exit(7)
"""


async def test_the_program_inside_pipes_and_becomes_the_agent(tmp_path: Path, unused_tcp_port: int) -> None:
    folder = tmp_path / ("x" * 120)
    folder.mkdir()
    async with service() as there:
        reach = Reach((Route("model", f"http://127.0.0.1:{there.port}"),))
        async with serve(folder / "s", reach):
            words = (str(SHIM), str(folder / "s"), str(unused_tcp_port), "--", sys.executable, "-c", CLIENT)
            pipe = asyncio.subprocess.PIPE
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-S", *words, str(unused_tcp_port), stdin=pipe, stdout=pipe, stderr=pipe
            )
            try:
                async with asyncio.timeout(LIMIT_S):
                    said, errors = await child.communicate(b"the input")
            finally:
                await _end_shim(str(folder / "s"))
    assert (child.returncode, said) == (7, b"first last the input\n"), errors.decode()


async def _end_shim(mark: str) -> None:
    """Outside of a sandbox the piping process outlives the agent."""
    import psutil

    for process in psutil.process_iter():
        try:
            if mark in process.cmdline():
                process.kill()
        except psutil.Error:
            continue
