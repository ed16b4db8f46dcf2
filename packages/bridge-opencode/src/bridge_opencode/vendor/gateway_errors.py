"""What can go wrong between a client and the gateway, in words that name the cause and the next step.

    GatewayError
      GatewayProblem      the gateway answered with a problem (RFC 9457), or something answered that is no gateway
      GatewayUnreachable  no answer came

No message holds a key, a header or a body (AgentChatBus#8, mcp-memory-service#1117).
"""

import errno
import socket
import ssl
from collections.abc import Iterator

import httpx2
import msgspec

from .wire import ProblemBody

__all__ = ["GatewayError", "GatewayProblem", "GatewayUnreachable", "problem_of", "unreachable"]

REFUSED = frozenset({errno.ECONNREFUSED, getattr(errno, "WSAECONNREFUSED", errno.ECONNREFUSED)})


class GatewayError(Exception):
    """Base of everything that a gateway client raises on purpose."""


class GatewayProblem(GatewayError):  # noqa: N818 - RFC 9457 calls it a problem
    """The gateway refused a request. `code` is stable; ``bad_answer`` means that no fitting gateway answered."""

    def __init__(self, status: int, code: str, title: str = "", detail: str = "", retry_after_s: float | None = None):
        super().__init__(detail or title or f"the gateway answered {status} {code}")
        self.status = status
        self.code = code
        self.title = title
        self.detail = detail
        self.retry_after_s = retry_after_s


class GatewayUnreachable(GatewayError):  # noqa: N818 - says what is the matter
    """No answer came. `cause` is one line for people; `sent` is false when the request can't have been processed."""

    def __init__(self, cause: str, *, sent: bool = True):
        super().__init__(cause)
        self.cause = cause
        self.sent = sent


def problem_of(status: int, content: bytes, retry_after: float | None, url: str) -> GatewayProblem:
    """The problem that an answer with a status of 300 or more means; `content` is its body, `url` the gateway's."""
    try:
        body = msgspec.json.decode(content, type=ProblemBody)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return GatewayProblem(status, "bad_answer", "Not a gateway's answer", _not_a_gateway(status, url), retry_after)
    asked = body.retry_after_s if body.retry_after_s is not None else retry_after
    return GatewayProblem(status, body.code, body.title, body.detail, asked)


def _not_a_gateway(status: int, url: str) -> str:
    if 300 <= status < 400:
        return f"{url} redirects elsewhere (HTTP {status}), which is not followed: set the gateway's final address"
    if status in (502, 503, 504):
        return f"a proxy in front of {url} says that the gateway is not there (HTTP {status}): see whether it runs"
    return f"what answers at {url} (HTTP {status}) is not an AgentMail gateway of this version: check the address"


def unreachable(error: httpx2.HTTPError, url: str, timeout: float) -> GatewayUnreachable:
    """What a failed request to the gateway at `url` means; `timeout` is the client's, in seconds."""
    never_sent = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout | httpx2.ProxyError)
    return GatewayUnreachable(_cause(error, url, timeout), sent=not never_sent)


def _cause(error: httpx2.HTTPError, url: str, timeout: float) -> str:
    for link in _chain(error):
        if isinstance(link, ssl.SSLError):
            reason = getattr(link, "verify_message", "") or link.reason or "handshake failed"
            return f"no secure connection to {url} ({reason}): check its certificate, or http:// and https://"
        if isinstance(link, socket.gaierror):
            return f"the host of {url} is not known: check the gateway's address and this machine's name service"
        if isinstance(link, OSError) and link.errno in REFUSED:
            return f"no gateway answers at {url}: start it with `agentmail up`"
    match error:
        case httpx2.ProxyError():
            return f"the proxy on the way to {url} refused: check HTTP_PROXY and HTTPS_PROXY, or use NO_PROXY"
        case httpx2.ConnectTimeout() | httpx2.ConnectError():
            return f"{url} can't be reached: check the address and the network, and that a gateway runs there"
        case httpx2.PoolTimeout():
            return f"too many requests to {url} at once: none became free within {timeout:g} s"
        case httpx2.TimeoutException():
            return f"the gateway at {url} did not answer within {timeout:g} s: see its log, then try again"
        case _:
            return f"the connection to {url} broke before the answer was complete: see whether the gateway still runs"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """`error` and everything behind it, through causes, contexts and groups; each once."""
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        link = pending.pop()
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        pending += [link.__cause__, link.__context__]
        if isinstance(link, BaseExceptionGroup):
            pending += link.exceptions
