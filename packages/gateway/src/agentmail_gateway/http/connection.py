"""The HTTP connection as this project needs it: uvicorn's, its head bounded in size and time, slow readers cut off."""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .event_stream import TRANSPORT_KEY
from .problem_reply import HttpProblem, problem_content, problem_headers

__all__ = ["HttpConnection"]

MAX_HEADERS = 100
MAX_HEADER_BYTES = 64 * 1024
HEAD_S = 30.0


class HttpConnection(HttpToolsProtocol):
    """One client's connection."""

    _head_bytes = 0
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._head_came()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {TRANSPORT_KEY: {"transport": self.transport}}
        self._head_bytes = 0
        if self._deadline is None:
            self._expect_head()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._count(len(name) + len(value))

    def on_headers_complete(self) -> None:
        self._head_came()
        super().on_headers_complete()

    def _expect_head(self) -> None:
        # uvicorn's own timer runs between two requests only: without this one a head that never ends would keep a
        # connection open for good.
        self._deadline = self.loop.call_later(HEAD_S, self.timeout_keep_alive_handler)

    def _head_came(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _count(self, size: int) -> None:
        # The parser knows no bounds of its own; an error in a callback ends the request as unreadable.
        self._head_bytes += size
        if self._head_bytes > MAX_HEADER_BYTES or len(self.headers) > MAX_HEADERS:
            raise ValueError("the head of the request is too large")

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP request, in the form of every other error."""
        del msg
        problem = HttpProblem(
            "bad_request", "This is not an HTTP/1.1 request that the gateway can read, or its head is too large.", []
        )
        content = problem_content(problem)
        headers = [*problem_headers(problem), (b"content-length", b"%d" % len(content)), (b"connection", b"close")]
        head = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
        self.transport.write(b"HTTP/1.1 400 Bad Request\r\n" + head + b"\r\n" + content)
        self.transport.close()
