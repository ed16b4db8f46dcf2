"""What the stand-in prints: events with the original's key order, and the result in three formats.

Key order and the fields named here are [S] (CLI 0.16.9) or [R] (the result of 0.15.x); payloads that the bridge does
not read are [assumed].
"""

import json
import sys
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Stream", "write_raw"]


def write_raw(data: bytes) -> None:
    """Write bytes to stdout at once."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


@dataclass
class Stream:
    """The output of one run of one session."""

    session_id: str
    format: str
    trace_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    turn_id: str = field(default_factory=lambda: f"turn_{uuid.uuid4()}")
    seq: int = 0
    turn_events: int = 0

    def event(self, kind: str, payload: Mapping[str, object], *, session: str | None = None, turn: bool = True) -> None:
        """One event line: ``type`` stands last, ``turnId`` is left out where there is none."""
        self.seq += 1
        self.turn_events += 1 if turn and session is None else 0
        if self.format != "stream-json":
            return
        line: dict[str, object] = {
            "eventId": str(uuid.uuid4()),
            "payload": payload,
            "seq": self.seq,
            "sessionId": session or self.session_id,
            "timestamp": int(time.time() * 1000),
            "traceId": self.trace_id,
        }
        if turn:
            line["turnId"] = self.turn_id
        line["type"] = kind
        write_raw(_compact(line) + b"\n")

    def text(self, text: str) -> None:
        """The model's text as the stream shows it."""
        for kind, extra in (("text_start", {}), ("text_delta", {"delta": text}), ("text_end", {})):
            self.event("model.streaming", {"kind": kind, "assistantMessageId": "msg_1", **extra})

    def result_line(self, response: str, usage: dict[str, object], turn_count: int) -> bytes:
        """The last line, without its end."""
        return _compact({"type": "result", **self.result(response, usage, turn_count)})

    def result(self, response: str, usage: dict[str, object], turn_count: int) -> dict[str, object]:
        """The fields of a result, in the original's order."""
        return {
            "sessionId": self.session_id,
            "traceId": self.trace_id,
            "turnId": self.turn_id,
            "response": response,
            "usage": usage,
            "eventCount": self.turn_events,
            "projection": {
                "status": "idle",
                "turnCount": turn_count,
                "totalTokenCount": usage["totalTokens"],
                "contextUsed": usage["totalTokens"],
                "contextWindow": 1_000_000,
            },
        }

    def finish(self, response: str, usage: dict[str, object], turn_count: int) -> None:
        """Print the result in the format that was asked for."""
        match self.format:
            case "stream-json":
                write_raw(self.result_line(response, usage, turn_count) + b"\n")
            case "json":
                pretty = json.dumps(self.result(response, usage, turn_count), indent=2, ensure_ascii=False)
                write_raw(pretty.encode() + b"\n")
            case _:
                write_raw(response.encode() + b"\n")


def usage_of(prompt: str, response: str) -> dict[str, object]:
    """A usage block with the original's fields [R]; the numbers are made up."""
    inputs, outputs = len(prompt), len(response)
    return {
        "source": "provider",
        "modelRequestCount": 1,
        "inputTokens": inputs,
        "outputTokens": outputs,
        "totalTokens": inputs + outputs,
        "cacheReadTokens": 0,
        "cacheWriteTokens": 0,
        "reasoningTokens": 0,
        "webFetchRequests": 0,
        "webSearchRequests": 0,
    }


def _compact(value: dict[str, object]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
