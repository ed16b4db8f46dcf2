"""What a running turn shows while it runs: events gathered, bounded, and sent in batches, never in the agent's way."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Literal, assert_never

from .bounded import clip
from .plain_text import printable
from .turn import Event, Started, Status, Text, Thinking, ToolCall, ToolResult
from .wire import ProgressEvent

__all__ = ["ProgressFeed"]

LARGEST_TEXT = 8 * 1024
LARGEST_BATCH = 64 * 1024
SMALLEST = 64
SpokenKind = Literal["text", "thinking"]
Send = Callable[[tuple[ProgressEvent, ...]], Awaitable[None]]


class ProgressFeed:
    """Takes a turn's events by `emit` and sends them by `send`, at most one batch per `every_s`.

    Pieces of text that follow each other become one. When more waits than `LARGEST_BATCH` bytes, the oldest is left
    out and counted. `at` gives the time as RFC 3339. `send` must not raise: what is
    shown meanwhile is worth no turn.
    """

    def __init__(self, send: Send, *, every_s: float, at: Callable[[], str]):
        self._send = send
        self._every_s = every_s
        self._at = at
        self._waiting: deque[ProgressEvent] = deque()
        self._bytes = 0
        self._left_out = 0
        self._next_seq = 1
        self._kind: SpokenKind | None = None
        self._pieces: list[str] = []
        self._open_bytes = 0
        self._opened_at = ""
        self._some = asyncio.Event()

    def emit(self, event: Event) -> None:
        """Take one event in. Never waits, never raises."""
        match event:
            case Started():
                return
            case Text(text):
                self._add("text", text)
            case Thinking(text):
                self._add("thinking", text)
            case ToolCall(call_id, tool, arguments):
                self._put(ProgressEvent(0, self._at(), "tool_call", _shown(arguments), tool, call_id))
            case ToolResult(call_id, tool, ok, text):
                self._put(ProgressEvent(0, self._at(), "tool_result", _shown(text), tool, call_id, ok))
            case Status(text):
                self._put(ProgressEvent(0, self._at(), "status", _shown(text)))
            case _:
                assert_never(event)

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            await self._some.wait()
            await self._flush()
            await asyncio.sleep(self._every_s)

    async def finish(self) -> None:
        """Send what still waits, once."""
        if self._some.is_set():
            await self._flush()

    def _add(self, kind: SpokenKind, text: str) -> None:
        text = printable(text)
        while text:
            if self._kind != kind or self._open_bytes > LARGEST_TEXT - SMALLEST:
                self._close()
                self._kind, self._opened_at = kind, self._at()
            piece, text = _split(text, LARGEST_TEXT - self._open_bytes)
            self._pieces.append(piece)
            self._open_bytes += len(piece.encode())
        self._some.set()

    def _close(self) -> None:
        """Make what was said since the last event an event."""
        if self._kind is not None:
            said, self._pieces, self._open_bytes = "".join(self._pieces), [], 0
            kind, self._kind = self._kind, None
            self._keep(ProgressEvent(0, self._opened_at, kind, said))

    def _put(self, event: ProgressEvent) -> None:
        self._close()
        self._keep(event)
        self._some.set()

    def _keep(self, event: ProgressEvent) -> None:
        self._waiting.append(event)
        self._bytes += _size(event)
        while self._bytes > LARGEST_BATCH and len(self._waiting) > 1:
            self._bytes -= _size(self._waiting.popleft())
            self._left_out += 1

    async def _flush(self) -> None:
        self._close()
        events, self._waiting, self._bytes = list(self._waiting), deque(), 0
        self._some.clear()
        if self._left_out:
            told = f"{self._left_out} earlier steps are not shown: they came faster than they could be sent"
            events.insert(0, ProgressEvent(0, self._at(), "status", told))
            self._left_out = 0
        numbered = []
        for event in events:
            numbered.append(
                ProgressEvent(self._next_seq, event.at, event.type, event.text, event.tool, event.call_id, event.ok)
            )
            self._next_seq += 1
        await self._send(tuple(numbered))


def _shown(text: str) -> str:
    return clip(printable(text), LARGEST_TEXT, "middle")


def _split(text: str, max_bytes: int) -> tuple[str, str]:
    """`text` cut in two; the first part has at most `max_bytes` (>= 4) bytes and is not empty."""
    data = text.encode()
    if len(data) <= max_bytes:
        return text, ""
    head = data[:max_bytes].decode("utf-8", "ignore")
    return head, text[len(head) :]


def _size(event: ProgressEvent) -> int:
    return len(event.text.encode()) + len(event.tool or "") + 100
