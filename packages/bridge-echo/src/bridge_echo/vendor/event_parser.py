"""Server-sent events from bytes (WHATWG HTML, 9.2.6), without any I/O.

However the bytes are cut into pieces, the events are the same. What differs from a browser: lines and events are
bounded, and the id of an event counts only once its blank line came, so that a resume never skips half an event.
"""

import re
from dataclasses import dataclass

__all__ = ["EVENT_LIMIT", "EventParser", "EventTooLargeError", "ServerEvent"]

EVENT_LIMIT = 8 * 1024 * 1024
BOM = b"\xef\xbb\xbf"
LINE_END = re.compile(rb"[\r\n]")
RETRY_DIGITS = 9


class EventTooLargeError(ValueError):
    """A line, or the data of one event, is larger than the limit. The parser can't be used afterwards.

    `events` are those that were complete before it in the same piece.
    """

    def __init__(self, limit: int, events: list["ServerEvent"]):
        super().__init__(f"an event of the stream is larger than {limit} bytes")
        self.events = events


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: `id` is the last id seen so far (None: none yet), `retry` in ms if the event itself set it."""

    id: str | None
    event: str
    data: str
    retry: int | None = None


class EventParser:
    """Feed it the body of an event stream in pieces of any size.

    `limit` bounds a line and the data of an event, in bytes. `last_event_id` is what to resume after, `retry_ms` the
    reconnection time that the server asked for last, or None; both may carry over from an earlier connection.
    """

    def __init__(self, last_event_id: str | None = None, *, retry_ms: int | None = None, limit: int = EVENT_LIMIT):
        self.last_event_id = last_event_id or None
        self.retry_ms = retry_ms
        self._limit = limit
        self._buffer = bytearray()
        self._scanned = 0
        self._at_start = True
        self._after_cr = False
        self._id = self.last_event_id
        self._event = ""
        self._data: list[str] = []
        self._size = 0
        self._retry: int | None = None

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events that `chunk` completes. Raises EventTooLargeError."""
        self._buffer += chunk
        if self._at_start and not self._skip_bom():
            return []
        events: list[ServerEvent] = []
        start = 0
        while True:
            if self._after_cr and start < len(self._buffer):
                self._after_cr = False
                if self._buffer[start] == 0x0A:
                    start += 1
                    self._scanned = max(self._scanned, start)
            end = LINE_END.search(self._buffer, self._scanned)
            if end is None:
                break
            line = bytes(self._buffer[start : end.start()])
            self._after_cr = end[0] == b"\r"
            start = self._scanned = end.end()
            self._bound(len(line), events)
            self._line(line, events)
        del self._buffer[:start]
        self._scanned = len(self._buffer)
        self._bound(self._scanned, events)
        return events

    def _skip_bom(self) -> bool:
        """Drop a byte order mark at the very start; whether enough came to know."""
        if len(self._buffer) < len(BOM) and BOM.startswith(self._buffer):
            return False
        if self._buffer.startswith(BOM):
            del self._buffer[: len(BOM)]
        self._at_start = False
        return True

    def _bound(self, size: int, events: list[ServerEvent]) -> None:
        if size > self._limit:
            raise EventTooLargeError(self._limit, events)

    def _line(self, line: bytes, events: list[ServerEvent]) -> None:
        if not line:
            self._dispatch(events)
            return
        name, _, raw = line.partition(b":")
        value = raw.removeprefix(b" ")
        match name:
            case b"data":
                self._size += len(value) + 1
                self._bound(self._size - 1, events)
                self._data.append(value.decode("utf-8", "replace"))
            case b"event":
                self._event = value.decode("utf-8", "replace")
            case b"id":
                if b"\0" not in value:
                    self._id = value.decode("utf-8", "replace") or None
            case b"retry":
                if value.isdigit():
                    self._retry = self.retry_ms = int(value[:RETRY_DIGITS])
            case _:
                pass  # a comment (its name is empty) or a field that is not known

    def _dispatch(self, events: list[ServerEvent]) -> None:
        self.last_event_id = self._id
        if self._data:
            data = "\n".join(self._data)
            events.append(ServerEvent(self._id, self._event or "message", data, self._retry))
        self._event, self._data, self._size, self._retry = "", [], 0, None
