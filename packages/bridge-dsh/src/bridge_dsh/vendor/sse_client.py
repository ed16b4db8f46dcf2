"""An event stream that stays: reads server-sent events and reconnects where it left off.

What happens when, in one place:

    the stream ends, breaks, or is silent for `idle_s`   reconnect with Last-Event-ID
    5xx, 408, 425, 429, or no event stream at all        reconnect, not before Retry-After
    204, any other 3xx or 4xx                            StreamRefusedError: trying again would not help by itself

The wait before a reconnect is exponential with full jitter on top of the server's ``retry:``. Silence is measured on
bytes, comments included: a proxy that buffers (agentapi#69, opencode#25657) or a dead connection ends the same way.
"""

import asyncio
import random
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Self

import httpx2
import msgspec

from .event_parser import EventParser, EventTooLargeError, ServerEvent
from .gateway_errors import GatewayError, unreachable
from .http_connection import back_off_s, open_client, retry_after_s
from .wire import ProblemBody

__all__ = ["EventParser", "EventStream", "EventTooLargeError", "ServerEvent", "StreamRefusedError"]

BASE_S = 1.0
CAP_S = 30.0
CONNECT_S = 10.0
LONGEST_WAIT_S = 600.0
PROBLEM_LIMIT = 64 * 1024
PASSING = frozenset({408, 425, 429})


class StreamRefusedError(GatewayError):
    """The server does not want this client on the stream. `status` is its HTTP status, the message says what to do."""

    def __init__(self, status: int, detail: str):
        super().__init__(detail)
        self.status = status


