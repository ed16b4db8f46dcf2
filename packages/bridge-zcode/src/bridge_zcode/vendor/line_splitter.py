"""Lines from bytes, of any length up to a cap, without any I/O."""

import codecs
from dataclasses import dataclass

__all__ = ["LINE_LIMIT", "Line", "LineSplitter"]

LINE_LIMIT = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end; `clipped` when it was longer than the cap and only its beginning is here."""

    text: str
    clipped: bool = False


class LineSplitter:
    """Feed it bytes in pieces of any size; lines end at LF or CRLF only, so that JSON text stays whole.

    `limit` is the cap in bytes: what is beyond it up to the line's end is dropped and the line flagged, never an error
    (hermes-agent#31417: a reader that gave up at 64 KiB). Bytes that are no UTF-8 become U+FFFD.
    """

    def __init__(self, limit: int = LINE_LIMIT):
        self._limit = limit
        self._kept = bytearray()
        self._clipped = False

    def feed(self, chunk: bytes) -> list[Line]:
        """The lines that `chunk` completes."""
        lines: list[Line] = []
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            self._keep(chunk[start:end])
            lines.append(self._take())
            start = end + 1
        self._keep(chunk[start:])
        return lines

    def end(self) -> list[Line]:
        """The last line, if it had no end. The splitter can be fed again afterwards."""
        return [self._take()] if self._kept or self._clipped else []

    def _keep(self, piece: bytes) -> None:
        # One byte more than the cap, in case that it is the CR of a line's end.
        room = self._limit + 1 - len(self._kept)
        self._kept += piece[:room]
        self._clipped = self._clipped or len(piece) > room

    def _take(self) -> Line:
        if not self._clipped and self._kept.endswith(b"\r"):
            del self._kept[-1]
        clipped = self._clipped or len(self._kept) > self._limit
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(bytes(self._kept[: self._limit]), final=not clipped)
        self._kept.clear()
        self._clipped = False
        return Line(text, clipped)
