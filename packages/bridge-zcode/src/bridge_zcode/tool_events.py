"""What ZCode's tools did in a turn: calls, results, denials. Pure; a part of the event reader.

A tool is known by name from ``tool.updated`` of kind `scheduled` or from the model's own ``tool_call``; later events
carry its id only. A denial shows as ``permission.resolved`` or as a tool error with the words of the broker, and the
run still exits 0: it must be told to the person.
"""

import re

from .fields import Json, mapping, printable_json, string
from .vendor.bounded import BoundedDict, clip
from .vendor.turn import Event, ToolCall, ToolResult

__all__ = ["ToolEvents"]

_ARGUMENT_BYTES = 400
_RESULT_BYTES = 800
_MOST_CALLS = 4_096
_NO_CLIENT = re.compile(r"No permission client configured for (\S+)")
_PLAN_REFUSAL = "Plan mode only allows read-only, non-destructive tools"


class ToolEvents:
    """Takes payloads of all sessions. `denied` and `ran` hold each name once, in order of appearance."""

    def __init__(self) -> None:
        self._names: BoundedDict[str, str] = BoundedDict(_MOST_CALLS)
        self._told: BoundedDict[str, None] = BoundedDict(_MOST_CALLS)
        self._ended: BoundedDict[str, None] = BoundedDict(_MOST_CALLS)
        self._denied: dict[str, None] = {}
        self._ran: dict[str, None] = {}
        self._looked_at = 0

    @property
    def denied(self) -> tuple[str, ...]:
        """Tools whose call was refused."""
        return tuple(self._denied)

    @property
    def ran(self) -> tuple[str, ...]:
        """Tools that were really started, by name; what was only scheduled and then refused is not among them."""
        return tuple(self._ran)

    def newly_ran(self) -> tuple[str, ...]:
        """Of `ran`, those that were not given here before."""
        fresh = tuple(self._ran)[self._looked_at :] if len(self._ran) > self._looked_at else ()
        self._looked_at += len(fresh)
        return fresh

    def take(self, kind: str, payload: Json) -> list[Event]:
        """The events of one line; other lines give none."""
        match kind:
            case "tool.updated":
                return self._updated(payload)
            case "model.streaming" if payload.get("kind") == "tool_call":
                return self._called(payload)
            case "permission.resolved" if payload.get("decision") == "deny":
                self._deny(self._name(payload), string(payload.get("reason")))
        return []

    def _updated(self, payload: Json) -> list[Event]:
        match payload.get("kind"):
            case "scheduled":
                return self._called(payload)
            case "started" | "progress":
                events = self._called(payload) if payload.get("toolName") else []
                self._run(payload)
                return events
            case "result":
                return self._result(payload)
            case "error":
                return self._error(payload)
            case _:
                return []

    def _called(self, payload: Json) -> list[Event]:
        call, name = string(payload.get("toolCallId")), string(payload.get("toolName"))
        if not call or not name:
            return []
        self._names[call] = name
        if call in self._told:
            return []
        self._told[call] = None
        return [ToolCall(call, name, _short(payload.get("input"), _ARGUMENT_BYTES))]

    def _result(self, payload: Json) -> list[Event]:
        fields = mapping(payload.get("result"))
        ok = fields.get("success") is not False
        if ok:
            self._run(payload)
        return self._end(payload, ok, _short(fields.get("content"), _RESULT_BYTES))

    def _error(self, payload: Json) -> list[Event]:
        error = payload.get("error")
        message = string(mapping(error).get("message")) or string(error)
        if _NO_CLIENT.search(message) or _PLAN_REFUSAL in message:
            self._deny(self._name(payload), message)
        return self._end(payload, False, clip(message, _RESULT_BYTES))

    def _end(self, payload: Json, ok: bool, text: str) -> list[Event]:
        # A sub-agent's tool is told under its own session and mirrored under the parent's: once is enough.
        call = string(payload.get("toolCallId"))
        if call in self._ended:
            return []
        self._ended[call] = None
        return [ToolResult(call, self._name(payload), ok, text)]

    def _run(self, payload: Json) -> None:
        name = self._name(payload)
        if name and len(self._ran) < _MOST_CALLS:
            self._ran[name] = None

    def _deny(self, name: str, reason: str) -> None:
        named = _NO_CLIENT.search(reason)
        tool = named.group(1) if named else name
        if tool and len(self._denied) < _MOST_CALLS:
            self._denied[clip(tool, 200)] = None

    def _name(self, payload: Json) -> str:
        return string(payload.get("toolName")) or self._names.get(string(payload.get("toolCallId")), "")


def _short(value: object, limit: int) -> str:
    return clip(printable_json(value), limit)
