"""A real gateway process, and clients that speak to it over plain sockets."""

import asyncio
import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Answer", "Event", "Process", "Stream", "ask", "exchange", "open_stream", "running", "start"]

LIMIT_S = 20.0
_numbers = itertools.count(1)


@dataclass
class Answer:
    """A whole HTTP answer; header names are lower case."""

    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def code(self) -> str:
        """The code of a problem document."""
        assert self.headers["content-type"] == "application/problem+json", self
        assert self.json["status"] == self.status
        assert self.json["detail"]
        return str(self.json["code"])


@dataclass
class Process:
    """A running gateway."""

    popen: "subprocess.Popen[bytes]"
    port: int
    data: Path
    log: Path
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def admin(self) -> str:
        """The first administrator's token."""
        return (self.data / "person.token").read_text().strip()

    async def ask(self, method: str, path: str, body: object = None, **options: Any) -> Answer:
        """`ask` with the administrator's token unless `token` says otherwise."""
        return await ask(self.port, method, path, body, token=options.pop("token", self.admin), **options)

    async def agent(self, name: str | None = None) -> tuple[str, str]:
        """Make an agent; returns its name and key."""
        return await self._make("agents", name or f"agent{next(_numbers)}")

    async def person(self, name: str | None = None) -> tuple[str, str]:
        """Make a person; returns their name and token."""
        return await self._make("people", name or f"person{next(_numbers)}")

    async def _make(self, kind: str, name: str) -> tuple[str, str]:
        answer = await self.ask("POST", f"/api/v1/admin/{kind}", {"name": name})
        assert answer.status == 201, answer
        return name, answer.json["key"]

    async def send(self, *to: str, token: str | None = None, **fields: Any) -> Any:
        """Send a mail; returns it as stored."""
        body = {"to": list(to), "subject": "Question", "body": "Are you there?", **fields}
        answer = await self.ask("POST", "/api/v1/mails", body, token=token or self.admin)
        assert answer.status == 201, answer
        return answer.json

    def stop(self) -> int:
        """SIGTERM; returns the exit status."""
        self.popen.send_signal(signal.SIGTERM)
        return self.popen.wait(LIMIT_S)

    def kill(self) -> None:
        """SIGKILL."""
        self.popen.kill()
        self.popen.wait()


def start(data: Path, *arguments: str, log: Path | None = None) -> Process:
    """Start a gateway on a free port (unless `arguments` name one) and wait until it listens."""
    log = log or data.parent / f"{data.name}.log"
    given = () if "--port" in arguments else ("--port", "0")
    with log.open("ab") as errors:
        popen = subprocess.Popen(
            [sys.executable, "-m", "agentmail_gateway", "--data", str(data), "--admin", "ada", *given, *arguments],
            stdout=subprocess.PIPE,
            stderr=errors,
            env=os.environ | {"PYTHONWARNINGS": "error"},
        )
    assert popen.stdout is not None
    line = popen.stdout.readline().decode()
    if not line.startswith("listening on http://"):
        popen.wait(LIMIT_S)
        popen.stdout.close()
        raise RuntimeError(f"exit {popen.returncode}: {line} {log.read_text()}")
    return Process(popen, int(line.strip().rpartition(":")[2]), data, log)


@contextmanager
def running(data: Path, *arguments: str) -> Iterator[Process]:
    """A gateway that is killed at the end, if it still runs."""
    process = start(data, *arguments)
    try:
        yield process
    finally:
        if process.popen.poll() is None:
            process.kill()
        assert process.popen.stdout is not None
        process.popen.stdout.close()


async def exchange(port: int, request: bytes) -> bytes:
    """Write raw bytes; returns everything that comes back until the gateway closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        return await asyncio.wait_for(reader.read(), LIMIT_S)
    finally:
        writer.close()


def head(method: str, path: str, headers: Mapping[str, str]) -> bytes:
    """The head of a request; `Host` is loopback unless given."""
    fields = {"Host": "127.0.0.1", **headers}
    lines = [f"{method} {path} HTTP/1.1", *[f"{name}: {value}" for name, value in fields.items()]]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    """Status and headers of an answer."""
    lines = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), LIMIT_S)).decode("latin-1").split("\r\n")
    pairs = [line.partition(":") for line in lines[1:] if line]
    return int(lines[0].split(" ")[1]), {name.lower(): value.strip() for name, _, value in pairs}


async def ask(
    port: int,
    method: str,
    path: str,
    body: object = None,
    *,
    token: str | None = None,
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
) -> Answer:
    """One request on a connection of its own; `body` is sent as JSON, `content` as it is."""
    fields = {"Connection": "close"}
    if token is not None:
        fields["Authorization"] = f"Bearer {token}"
    if body is not None:
        content = json.dumps(body).encode()
        fields["Content-Type"] = "application/json"
    if content is not None:
        fields["Content-Length"] = str(len(content))
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(head(method, path, fields | dict(headers or {})) + (content or b""))
        status, answered = await read_head(reader)
        received = await asyncio.wait_for(reader.read(), LIMIT_S)
    finally:
        writer.close()
    if answered.get("transfer-encoding") == "chunked":
        received = dechunk(received)
    return Answer(status, answered, received)


def dechunk(data: bytes) -> bytes:
    """The content of a complete chunked body."""
    parts: list[bytes] = []
    while data:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        if length == 0:
            return b"".join(parts)
        parts.append(data[:length])
        data = data[length + 2 :]
    raise AssertionError("the body broke off")


@dataclass
class Event:
    """One block of an event stream."""

    id: str | None = None
    type: str = ""
    data: Any = None
    comment: str = ""


class Stream:
    """An open event stream."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, headers: dict[str, str]) -> None:
        self.reader = reader
        self.writer = writer
        self.headers = headers
        self._text = b""
        self.last_id: str | None = None

    async def block(self) -> Event | None:
        """The next block, None at the end of the stream."""
        while b"\n\n" not in self._text:
            size = await asyncio.wait_for(self.reader.readline(), LIMIT_S)
            if not size or int(size, 16) == 0:
                return None
            self._text += (await asyncio.wait_for(self.reader.readexactly(int(size, 16) + 2), LIMIT_S))[:-2]
        block, _, self._text = self._text.partition(b"\n\n")
        event = Event()
        for line in block.decode().split("\n"):
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            match name:
                case "":
                    event.comment = value
                case "id":
                    event.id = self.last_id = value
                case "event":
                    event.type = value
                case "data":
                    event.data = json.loads(value)
        return event

    async def event(self, kind: str | None = None) -> Event:
        """The next event (of a kind), comments left out."""
        while True:
            block = await self.block()
            assert block is not None, "the stream ended"
            if block.data is not None and (kind is None or block.type == kind):
                return block

    async def ended(self) -> None:
        """Read on to the end of the stream."""
        try:
            while await self.block() is not None:
                pass
        except (asyncio.IncompleteReadError, ConnectionResetError):
            pass

    def close(self) -> None:
        self.writer.close()


@asynccontextmanager
async def open_stream(
    port: int, token: str, last_id: object = None, headers: Mapping[str, str] | None = None
) -> AsyncIterator[Stream]:
    """Subscribe; entered once the gateway has said the first word."""
    fields = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream", **(headers or {})}
    if last_id is not None:
        fields["Last-Event-ID"] = str(last_id)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(head("GET", "/api/v1/events", fields))
        status, answered = await read_head(reader)
        assert status == 200, status
        stream = Stream(reader, writer, answered)
        first = await stream.block()
        assert first is not None
        assert first.comment == "connected"
        yield stream
    finally:
        writer.close()
