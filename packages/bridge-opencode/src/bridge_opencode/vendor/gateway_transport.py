"""One request to the gateway: credentials, JSON in and out, problems, and which calls are tried again.

A call is tried again after a broken connection or a 502, 503 or 504 only when doing it twice changes nothing: GET, PUT,
DELETE, and POST under a lease or an ``Idempotency-Key``. Any call is tried again when its connection was never made.
Keys live in one private header set; no message, repr or log line of this package shows them.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from types import NoneType
from typing import Literal, TypeVar, cast
from urllib.parse import quote

import httpx2
import msgspec

from .gateway_errors import GatewayError, GatewayProblem, GatewayUnreachable, problem_of, unreachable
from .http_connection import back_off_s, base_url, open_client, retry_after_s
from .sse_client import EventStream

__all__ = ["Body", "Credential", "Transport", "credential_headers", "part"]

T = TypeVar("T")
Credential = str | tuple[str, str] | None
Method = Literal["GET", "PUT", "POST", "PATCH", "DELETE"]
Params = Mapping[str, str | int | bool | None]
Body = bytes | AsyncIterator[bytes]

BACK_OFF_BASE_S = 0.5
BACK_OFF_CAP_S = 8.0
PASSING = frozenset({502, 503, 504})
SAFE: frozenset[Method] = frozenset({"GET", "PUT", "DELETE"})


def credential_headers(credential: Credential) -> dict[str, str]:
    """The headers that carry `credential`: a bearer key or token, or (agent name, secret), or none.

    Names outside ASCII travel percent-encoded. Raises ValueError, without showing the key, when it can't be one.
    """
    match credential:
        case None:
            return {}
        case str():
            return {"Authorization": f"Bearer {_printable(credential, 'key')}"}
        case name, secret:
            return {"X-Agent-Name": quote(name.strip(), safe="+@ "), "X-Agent-Secret": _printable(secret, "secret")}


def _printable(key: str, what: str) -> str:
    key = key.strip()
    if not key or not all("!" <= character <= "~" for character in key):
        raise ValueError(f"the {what} is empty or holds characters that no {what} has: copy it again")
    return key


def part(value: str) -> str:
    """`value` (an id or a name) as one path segment. Raises ValueError for what a URL would take as a direction."""
    if value.strip(".") == "":
        raise ValueError(f"not an id or a name: {value!r}")
    return quote(value, safe="")


class Transport:
    """Sends requests to the gateway at `url`. Owns the connections; `aclose` frees them.

    `timeout` bounds each wait for the gateway in seconds; `attempts` counts tries in all. `random` and `sleep` spread
    them (exponential, full jitter, at most 8 s each). Raises ValueError for an address or a key that can't be right.
    """

    def __init__(
        self,
        url: str,
        credential: Credential = None,
        *,
        timeout: float = 30.0,
        attempts: int = 4,
        random: Callable[[], float] = random.random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ):
        self.url = base_url(url)
        self._headers = credential_headers(credential)
        self._timeout = timeout
        self._attempts = max(1, attempts)
        self._random = random
        self._sleep = sleep
        self._client = open_client(self.url, {"User-Agent": "agentmail", **self._headers}, timeout)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def event_stream(
        self,
        path: str,
        last_event_id: str | None,
        idle_s: float,
        connected: Callable[[], None] | None,
        disconnected: Callable[[str, float], None] | None,
    ) -> EventStream:
        """An event stream over the same connections and with the same credential."""
        return EventStream(
            f"{self.url}{path}",
            self._headers,
            last_event_id=last_event_id,
            client=self._client,
            idle_s=idle_s,
            connected=connected,
            disconnected=disconnected,
            random=self._random,
            sleep=self._sleep,
        )

    async def aclose(self) -> None:
        """Close every connection. The object can't be used afterwards."""
        await self._client.aclose()

    async def call(
        self,
        method: Method,
        path: str,
        answer: type[T],
        *,
        params: Params | None = None,
        body: msgspec.Struct | Callable[[], Body] | None = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool = False,
    ) -> T:
        """Send one request and return its answer as `answer` (``NoneType``: the body is not looked at).

        `body` is a structure (sent as JSON) or makes the raw body anew for each try. Raises GatewayProblem,
        GatewayUnreachable.
        """
        async with self.open(
            method, path, params=params, body=body, headers=headers, repeatable=repeatable
        ) as response:
            content = await self._read(response)
        if answer is NoneType:
            return cast("T", None)
        if answer is str:
            return cast("T", content.decode("utf-8", "replace"))
        try:
            return msgspec.json.decode(content, type=answer)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise problem_of(response.status_code, b"", None, self.url) from None

    @asynccontextmanager
    async def open(
        self,
        method: Method,
        path: str,
        *,
        params: Params | None = None,
        body: msgspec.Struct | Callable[[], Body] | None = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool = False,
    ) -> AsyncIterator[httpx2.Response]:
        """Send one request; the response (status 2xx) is open inside the block, its body not read yet."""
        response = await self._send(method, path, params or {}, body, headers or {}, repeatable or method in SAFE)
        try:
            yield response
        finally:
            await response.aclose()

    async def chunks(self, response: httpx2.Response) -> AsyncGenerator[bytes, None]:
        """The body of an open response in pieces. Raises GatewayUnreachable when it breaks off."""
        broken = None
        try:
            async for chunk in response.aiter_bytes():
                yield chunk
        except httpx2.HTTPError as error:
            broken = unreachable(error, self.url, self._timeout)
        if broken is not None:
            raise broken

    async def _send(
        self,
        method: Method,
        path: str,
        params: Params,
        body: msgspec.Struct | Callable[[], Body] | None,
        headers: Mapping[str, str],
        repeatable: bool,
    ) -> httpx2.Response:
        given = {name: _text(value) for name, value in params.items() if value is not None}
        sent_headers = dict(headers)
        if isinstance(body, msgspec.Struct):
            sent_headers["Content-Type"] = "application/json"
        attempt = 1
        while True:
            outcome = await self._try(method, path, given, body, sent_headers)
            if isinstance(outcome, httpx2.Response):
                return outcome
            again = _passing(outcome, repeatable)
            if not again or attempt >= self._attempts:
                raise outcome
            delay = back_off_s(attempt, self._random(), base_s=BACK_OFF_BASE_S, cap_s=BACK_OFF_CAP_S)
            if isinstance(outcome, GatewayProblem) and outcome.retry_after_s is not None:
                delay = max(delay, min(outcome.retry_after_s, BACK_OFF_CAP_S))
            await self._sleep(delay)
            attempt += 1

    async def _try(
        self,
        method: Method,
        path: str,
        params: dict[str, str],
        body: msgspec.Struct | Callable[[], Body] | None,
        headers: dict[str, str],
    ) -> httpx2.Response | GatewayError:
        """One try. Errors are returned, so that none carries the library's own, which holds the request's headers."""
        match body:
            case None:
                content: Body | None = None
            case msgspec.Struct():
                content = msgspec.json.encode(body)
            case _:
                content = body()
        request = self._client.build_request(
            method, f"{self.url}{path}", params=params or None, content=content, headers=headers
        )
        try:
            response = await self._client.send(request, stream=True)
        except httpx2.HTTPError as error:
            return unreachable(error, self.url, self._timeout)
        if response.is_success:
            return response
        try:
            content_read = await response.aread()
        except httpx2.HTTPError as error:
            return unreachable(error, self.url, self._timeout)
        finally:
            await response.aclose()
        asked = retry_after_s(response.headers.get("retry-after"), time.time())
        return problem_of(response.status_code, content_read, asked, self.url)

    async def _read(self, response: httpx2.Response) -> bytes:
        async with aclosing(self.chunks(response)) as chunks:
            return b"".join([chunk async for chunk in chunks])


def _passing(outcome: GatewayError, repeatable: bool) -> bool:
    """Whether another try may help and can do no harm."""
    match outcome:
        case GatewayUnreachable(sent=sent):
            return repeatable or not sent
        case GatewayProblem(status=status):
            return repeatable and status in PASSING
        case _:
            return False


def _text(value: str | int | bool | None) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            # A file's name may hold bytes that are no text; a label need not keep them.
            return value.encode("utf-8", "replace").decode()
        case _:
            return str(value)
