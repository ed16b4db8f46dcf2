"""The outermost layer: what holds for every request, whatever its path.

Judges `Host` and `Origin` before anything else, adds the security headers, turns every problem into its document,
keeps what the client must not see (traces, paths, keys) in the log, and counts.
"""

import secrets
import time
from collections.abc import Awaitable, Callable
from functools import lru_cache

import structlog

from ..problems import Problem
from .counters import Counters
from .endpoint import ROUTE_KEY
from .exchange import ClientGoneError, Headers, Message, Receive, Scope, Send, drain, send_bytes
from .origins import AllowList
from .problem_reply import problem_content, problem_headers
from .route import Route

__all__ = ["SECURITY_HEADERS", "Guard"]

SECURITY_HEADERS: Headers = [
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
]
# Probes ask by the address they were given; these two answers tell nothing.
ANY_HOST = frozenset({"/healthz", "/readyz"})
SMALL_BODY = 64 * 1024
CACHED_BYTES = 256
log = structlog.get_logger("agentmail.gateway.http")


class _Exchange:
    """Watches one request: what was answered, and whether its body was read to the end."""

    __slots__ = ("_receive", "_send", "body_read", "status")

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self.status = 0
        self.body_read = False

    async def receive(self) -> Message:
        message = await self._receive()
        if not message.get("more_body", False):
            self.body_read = True
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers: Headers = message["headers"]
            given = {name for name, _ in headers}
            message["headers"] = [*headers, *[header for header in SECURITY_HEADERS if header[0] not in given]]
        await self._send(message)


class Guard:
    """Wraps an ASGI application; `clock` counts seconds, `slow_s` is when a request is worth a line in the log."""

    def __init__(
        self,
        app: Callable[[Scope, Receive, Send], Awaitable[None]],
        allowed: AllowList,
        counters: Counters,
        *,
        slow_s: float,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._app = app
        # The same few values come with every request; parsing them anew would be a fifth of its cost.
        self._allowed = allowed
        self._judge = lru_cache(maxsize=256)(allowed.check)
        self._counters = counters
        self._slow_s = slow_s
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"the gateway speaks HTTP only, not {scope['type']}")
        exchange = _Exchange(receive, send)
        began = self._clock()
        self._counters.active += 1
        try:
            self._check_origin(scope)
            await self._app(scope, exchange.receive, exchange.send)
        except Problem as problem:
            await self._refuse(scope, exchange, problem)
        except ClientGoneError:
            pass
        except Exception as error:  # noqa: BLE001 -- the last place that can keep a trace away from the client
            await self._refuse(scope, exchange, _internal(scope, error))
        finally:
            self._counters.active -= 1
            self._count(scope, exchange.status, self._clock() - began)

    def _check_origin(self, scope: Scope) -> None:
        host = origin = None
        for name, value in scope["headers"]:
            if name == b"host":
                host = value if host is None else host + b"," + value
            elif name == b"origin":
                origin = value if origin is None else origin + b"," + value
        if host is not None and origin is None and scope["path"] in ANY_HOST:
            return
        short = len(host or b"") + len(origin or b"") < CACHED_BYTES
        judge = self._judge if short else self._allowed.check
        match judge(_text(host), _text(origin), scope["scheme"]):
            case "foreign_host":
                raise Problem(
                    "foreign_host",
                    "The gateway is not known by the name in the Host header: use 127.0.0.1 or localhost, "
                    "or start the gateway with --allow-host NAME.",
                )
            case "foreign_origin":
                raise Problem(
                    "foreign_origin",
                    "Pages of another origin may not use this gateway; --allow-origin ORIGIN at its start allows one.",
                )
            case "ok":
                pass

    async def _refuse(self, scope: Scope, exchange: _Exchange, problem: Problem) -> None:
        if exchange.status:
            # Too late for another answer: leaving the body incomplete makes the server cut the connection.
            return
        headers = problem_headers(problem)
        content = problem_content(problem)
        if exchange.body_read or not _may_have_more(scope):
            await send_bytes(exchange.send, problem.status, content, headers)
            return
        headers += [(b"connection", b"close"), (b"content-length", b"%d" % len(content))]
        await exchange.send({"type": "http.response.start", "status": problem.status, "headers": headers})
        await exchange.send({"type": "http.response.body", "body": content, "more_body": True})
        await drain(exchange.receive)
        await exchange.send({"type": "http.response.body", "body": b""})

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        route: Route | None = scope.get(ROUTE_KEY)
        timed = route is None or route.gives != "text/event-stream"
        path = None if route is None else route.path
        self._counters.done(scope["method"], path, status, seconds if timed else None)
        if timed and seconds >= self._slow_s:
            log.warning("slow request", method=scope["method"], route=path, status=status, seconds=round(seconds, 3))


def _internal(scope: Scope, error: Exception) -> Problem:
    error_id = secrets.token_hex(8)
    route: Route | None = scope.get(ROUTE_KEY)
    log.error(
        "internal error",
        error_id=error_id,
        method=scope["method"],
        route=None if route is None else route.path,
        exc_info=error,
    )
    return Problem("internal", f"Something broke inside the gateway. Its log has the cause under {error_id}.")


def _may_have_more(scope: Scope) -> bool:
    """Whether a body that is too large to be read along the way may still be coming."""
    for name, value in scope["headers"]:
        if name == b"content-length":
            return not value.isdigit() or int(value) > SMALL_BODY
        if name == b"transfer-encoding":
            return True
    return False


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1").strip()