class EventStream:
    """An asynchronous iterator of ServerEvent, and a context manager that closes it.

    `client` is used if given and stays open, else one is opened for `url`. `connected` is called after each connect,
    before any event of it: what was missed is to be fetched then. `disconnected` is called with the reason and the
    seconds until the next try. Reading a step may be cancelled at any point: no event is lost, the next
    step reconnects. After StreamRefusedError iterating may go on, and tries again. Raises EventTooLargeError.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        last_event_id: str | None = None,
        client: httpx2.AsyncClient | None = None,
        idle_s: float = 45.0,
        connected: Callable[[], None] | None = None,
        disconnected: Callable[[str, float], None] | None = None,
        random: Callable[[], float] = random.random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], float] = time.time,
    ):
        self._url = url
        # Compression would be one more place where bytes wait.
        fixed = {"Accept": "text/event-stream", "Cache-Control": "no-cache", "Accept-Encoding": "identity"}
        self._headers = {**headers, **fixed}
        self._client = open_client(url) if client is None else client
        self._owns_client = client is None
        self._idle_s = idle_s
        self._connected = connected
        self._disconnected = disconnected
        self._random = random
        self._sleep = sleep
        self._now = now
        self._parser = EventParser(last_event_id)
        self._pending: deque[ServerEvent] = deque()
        self._response: httpx2.Response | None = None
        self._chunks: AsyncGenerator[bytes, None] | None = None
        self._failures = 0
        self._wait_s = 0.0
        self._closed = False
        self.last_event_id = self._parser.last_event_id

    def __repr__(self) -> str:
        return f"EventStream({self._url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ServerEvent:
        while not self._pending:
            if self._closed:
                raise StopAsyncIteration
            await self._step()
        event = self._pending.popleft()
        self.last_event_id = event.id
        return event

    async def aclose(self) -> None:
        """End the stream. To be called by the task that reads it, or after that task ended."""
        self._closed = True
        await self._drop()
        if self._owns_client:
            await self._client.aclose()

    async def _step(self) -> None:
        """Connect, or read one piece. However it ends, no broken connection stays behind."""
        try:
            why = await (self._connect() if self._chunks is None else self._read(self._chunks))
        except BaseException:
            await self._drop()
            raise
        if why is None:
            return
        await self._drop()
        self._failures += 1
        self._wait_s = max(self._wait_s, self._next_wait_s())
        if self._disconnected is not None:
            self._disconnected(why, self._wait_s)

    async def _connect(self) -> str | None:
        """Open the stream after the wait that is due; why it failed, or None."""
        if self._wait_s:
            await self._sleep(self._wait_s)
            self._wait_s = 0.0
        resume = self._parser.last_event_id
        headers = {**self._headers, "Last-Event-ID": resume} if resume else self._headers
        timeout = httpx2.Timeout(self._idle_s, connect=CONNECT_S)
        request = self._client.build_request("GET", self._url, headers=_encoded(headers), timeout=timeout)
        try:
            self._response = await self._client.send(request, stream=True)
            refusal = await self._refusal(self._response)
        except httpx2.HTTPError as error:
            return self._why(error)
        if isinstance(refusal, StreamRefusedError):
            self._failures += 1
            self._wait_s = max(self._wait_s, self._next_wait_s())
            raise refusal
        if refusal is None:
            self._parser = EventParser(resume, retry_ms=self._parser.retry_ms)
            self._chunks = self._response.aiter_bytes()
            if self._connected is not None:
                self._connected()
        return refusal

    async def _read(self, chunks: AsyncGenerator[bytes, None]) -> str | None:
        """Read one piece; why there is none, or None."""
        try:
            chunk = await anext(chunks, None)
        except httpx2.HTTPError as error:
            return self._why(error)
        if chunk is None:
            return "the gateway ended the event stream"
        self._failures = 0
        try:
            self._pending.extend(self._parser.feed(chunk))
        except EventTooLargeError as error:
            self._pending.extend(error.events)
            raise
        return None

    async def _refusal(self, response: httpx2.Response) -> StreamRefusedError | str | None:
        """What is wrong with an answer: for good, for now, or nothing."""
        status = response.status_code
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if status == 200 and kind == "text/event-stream":
            return None
        if status >= 500 or status == 200 or status in PASSING:
            asked = retry_after_s(response.headers.get("retry-after"), self._now())
            self._wait_s = min(asked or 0.0, LONGEST_WAIT_S)
            return f"no event stream but HTTP {status} ({kind or 'no type'}) from {self._url}"
        return StreamRefusedError(status, _REFUSALS.get(status) or await _detail(response, self._url))

    def _next_wait_s(self) -> float:
        floor = min((self._parser.retry_ms or 0) / 1000, LONGEST_WAIT_S)
        return floor + back_off_s(self._failures, self._random(), base_s=BASE_S, cap_s=CAP_S)

    def _why(self, error: httpx2.HTTPError) -> str:
        if isinstance(error, httpx2.ReadTimeout):
            return (
                f"nothing came for {self._idle_s:g} s, not even a ping: a proxy in between must not buffer {self._url}"
            )
        return unreachable(error, self._url, self._idle_s).cause

    async def _drop(self) -> None:
        chunks, response = self._chunks, self._response
        self._chunks = self._response = None
        if chunks is not None:
            await chunks.aclose()
        if response is not None:
            await response.aclose()


_REFUSALS = {
    204: "the gateway asks to stay away from its event stream (204): see whether this agent is disabled",
    401: "the gateway does not know this key (401): check AGENTMAIL_AGENT_KEY, or have a new key issued",
}


async def _detail(response: httpx2.Response, url: str) -> str:
    """The problem document's own words, if there are any."""
    content = b""
    async with aclosing(response.aiter_bytes()) as chunks:
        async for chunk in chunks:
            content += chunk
            if len(content) > PROBLEM_LIMIT:
                break
    try:
        detail = msgspec.json.decode(content, type=ProblemBody).detail
    except (msgspec.MsgspecError, UnicodeDecodeError):
        detail = ""
    status = response.status_code
    return f"{detail} ({status})" if detail else f"{url} has no event stream for this client (HTTP {status})"


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Headers in UTF-8, the form in which an event's id goes back (WHATWG HTML, 9.2.3)."""
    return [(name.encode(), value.encode("utf-8", "replace")) for name, value in headers.items()]
