"""The ends of a child's pipes on the event loop: a reader that can't flood memory, a writer that can't block."""

import asyncio
import os
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import IO

from .bounded import TailBuffer
from .line_splitter import Line, LineSplitter

__all__ = ["LinePipe", "PipeWriter", "TailPipe"]

CHUNK = 256 * 1024
HIGH_WATER = 4 * 1024 * 1024
LAST_DRAIN = 1024 * 1024
LINE_OVERHEAD = 200


class _PipeReader:
    """Reads an unbuffered pipe whenever it has something; `closed` once it ended or was ended."""

    def __init__(self, pipe: IO[bytes], consume: Callable[[bytes], None], ended: Callable[[], None]):
        self._pipe = pipe
        self._fd = pipe.fileno()
        os.set_blocking(self._fd, False)
        self._consume = consume
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._reading = False
        self.closed = False
        self.resume()

    def pause(self) -> None:
        if self._reading:
            self._loop.remove_reader(self._fd)
            self._reading = False

    def resume(self) -> None:
        if not self._reading and not self.closed:
            self._loop.add_reader(self._fd, self._readable)
            self._reading = True

    def close(self) -> None:
        """Take what is in the pipe now, at most 1 MiB, and close it, whoever else still holds it."""
        left = LAST_DRAIN
        while not self.closed and left > 0:
            got = self._read()
            if not got:
                break
            left -= got
        self._end()

    def _readable(self) -> None:
        self._read()

    def _read(self) -> int:
        try:
            chunk = os.read(self._fd, CHUNK)
        except BlockingIOError:
            return 0
        except OSError:
            chunk = b""
        if chunk:
            self._consume(chunk)
        else:
            self._end()
        return len(chunk)

    def _end(self) -> None:
        if not self.closed:
            self.pause()
            self.closed = True
            self._pipe.close()
            self._ended()


class LinePipe:
    """A pipe as lines. Reading stops while more than 4 MiB wait to be taken, so that memory stays bounded."""

    def __init__(self, pipe: IO[bytes], limit: int):
        self._splitter = LineSplitter(limit)
        self._lines: deque[Line] = deque()
        self._waiting = 0
        self._changed = asyncio.Event()
        self._reader = _PipeReader(pipe, self._feed, self._end)

    @property
    def ended(self) -> bool:
        """Whether nothing more will come from the pipe; lines may still wait."""
        return self._reader.closed

    def close(self) -> None:
        """Take what is in the pipe and end it."""
        self._reader.close()

    async def lines(self) -> AsyncGenerator[Line, None]:
        """The lines, until the pipe ends. May be left and taken up again; no line is lost."""
        while True:
            while self._lines:
                line = self._lines.popleft()
                self._waiting -= len(line.text) + LINE_OVERHEAD
                if self._waiting < HIGH_WATER:
                    self._reader.resume()
                yield line
            if self.ended:
                return
            self._changed.clear()
            await self._changed.wait()

    def _feed(self, chunk: bytes) -> None:
        self._add(self._splitter.feed(chunk))

    def _end(self) -> None:
        self._add(self._splitter.end())
        self._changed.set()

    def _add(self, lines: list[Line]) -> None:
        if lines:
            self._lines.extend(lines)
            self._waiting += sum(len(line.text) + LINE_OVERHEAD for line in lines)
            if self._waiting >= HIGH_WATER:
                self._reader.pause()
            self._changed.set()


class TailPipe:
    """A pipe that is always drained; its last `limit` bytes are kept."""

    def __init__(self, pipe: IO[bytes], limit: int):
        self._tail = TailBuffer(limit)
        self._reader = _PipeReader(pipe, self._tail.feed, lambda: None)

    def close(self) -> None:
        """Take what is in the pipe and end it."""
        self._reader.close()

    def text(self) -> str:
        """What is kept; if that is not all, after a line that says how much is missing."""
        return self._tail.text()


class PipeWriter:
    """Writes to an unbuffered pipe as the other side takes it; that it is gone shows only when `write` is awaited."""

    def __init__(self, pipe: IO[bytes]):
        self._pipe = pipe
        self._fd = pipe.fileno()
        os.set_blocking(self._fd, False)
        self._loop = asyncio.get_running_loop()
        self._buffer: memoryview[int] = memoryview(b"")
        self._pending: deque[bytes] = deque()
        self._last = False
        self._writing = False
        self._changed = asyncio.Event()
        self.closed = False

    def put(self, data: bytes, *, last: bool = False) -> None:
        """Queue `data`; after the `last` the pipe is closed."""
        if self.closed:
            return
        self._pending.append(data)
        self._last = self._last or last
        self._flush()

    async def write(self, data: bytes) -> None:
        """Return when `data` is in the pipe. Raises BrokenPipeError when the other side is gone."""
        self.put(data)
        while not self.closed and (self._buffer or self._pending):
            self._changed.clear()
            await self._changed.wait()
        if self.closed:
            raise BrokenPipeError("the program closed its input")

    def close(self) -> None:
        """Close at once; what was not taken yet is dropped."""
        if not self.closed:
            self.closed = True
            if self._writing:
                self._loop.remove_writer(self._fd)
            self._pipe.close()
            self._changed.set()

    def _flush(self) -> None:
        try:
            while self._buffer or self._pending:
                if not self._buffer:
                    self._buffer = memoryview(self._pending.popleft())
                    continue
                self._buffer = self._buffer[os.write(self._fd, self._buffer) :]
        except BlockingIOError:
            if not self._writing:
                self._loop.add_writer(self._fd, self._flush)
                self._writing = True
            return
        except OSError:
            self.close()
            return
        if self._writing:
            self._loop.remove_writer(self._fd)
            self._writing = False
        self._changed.set()
        if self._last:
            self.close()
