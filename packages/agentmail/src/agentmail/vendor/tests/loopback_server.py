"""A scripted HTTP server on loopback for the tests of the clients: real sockets, one answer per request, in order."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus

__all__ = ["Answer", "LoopbackServer", "Request", "answer", "serving"]


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came; header names in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


Answer = bytes | None | Callable[[asyncio.StreamWriter], Awaitable[None]]  # None: hang up without an answer


@dataclass(slots=True)
class LoopbackServer:
    """Where it listens and what it was asked so far."""

    url: str
    requests: list[Request] = field(default_factory=list)


def answer(status: int = 200, body: bytes = b"", **headers: str) -> bytes:
    """A whole HTTP response; a header's name is written with underscores."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    given.setdefault("Content-Length", str(len(body)))
    head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n" + "".join(f"{k}: {v}\r\n" for k, v in given.items())
    return head.encode() + b"\r\n" + body


@asynccontextmanager
async def serving(answers: Iterable[Answer], *, read_body: bool = True) -> AsyncIterator[LoopbackServer]:
    """Serve `answers`, one per request over all connections; afterwards every request is hung up on."""
    script = iter(answers)
    tasks: set[asyncio.Task[None]] = set()

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            while (request := await _request(reader, read_body=read_body)) is not None:
                state.requests.append(request)
                given = next(script, None)
                if given is None:
                    break
                if callable(given):
                    await given(writer)
                    break
                writer.write(given)
                await writer.drain()
                if not read_body:
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client hung up, or the test is over
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
            tasks.discard(task)

    server = await asyncio.start_server(converse, "127.0.0.1", 0)
    state = LoopbackServer(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    try:
        yield state
    finally:
        server.close()
        ending = list(tasks)
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        await server.wait_closed()


async def _request(reader: asyncio.StreamReader, *, read_body: bool) -> Request | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    length = int(headers.get("content-length", "0")) if read_body else 0
    return Request(method, target, headers, await reader.readexactly(length))
