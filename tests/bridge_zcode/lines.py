"""Lines of ZCode's stream, as its source and recordings show them: keys in the original's order, `type` last."""

import json
from collections.abc import Iterable

from bridge_zcode.events import EventReader, Facts
from bridge_zcode.vendor.turn import Event

__all__ = ["CHILD", "SESSION", "event", "failed", "quota", "read", "result", "success", "tool"]

SESSION = "sess_11111111-1111-1111-1111-111111111111"
CHILD = "sess_22222222-2222-2222-2222-222222222222"


def event(kind: str, session: str = SESSION, /, **payload: object) -> str:
    """An event line."""
    line = {"eventId": "e", "payload": payload, "seq": 1, "sessionId": session, "timestamp": 1_790_000_000_000}
    return json.dumps({**line, "traceId": "t", "turnId": "u", "type": kind}, ensure_ascii=False)


def result(response: str, session: str = SESSION, **more: object) -> str:
    """The result line."""
    usage = {"modelRequestCount": 1, "inputTokens": 900, "outputTokens": 3, "totalTokens": 903}
    return json.dumps({"type": "result", "sessionId": session, "response": response, "usage": usage, **more})


def tool(kind: str, call: str = "c1", session: str = SESSION, **more: object) -> str:
    """A `tool.updated` line; its kind stands last in the payload."""
    return event("tool.updated", session, toolCallId=call, **more, kind=kind)


def success(text: str = "Done.") -> list[str]:
    """A plain successful turn."""
    return [
        event("session.titleUpdated", title="Mail 7"),
        event("turn.started", turnNumber=1, input="…"),
        event("model.streaming", kind="text_delta", delta=text),
        event("turn.completed", response=text, duration=1990, resultType="success", usage={"inputTokens": 900}),
        result(text),
    ]


def quota(
    code: str = "1308", text: str = "Usage limit reached for 5 hour. Your limit will reset at 2026-09-12 19:27:04"
) -> list[str]:
    """A model request that the provider refused, as it was recorded; no result line follows."""
    message = f"[{code}][{text}][request-redacted]"
    request = {"type": "model_request_failed", "attempt": 1, "maxAttempts": 11, "statusCode": 429, "retryable": False}
    attribution = {"source": "provider", "statusCode": 429, "providerErrorCode": code, "retryable": False}
    return [
        event("session.updated", **request, errorCode="model_rate_limited", providerErrorCode=code, message=message),
        event("turn.failed", error={"message": message, "attribution": attribution}),
    ]


def failed(message: str, **error: object) -> str:
    """A `turn.failed` line."""
    return event("turn.failed", error={"type": "error", "message": message, **error}, turnPhase="model")


def read(lines: Iterable[str]) -> tuple[list[Event], Facts]:
    """All events of `lines`, and the facts."""
    reader = EventReader()
    events = [one for line in lines for one in reader.line(line)]
    return events, reader.facts
