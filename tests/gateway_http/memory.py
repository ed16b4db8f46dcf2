"""Calls an ASGI application in memory."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from agentmail_gateway.http.exchange import Message, Receive, Scope, Send

from .support import Answer

__all__ = ["call", "scope"]

Application = Callable[[Scope, Receive, Send], Awaitable[None]]


def scope(method: str, path: str, headers: dict[str, str] | None = None, query: str = "") -> dict[str, Any]:
    """The scope of a request from loopback."""
    fields = {"host": "127.0.0.1"} | {name.lower(): value for name, value in (headers or {}).items()}
    return {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "scheme": "http",
        "client": ("127.0.0.1", 1),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in fields.items()],
    }


async def call(app: Application, request: Scope, body: Iterable[bytes] = (b"",)) -> tuple[Answer, list[Message]]:
    """The answer, and every message that was sent."""
    parts = list(body)
    sent: list[Message] = []

    async def receive() -> Message:
        if not parts:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(request, receive, send)
    start: Message = sent[0] if sent else {"status": 0, "headers": []}
    headers = {name.decode(): value.decode("latin-1") for name, value in start["headers"]}
    return Answer(start["status"], headers, b"".join(message.get("body", b"") for message in sent[1:])), sent
