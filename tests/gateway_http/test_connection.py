"""What uvicorn's connection doesn't bound by itself."""

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest
import uvicorn

from agentmail_gateway.http import connection
from agentmail_gateway.http.connection import HttpConnection
from agentmail_gateway.http.exchange import Receive, Scope, Send, send_bytes
from agentmail_gateway.http.server import Server, bind

LIMIT_S = 10


async def hello(request: Scope, receive: Receive, send: Send) -> None:
    await send_bytes(send, 200, b"hello", [])


@pytest.fixture
async def port(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    """A server whose clients get a tenth of a second to say what they want."""
    monkeypatch.setattr(connection, "HEAD_S", 0.1)
    sock = bind("127.0.0.1", 0)
    config = uvicorn.Config(hello, http=HttpConnection, ws="none", lifespan="off", log_config=None, access_log=False)
    ready = asyncio.Event()
    server = Server(config, ready=ready.set, stopping=lambda: None)
    serving = asyncio.create_task(server.serve(sockets=[sock]))
    await asyncio.wait_for(ready.wait(), LIMIT_S)
    yield sock.getsockname()[1]
    server.should_exit = True
    await asyncio.wait_for(serving, LIMIT_S)


@pytest.mark.parametrize(
    "begin",
    [
        b"",
        b"GET / HT",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /again HTTP/1.1\r\n",
    ],
)
async def test_a_head_that_never_ends_ends_the_connection(port: int, begin: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(begin)
    received = await asyncio.wait_for(reader.read(), LIMIT_S)
    writer.close()
    assert received.count(b"hello") == begin.count(b"\r\n\r\n")


async def test_a_head_that_came_has_no_deadline(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(2):
        writer.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert b" 200 " in await asyncio.wait_for(reader.readline(), LIMIT_S)
        await asyncio.wait_for(reader.readuntil(b"hello"), LIMIT_S)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(), 0.3)
    writer.close()


def test_two_listeners_never_share_a_port() -> None:
    with bind("127.0.0.1", 0) as first, pytest.raises(OSError, match="in use"):
        bind("127.0.0.1", first.getsockname()[1])


def test_ipv6_is_bound_where_it_exists() -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    try:
        sock = bind("::1", 0)
    except OSError:
        pytest.skip("no IPv6 here")
    with sock:
        assert sock.family is socket.AF_INET6
