"""One HTTP request and its answer over plain ASGI: bounded reading in, bytes out.

Nothing here knows a route. Bodies are read in pieces and never beyond their limit, whatever `Content-Length` says.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl

from ..problems import Problem

__all__ = ["Body", "ClientGoneError", "Headers", "Receive", "Reply", "Request", "Scope", "Send", "drain", "send_bytes"]

T = TypeVar("T")
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]
DRAIN_BYTES = 64 * 1024 * 1024
DRAIN_S = 5.0


class ClientGoneError(Exception):
    """The client went away before its request was complete; there is nobody to answer."""


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """An answer whose status or headers differ from the route's ordinary ones."""

    value: T
    status: int = 200
    headers: tuple[tuple[bytes, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Body:
    """A body that is bytes already, with its media type."""

    content: bytes
    media_type: str


class Request:
    """A request as a handler sees it. Header names are lower case; repeated headers are joined (RFC 9110 5.2)."""

    __slots__ = ("headers", "method", "path", "query_string", "receive", "scope")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.scope = scope
        self.receive = receive
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query_string: bytes = scope["query_string"]
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name in headers:
                headers[name] += (b"; " if name == b"cookie" else b", ") + value
            else:
                headers[name] = value
        self.headers = headers

    def header(self, name: bytes) -> str | None:
        """A header's value, or None."""
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1").strip()

    @property
    def client(self) -> str:
        """The client's network address, or ``unknown``."""
        client = self.scope.get("client")
        return client[0] if client else "unknown"

    def query(self) -> list[tuple[str, str]]:
        """The query's pairs, in order. Raises Problem ``invalid`` when there are too many."""
        if not self.query_string:
            return []
        try:
            return parse_qsl(self.query_string.decode("latin-1"), keep_blank_values=True, max_num_fields=50)
        except ValueError:
            raise Problem("invalid", "The address holds more than 50 parameters; send fewer.") from None

    def length(self) -> int | None:
        """`Content-Length`, or None when it isn't given."""
        value = self.headers.get(b"content-length")
        return int(value) if value is not None and value.isdigit() else None

    async def chunks(self, limit: int) -> AsyncIterator[bytes]:
        """The body in pieces. Raises Problem ``too_large`` once it is known to exceed `limit`, ClientGoneError."""
        length = self.length()
        if length is not None and length > limit:
            raise _too_large(limit)
        size = 0
        while True:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise ClientGoneError
            chunk: bytes = message.get("body", b"")
            size += len(chunk)
            if size > limit:
                raise _too_large(limit)
            if chunk:
                yield chunk
            if not message.get("more_body", False):
                return

    async def gone(self) -> None:
        """Return when the client has gone away."""
        while (await self.receive())["type"] != "http.disconnect":
            pass

    async def body(self, limit: int) -> bytes:
        """The whole body, at most `limit` bytes. Raises as `chunks`."""
        parts = [chunk async for chunk in self.chunks(limit)]
        return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(limit: int) -> Problem:
    size = f"{limit // 1024**2} MiB" if limit >= 1024**2 and limit % 1024**2 == 0 else f"{limit} bytes"
    return Problem("too_large", f"The body is larger than {size}; send less, or put a file into an attachment.")


async def send_bytes(send: Send, status: int, content: bytes, headers: Headers) -> None:
    """Answer with `content` whole; its length is added to `headers`."""
    if status not in {204, 304}:
        headers = [*headers, (b"content-length", b"%d" % len(content))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


async def drain(receive: Receive) -> None:
    """Read on and throw away, within bounds: closing while the client still sends would lose it the answer.

    A reset follows when a socket is closed with unread bytes (RFC 9112 section 9.6).
    """
    size = 0
    try:
        async with asyncio.timeout(DRAIN_S):
            while size < DRAIN_BYTES:
                message = await receive()
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    return
                size += len(message.get("body", b""))
    except TimeoutError:
        return
