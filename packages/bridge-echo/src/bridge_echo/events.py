"""The echo agent's lines as the common events of a turn, and what its turn came to. Pure."""

import json
from collections.abc import Mapping
from typing import get_args

from .vendor.plain_text import one_line
from .vendor.turn import Event, Outcome, Started, Status, Text, ToolCall, ToolResult
from .vendor.wire import Failure, FailureClass

__all__ = ["Reader"]

CLASSES: Mapping[str, FailureClass] = {name: name for name in get_args(FailureClass)}


class Reader:
    """Reads one turn's output line by line, and leaves out what it does not know: other events, lines without JSON."""

    def __init__(self, asked_session: str | None):
        self._asked_session = asked_session
        self._session: str | None = None
        self._resumed = False
        self._final: str | None = None
        self._said: list[str] = []
        self._denied: tuple[str, ...] = ()
        self._failure: Failure | None = None
        self._wait_until: str | None = None

    def line(self, text: str) -> Event | None:
        """One line of standard output; the event to show, if it is one."""
        try:
            event = json.loads(text)
        except ValueError:
            return None
        if not isinstance(event, dict):
            return None
        match event:
            case {"type": "started", "session": str(session)}:
                self._session, self._resumed = session, event.get("resumed") is True
                return Started(session)
            case {"type": "text", "text": str(said)}:
                self._said.append(said)
                return Text(said)
            case {"type": "status", "text": str(said)}:
                return Status(said)
            case {"type": "tool", "id": str(call), "tool": str(tool), "arguments": str(arguments)}:
                return ToolCall(call, tool, arguments)
            case {"type": "tool_end", "id": str(call), "tool": str(tool), "ok": bool(ok), "text": str(said)}:
                return ToolResult(call, tool, ok, said)
            case {"type": "final", "text": str(said)}:
                denied = event.get("denied")
                self._final = said
                self._denied = tuple(str(tool) for tool in denied) if isinstance(denied, list) else ()
                return Text(said)
            case {"type": "error", "message": str(message)}:
                class_ = CLASSES.get(str(event.get("failure")), "agent_error")
                self._failure = Failure(class_, message, "Send the mail again without the line that asked for it.")
                until = event.get("wait_until")
                self._wait_until = until if isinstance(until, str) else None
                return None
            case _:
                return None

    def outcome(self, returncode: int, stderr: str) -> Outcome:
        """What the turn came to, from its end: exit status (negative: the signal) and the tail of standard error.

        It ended well when it exited with 0 and had a last word; a status alone proves nothing.
        """
        lost = self._asked_session is not None and self._session is not None and not self._resumed
        failure, text = self._failure, "".join(self._said)
        if failure is None and (returncode != 0 or self._final is None):
            how = f"by signal {-returncode}" if returncode < 0 else f"with status {returncode}"
            last = one_line(stderr[-500:], 300)
            words = f" Its last words: {last}" if last else ""
            failure = Failure(
                "crashed", f"The echo agent ended {how} before it was done.{words}", "Send the mail again."
            )
        elif failure is None and self._final is not None:
            text = self._final
        return Outcome(
            text=text,
            failure=failure,
            native_session_id=self._session,
            context_lost=lost,
            wait_until=self._wait_until,
            denied_tools=self._denied,
        )
