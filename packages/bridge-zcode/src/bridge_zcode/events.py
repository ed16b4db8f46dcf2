"""ZCode's ``stream-json`` -> the common turn events, and the facts an outcome is made of. Pure, no I/O.

What the format is known to do (source of CLI 0.16.9, and recordings of third parties):

- One JSON object per line, keys in any order: ``type`` comes last in events, first in the result line. Never by prefix.
- Lines that are not JSON occur (a banner of an SDK), as do unknown types, lines of many MiB and a last line without
  end.
- The result line comes only when the turn returned: its absence is how a failure looks. It can also come together with
  an exit code of 143.
- Events of a sub-agent's session appear raw under their own ``sessionId``, with a ``turn.completed`` of their own. Only
  the main session counts for text and ending; for what tools were run, all of them do.

Nothing that comes in raises: what can't be understood is counted and passed over.
"""

from dataclasses import dataclass, field

from .fields import Json, boolean, code, integer, mapping, parse_object, string
from .tool_events import ToolEvents
from .vendor.bounded import clip, encodable
from .vendor.turn import Event, Started, Status, Text, Thinking
from .vendor.wire import Usage

__all__ = ["MAX_LINE_BYTES", "EventReader", "Facts", "ReportedError"]

MAX_LINE_BYTES = 64 * 1024 * 1024
_MAX_TEXT_CHARACTERS = 8 * 1024 * 1024
_MAX_MESSAGE_BYTES = 4_000


@dataclass(frozen=True, slots=True)
class ReportedError:
    """An error that ZCode told of itself: in `turn.failed`, or for a model request that failed."""

    message: str
    code: str = ""
    provider_code: str = ""
    status: int | None = None
    retryable: bool | None = None


@dataclass(slots=True)
class Facts:
    """What was seen so far. `session_id` is the result line's, else that of the first event."""

    session_id: str | None = None
    turn_started: bool = False
    turn_completed: bool = False
    result_seen: bool = False
    result_type: str | None = None
    response: str = ""
    streamed: list[str] = field(default_factory=list)
    usage: Usage | None = None
    turn_error: ReportedError | None = None
    request_error: ReportedError | None = None
    first_noise: str = ""
    unreadable_lines: int = 0
    tools: ToolEvents = field(default_factory=ToolEvents)

    @property
    def text(self) -> str:
        """The answer: the result's response, else what the turn completed with, else the joined deltas."""
        return self.response if self.response.strip() else encodable("".join(self.streamed))


class EventReader:
    """Takes stdout line by line; gives the common events in order and keeps `facts`. Its memory is bounded."""

    def __init__(self) -> None:
        self.facts = Facts()
        self._streamed_size = 0

    def line(self, text: str, *, clipped: bool = False) -> list[Event]:
        """The events of one line of stdout. `clipped`: it was longer than MAX_LINE_BYTES, so it can't be read."""
        text = text.strip()
        if not text:
            return []
        parsed = None if clipped else parse_object(text)
        if parsed is None:
            self.facts.unreadable_lines += 1
            self.facts.first_noise = self.facts.first_noise or clip(text, _MAX_MESSAGE_BYTES)
            return []
        return self._object(parsed)

    def _object(self, line: Json) -> list[Event]:
        facts = self.facts
        kind = string(line.get("type"))
        session = string(line.get("sessionId"))
        if kind == "result":
            self._result(line, session)
            return []
        if not session:
            return []
        events: list[Event] = []
        if facts.session_id is None:
            facts.session_id = session
            events.append(Started(session))
        payload = mapping(line.get("payload"))
        events += facts.tools.take(kind, payload)
        if session == facts.session_id:
            events += self._main(kind, payload)
        return events

    def _result(self, line: Json, session: str) -> None:
        facts = self.facts
        facts.result_seen = True
        facts.session_id = session or facts.session_id
        response = string(line.get("response"))
        if response.strip():
            facts.response = response
        facts.usage = _usage(line.get("usage")) or facts.usage

    def _main(self, kind: str, payload: Json) -> list[Event]:
        facts = self.facts
        match kind:
            case "turn.started":
                facts.turn_started = True
            case "turn.completed":
                facts.turn_completed = True
                facts.response = string(payload.get("response")) or facts.response
                facts.result_type = string(payload.get("resultType")) or None
                facts.usage = _usage(payload.get("usage"), payload.get("duration")) or facts.usage
            case "turn.failed":
                facts.turn_error = _turn_error(payload)
            case "model.streaming":
                return self._streaming(payload)
            case "session.updated" if string(payload.get("type")) == "model_request_failed":
                return self._request_failed(payload)
            case _:
                pass
        return []

    def _streaming(self, payload: Json) -> list[Event]:
        delta = payload.get("delta")
        if not isinstance(delta, str) or not delta:
            return []
        match string(payload.get("kind")):
            case "text_delta":
                if self._streamed_size < _MAX_TEXT_CHARACTERS:
                    self._streamed_size += len(delta)
                    self.facts.streamed.append(delta)
                return [Text(encodable(delta))]
            case "reasoning_delta":
                return [Thinking(encodable(delta))]
            case _:
                return []

    def _request_failed(self, payload: Json) -> list[Event]:
        named = (string(payload.get(name)) for name in ("providerErrorMessage", "message", "reason"))
        message = next(filter(None, named), "")
        error = ReportedError(
            clip(message, _MAX_MESSAGE_BYTES),
            code=string(payload.get("errorCode")),
            provider_code=code(payload.get("providerErrorCode")),
            status=integer(payload.get("statusCode")),
            retryable=boolean(payload.get("retryable")),
        )
        self.facts.request_error = error
        attempt, most = integer(payload.get("attempt")), integer(payload.get("maxAttempts"))
        tries = f" (attempt {attempt} of {most})" if attempt is not None and most is not None else ""
        return [Status(f"model request failed{tries}: {clip(message, 300)}")]


def _turn_error(payload: Json) -> ReportedError:
    error = payload.get("error")
    if isinstance(error, str):
        return ReportedError(clip(error, _MAX_MESSAGE_BYTES))
    fields = mapping(error)
    attribution = mapping(fields.get("attribution"))
    message = string(fields.get("message")) or string(fields.get("detail")) or string(attribution.get("reason"))
    return ReportedError(
        clip(message, _MAX_MESSAGE_BYTES),
        code=string(fields.get("code")) or string(fields.get("type")),
        provider_code=code(attribution.get("providerErrorCode")),
        status=integer(attribution.get("statusCode")),
        retryable=boolean(attribution.get("retryable")),
    )


def _usage(value: object, duration: object = None) -> Usage | None:
    fields = mapping(value)
    if not fields:
        return None
    return Usage(
        input_tokens=integer(fields.get("inputTokens")),
        output_tokens=integer(fields.get("outputTokens")),
        duration_ms=integer(duration),
    )
