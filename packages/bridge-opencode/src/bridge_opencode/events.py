"""The events of opencode's server (1.x) as the common events of a turn, and what they say about it. Pure.

They show what goes on; how the turn ended is in the answer to the prompt alone: an event can be missing, doubled, or
of the turn before (opencode#38458).
"""

import json
from dataclasses import dataclass, field
from typing import Any, Self

from .fields import amount, number, table, word, words
from .vendor.turn import Event, Status, Text, Thinking, ToolCall, ToolResult

__all__ = ["Asked", "Reader", "Retry", "used"]

SHOWN = 2_000  # characters of a tool's arguments and result that are worth showing
# What opencode says of a tool that its rules refuse, and of one that a person did not allow.
REFUSED = ("specified a rule which prevents", "rejected permission", "unavailable tool")
# Parts that only a message of the assistant has.
ASSISTANT_S = ("step-start", "reasoning", "tool")


@dataclass(frozen=True, slots=True)
class Asked:
    """opencode waits for a permission. `always` are the patterns that it would remember itself."""

    id: str
    permission: str
    patterns: tuple[str, ...]
    always: tuple[str, ...]
    metadata: dict[str, Any]

    @classmethod
    def read(cls, data: dict[str, Any]) -> Self:
        """A permission request as the event has it, and the list of open ones."""
        patterns, always = tuple(words(data, "patterns")), tuple(words(data, "always"))
        return cls(word(data, "id"), word(data, "permission"), patterns, always, table(data, "metadata"))


@dataclass(frozen=True, slots=True)
class Retry:
    """The provider failed with `message`; try number `attempt` is at `next_ms` (epoch)."""

    attempt: int
    message: str
    next_ms: float


@dataclass(slots=True)
class Reader:
    """Reads the events of the one server of a turn. Unknown and unreadable ones are passed over.

    `said` is what the session's assistant last said in a whole text, `heard` that anything of the session came, `idle`
    that it has been idle. `asked` and `questions` (ids) are taken out by the caller. `messages` holds what each message
    of an assistant used: tokens in, tokens out, dollars.
    """

    session_id: str = ""
    said: str = ""
    denied: list[str] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    retry: Retry | None = None
    heard: bool = False
    idle: bool = False
    messages: dict[str, tuple[int, int, float]] = field(default_factory=dict)
    _kinds: dict[str, str] = field(default_factory=dict)
    _mine: set[str] = field(default_factory=set)
    _called: set[str] = field(default_factory=set)

    def feed(self, data: str) -> list[Event]:
        """The events of one ``data`` of the stream, in order; facts are kept on the reader."""
        try:
            payload = table(json.loads(data), "payload")
        except (ValueError, RecursionError):
            return []
        about = table(payload, "properties")
        match payload.get("type"):
            # A sub-agent's session waits like the turn's own (opencode#37902).
            case "permission.asked":
                self.asked.append(Asked.read(about))
            case "question.asked":
                self.questions.append(word(about, "id"))
                return [Status("opencode asked a question on a screen that is not there")]
            case "message.updated":
                self._message(table(about, "info"))
            case kind if word(about, "sessionID") == self.session_id:
                self.heard = True
                return self._of_session(kind, about)
        return []

    def _of_session(self, kind: object, about: dict[str, Any]) -> list[Event]:
        match kind:
            case "message.part.delta":
                return self._delta(about)
            case "message.part.updated":
                return self._part(table(about, "part"))
            case "session.status":
                return self._status(table(about, "status"))
            case "session.idle":
                self.idle = True
                return []
            case "session.compacted":
                return [Status("the conversation was shortened")]
            case _:
                return []

    def _message(self, info: dict[str, Any]) -> None:
        """Usage counts for every session of this server: sub-agents are paid for too."""
        if word(info, "role") != "assistant":
            return
        if word(info, "sessionID") == self.session_id:
            self._mine.add(word(info, "id"))
        self.messages[word(info, "id")] = used(info)

    def _delta(self, about: dict[str, Any]) -> list[Event]:
        delta = word(about, "delta")
        if word(about, "field") != "text" or not delta:
            return []
        match self._kinds.get(word(about, "partID")):
            case "text":
                return [Text(delta)]
            case "reasoning":
                return [Thinking(delta)]
            case _:
                return []

    def _part(self, part: dict[str, Any]) -> list[Event]:
        kind, message = word(part, "type"), word(part, "messageID")
        if kind in ASSISTANT_S:
            self._mine.add(message)
        if message not in self._mine:
            return []
        self._kinds[word(part, "id")] = kind
        if kind == "text" and "end" in table(part, "time") and word(part, "text").strip():
            self.said = word(part, "text")
        return self._tool(part) if kind == "tool" else []

    def _tool(self, part: dict[str, Any]) -> list[Event]:
        call_id, name, state = word(part, "callID"), word(part, "tool"), table(part, "state")
        status, arguments = word(state, "status"), table(state, "input")
        if name == "invalid":
            # The model called something that this tier does not offer.
            name = word(arguments, "tool") or name
        made: list[Event] = []
        if status != "pending" and call_id not in self._called:
            self._called.add(call_id)
            made.append(ToolCall(call_id, name, _shown(arguments)))
        if status not in ("completed", "error"):
            return made
        text = word(state, "error") if status == "error" else word(state, "output")
        unavailable = word(part, "tool") == "invalid" and "unavailable tool" in word(arguments, "error")
        if unavailable or (status == "error" and any(words in text for words in REFUSED)):
            self.denied.append(name)
        ok = status == "completed" and word(part, "tool") != "invalid"
        return [*made, ToolResult(call_id, name, ok, text[:SHOWN])]

    def _status(self, status: dict[str, Any]) -> list[Event]:
        if word(status, "type") != "retry":
            return []
        self.retry = Retry(number(status, "attempt"), word(status, "message"), amount(status, "next"))
        first = self.retry.message.strip().split("\n", 1)[0][:300]
        return [Status(f"the model failed, opencode tries again (try {self.retry.attempt}): {first}")]


def used(info: dict[str, Any]) -> tuple[int, int, float]:
    """What a message used: tokens in (cached ones too), tokens out, US dollars."""
    tokens = table(info, "tokens")
    cache = table(tokens, "cache")
    taken = number(tokens, "input") + number(cache, "read") + number(cache, "write")
    return taken, number(tokens, "output") + number(tokens, "reasoning"), amount(info, "cost")


def _shown(arguments: dict[str, Any]) -> str:
    command = word(arguments, "command")
    if command:
        return command[:SHOWN]
    return json.dumps(arguments, ensure_ascii=True)[:SHOWN] if arguments else ""
