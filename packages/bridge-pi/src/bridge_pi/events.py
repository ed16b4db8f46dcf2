"""pi's RPC lines (1.x) as the common events of a turn, and the facts that decide its outcome. Pure.

The turn's text comes from this turn's own assistant messages (openclaw#61020: the last text of a session can be an
earlier turn's), its end is ``agent_settled`` and nothing else (pi#4716: ``agent_end`` can be followed by a retry), and
what failed stands in ``stopReason`` and ``errorMessage``, never in an exit code (pi#9089).
"""

import json
from dataclasses import dataclass, field
from typing import Any

from .vendor.bounded import encodable
from .vendor.turn import Event, Status, Text, Thinking, ToolCall, ToolResult

__all__ = ["PROMPT", "Reader", "Usage"]

PROMPT = "prompt"  # the id under which the prompt is sent

SHOWN = 2_000  # characters of a tool's arguments and result that are worth showing
LARGEST = 1e15
DIALOGS = ("select", "confirm", "input", "editor")


@dataclass(slots=True)
class Usage:
    """Tokens and cost of the turn so far; `cost` in US dollars."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0


@dataclass(slots=True)
class Reader:
    """Reads one turn. Unknown events, lines that are no JSON and missing fields are passed over.

    `text` is what the last assistant message said, `said` the last of them that said anything. `denied` are tools that
    the model asked for and this tier does not offer.
    """

    text: str = ""
    said: str = ""
    stop_reason: str = ""
    error: str = ""
    settled: bool = False
    aborted: bool = False
    denied: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    responses: dict[str, dict[str, Any]] = field(default_factory=dict)
    dialogs: list[str] = field(default_factory=list)

    def feed(self, line: str) -> list[Event]:
        """The events of one line of pi's standard output, in order; facts are kept on the reader."""
        try:
            data = json.loads(line)
        except ValueError:
            return []
        except RecursionError:
            return []
        if not isinstance(data, dict):
            return []
        match data.get("type"):
            case "response":
                self._response(data)
                return []
            case "message_update":
                return _delta(_table(data, "assistantMessageEvent"))
            case "message_end":
                self._message(_table(data, "message"))
                return []
            case "tool_execution_start":
                return [ToolCall(_word(data, "toolCallId"), _word(data, "toolName"), _shown(data.get("args")))]
            case "tool_execution_end":
                return [self._tool_end(data)]
            case "auto_retry_start":
                number, most = _number(data, "attempt"), _number(data, "maxAttempts")
                wait_s = _amount(data, "delayMs") / 1000
                why = _first_line(_word(data, "errorMessage"))
                return [Status(f"the model failed, try {number} of {most} in {wait_s:g} s: {why}")]
            case "auto_compaction_start" | "compaction_start":
                return [Status("the conversation is being shortened")]
            case "extension_ui_request" if data.get("method") in DIALOGS:
                self.dialogs.append(_word(data, "id"))
                return [
                    Status(f"pi asked a question on a screen that is not there: {_first_line(_word(data, 'title'))}")
                ]
            case "agent_settled":
                self.settled, self.aborted = True, data.get("aborted") is True
                return []
            case _:
                return []

    def _response(self, data: dict[str, Any]) -> None:
        # A line that pi could not read is answered without its id.
        request = PROMPT if data.get("command") == "parse" else data.get("id")
        if isinstance(request, str):
            self.responses[request] = data

    def _message(self, message: dict[str, Any]) -> None:
        """An assistant message ended: it is the answer so far, and its usage counts."""
        if message.get("role") != "assistant":
            return
        used = _table(message, "usage")
        self.usage.input_tokens += _number(used, "input") + _number(used, "cacheRead") + _number(used, "cacheWrite")
        self.usage.output_tokens += _number(used, "output")
        self.usage.cost += _amount(_table(used, "cost"), "total")
        self.stop_reason = _word(message, "stopReason")
        self.error = _word(message, "errorMessage")
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        texts = [_word(block, "text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
        self.text = encodable("\n\n".join(text for text in texts if text.strip()))
        self.said = self.text or self.said

    def _tool_end(self, data: dict[str, Any]) -> ToolResult:
        name, failed = _word(data, "toolName"), data.get("isError") is True
        content = _table(data, "result").get("content")
        parts = [_word(part, "text") for part in content if isinstance(part, dict)] if isinstance(content, list) else []
        text = "\n".join(parts)
        if failed and text == f"Tool {name} not found":
            self.denied.append(name)
        return ToolResult(_word(data, "toolCallId"), name, not failed, text[:SHOWN])


def _delta(event: dict[str, Any]) -> list[Event]:
    delta = _word(event, "delta")
    if not delta:
        return []
    match event.get("type"):
        case "text_delta":
            return [Text(delta)]
        case "thinking_delta":
            return [Thinking(delta)]
        case _:
            return []


def _table(data: dict[str, Any], name: str) -> dict[str, Any]:
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def _word(data: dict[str, Any], name: str) -> str:
    value = data.get(name)
    return encodable(value) if isinstance(value, str) else ""


def _number(data: dict[str, Any], name: str) -> int:
    return round(_amount(data, name))


def _amount(data: dict[str, Any], name: str) -> float:
    """A count or a sum of money; what can't be one is nothing."""
    value = data.get(name)
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < LARGEST
    return float(value) if fits and value is not None else 0.0


def _shown(arguments: object) -> str:
    if isinstance(arguments, dict) and isinstance(arguments.get("command"), str):
        return encodable(arguments["command"][:SHOWN])
    return encodable(json.dumps(arguments, ensure_ascii=False)[:SHOWN]) if arguments else ""


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0][:300]
