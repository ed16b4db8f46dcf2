"""A raw HTTP/1.1 client on one kept-alive connection, so that what is measured is the server."""

import asyncio
import json
from typing import Any


class Connection:
    """One connection to a server on loopback; requests go one after the other."""

    def __init__(self, port: int, headers: dict[str, str] | None = None) -> None:
        self._port, self._headers = port, headers
        extra = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        self._head = f"Host: 127.0.0.1:{port}\r\n{extra}"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    def again(self) -> "Connection":
        """Another connection to the same server with the same headers."""
        return Connection(self._port, self._headers)

    async def request(
        self, method: str, path: str, body: object | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        """Send one request with a JSON `body`; returns status and decoded JSON (None for an empty answer)."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 22)
        reader, writer = self._streams
        data = b"" if body is None else json.dumps(body).encode()
        extra = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        kind = "Content-Type: application/json\r\n" if body is not None else ""
        head = f"{method} {path} HTTP/1.1\r\n{self._head}{extra}{kind}Content-Length: {len(data)}\r\n\r\n"
        writer.write(head.encode() + data)
        answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        status = int(answer[9:12])
        length = 0
        for line in answer.split("\r\n")[1:]:
            name, _, value = line.partition(":")
            if name.lower() == "content-length":
                length = int(value)
        content = await reader.readexactly(length) if length else b""
        return status, json.loads(content) if content else None

    async def stream(self, path: str, headers: dict[str, str] | None = None) -> asyncio.StreamReader:
        """Open an event stream; the reader stands behind the response's head."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 22)
        self._streams = reader, writer
        extra = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        writer.write(f"GET {path} HTTP/1.1\r\n{self._head}{extra}Accept: text/event-stream\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(head.decode("latin-1").split("\r\n")[0])
        return reader

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None
