"""The lines of ``dsh --json`` as the common events of a turn, and the facts that decide its outcome. Pure.

Every text is cut at 8 KiB but `final`'s, so that one is the answer. An exit status says nothing alone: after SIGTERM it
is 0. One run can hold several turns (goals, sub-agents): the last ``turn_end`` counts.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from .vendor.bounded import encodable
from .vendor.turn import Event, Started, Status, Text, Thinking, ToolCall, ToolResult

__all__ = ["Reader"]

SHOWN = 2_000  # characters of a tool's arguments and result that are worth showing
LARGEST = 10**15
REFUSED = re.compile(
    r"file access denied under|requires approval, but no approval|EROFS|Read-only file system", re.IGNORECASE
)
EXIT = re.compile(r"\[exit code: [1-9]")
NO_BACKEND = re.compile(r"no sandbox backend is usable")


@dataclass(slots=True)
class Reader:
    """Reads one run. Unknown events, lines that are no JSON and missing fields are passed over.

    `ending` is the kind of the last ``turn_end``, with `error` and `error_code` when it is ``error``. `final` is None
    until that line came. `refused` is dsh's reason for a run that never started. `denied` are tools that a sandbox
    stopped, `powerless` says that dsh refused to run commands because its own sandbox does not start here.
    """

    session_id: str | None = None
    ending: str = ""
    error: str = ""
    error_code: str = ""
    status: int | None = None
    final: str | None = None
    said: str = ""
    refused: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    denied: list[str] = field(default_factory=list)
    powerless: bool = False
    _calls: dict[str, str] = field(default_factory=dict)

    def feed(self, line: str) -> list[Event]:
        """The events of one line of standard output, in order; facts are kept on the reader."""
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            return []
        if not isinstance(data, dict):
            return []
        match data.get("type"):
            case "session":
                self.session_id = _word(data, "sessionId") or None
                return [Started(self.session_id)]
            case "status":
                return self._status(data)
            case "text":
                self.said = _word(data, "text") or self.said
                return [Text(f"{text}\n\n")] if (text := _word(data, "text")) else []
            case "thinking":
                return [Thinking(f"{text}\n\n")] if (text := _word(data, "text")) else []
            case "tool_call":
                call_id, tool = _word(data, "callId"), _word(data, "tool")
                self._calls[call_id] = tool
                return [ToolCall(call_id, tool, _shown(data.get("input")))]
            case "tool_result":
                return [self._result(data)]
            case "final":
                self.final = _word(data, "text")
                return []
            case "error":
                self.refused = _word(data, "message") or "dsh did not start the run"
                return []
            case _:
                return []

    def _status(self, data: dict[str, Any]) -> list[Event]:
        match data.get("phase"):
            case "step_end":
                used = _table(data, "usage")
                self.input_tokens += sum(
                    _count(used, name) for name in ("inputTokens", "cacheReadTokens", "cacheWriteTokens")
                )
                self.output_tokens += _count(used, "outputTokens")
                return []
            case "turn_end":
                reason = _table(data, "reason")
                error = _table(reason, "error")
                self.ending = _word(reason, "kind")
                self.error, self.error_code = _word(error, "message"), _word(error, "code")
                self.status = _count(error, "status") or None
                return []
            case "turn_start":
                self.ending = ""
                number = _count(data, "turn")
                return (
                    [Status(f"dsh goes on by itself (turn {number} of its session)")]
                    if self.final is None and self.said
                    else []
                )
            case _:
                return []

    def _result(self, data: dict[str, Any]) -> ToolResult:
        call_id, text = _word(data, "callId"), _word(data, "result")
        tool = self._calls.pop(call_id, "")
        failed = data.get("status") == "error"
        if (failed or EXIT.search(text)) and REFUSED.search(text):
            self.denied.append(tool or "a tool")
        if failed and NO_BACKEND.search(text):
            self.powerless = True
            self.denied.append(tool or "a tool")
        return ToolResult(call_id, tool, not failed, text[:SHOWN])


def _table(data: dict[str, Any], name: str) -> dict[str, Any]:
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def _word(data: dict[str, Any], name: str) -> str:
    value = data.get(name)
    return encodable(value) if isinstance(value, str) else ""


def _count(data: dict[str, Any], name: str) -> int:
    value = data.get(name)
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < LARGEST
    return int(value) if fits and value is not None else 0


def _shown(arguments: object) -> str:
    if isinstance(arguments, dict) and isinstance(arguments.get("command"), str):
        return encodable(arguments["command"][:SHOWN])
    return encodable(json.dumps(arguments, ensure_ascii=False)[:SHOWN]) if arguments else ""
