"""One turn over pi's RPC: what to send when. Pure: lines in, events and lines to write out."""

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from .events import PROMPT, Reader
from .vendor.bounded import encodable
from .vendor.turn import Event, Started

__all__ = ["Conversation"]

STATE, ABORT = "state", "abort"


@dataclass(slots=True)
class Conversation:
    """The order of a turn: look at the session, prompt, wait until settled.

    `prompt` goes out only after pi answered for its session, so that a session that was expected and is empty is
    noticed (`messages_before`). `refused` holds pi's reason when it did not take the prompt: then no
    ``agent_settled`` comes, and waiting for one would never end.
    """

    prompt: str
    reader: Reader = field(default_factory=Reader)
    session_id: str | None = None
    messages_before: int = 0
    refused: str = ""
    phase: Literal["asking", "prompting", "running", "over"] = "asking"

    def opening(self) -> str:
        """The first line to write."""
        return _line({"id": STATE, "type": "get_state"})

    def abort(self) -> str:
        """The line that asks pi to stop what it does. A prompt that has not gone out by now never does."""
        if self.phase == "asking":
            self.phase = "over"
        return _line({"id": ABORT, "type": "abort"})

    def feed(self, line: str) -> tuple[list[Event], list[str]]:
        """Take one line of output; the events to show and the lines to write."""
        reader = self.reader
        events = reader.feed(line)
        lines = [_line({"type": "extension_ui_response", "id": id_, "cancelled": True}) for id_ in reader.dialogs]
        reader.dialogs.clear()
        state = reader.responses.pop(STATE, None)
        if state is not None and self.phase == "asking":
            self._session(state)
            self.phase = "prompting"
            lines.append(_line({"id": PROMPT, "type": "prompt", "message": encodable(self.prompt)}))
        answer = reader.responses.pop(PROMPT, None)
        if answer is not None and self.phase == "prompting":
            if answer.get("success") is True:
                self.phase = "running"
                events = [Started(self.session_id), *events]
            else:
                self.refused = str(answer.get("error") or "pi did not take the prompt")
                self.phase = "over"
        if reader.settled:
            self.phase = "over"
        return events, lines

    def _session(self, state: dict[str, Any]) -> None:
        data = state.get("data")
        if isinstance(data, dict):
            session, count = data.get("sessionId"), data.get("messageCount")
            self.session_id = session if isinstance(session, str) else None
            self.messages_before = count if isinstance(count, int) else 0


def _line(command: dict[str, Any]) -> str:
    """ASCII JSON on one line: no character of the mail can end it."""
    return json.dumps(command)
