"""What a supervised process prints: kept in a bounded file, its important lines shown."""

import os
import re
from collections import deque
from collections.abc import Callable
from pathlib import Path

from ..errors import LocalError
from ..home import make_private

__all__ = ["ChildLog", "LineSplitter", "Throttle", "is_important"]

_IMPORTANT = re.compile(r"""(?:^|[\s\["'=:])(?:WARNING|ERROR|CRITICAL|warning|error|critical)(?:$|[\s\]"',:])""")


def is_important(line: str) -> bool:
    """Whether a person at the terminal should see this log line: its level is a warning or worse."""
    return _IMPORTANT.search(line[:80]) is not None


class LineSplitter:
    """Splits bytes into lines of text; a line longer than `limit` bytes comes in pieces.

    What is not UTF-8 is replaced.
    """

    def __init__(self, limit: int = 8192) -> None:
        self._limit = limit
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        """The lines that `data` completes."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > self._limit:
            whole.append(self._rest)
            self._rest = b""
        return [line.rstrip(b"\r").decode("utf-8", "replace")[: self._limit] for line in whole]

    def flush(self) -> list[str]:
        """The unfinished last line, if any."""
        rest, self._rest = self._rest, b""
        return [rest.decode("utf-8", "replace")] if rest else []


class ChildLog:
    """An append-only log file of mode 0600, at most `limit` bytes; the one before is kept as ``.1``.

    Raises `LocalError` when the file can't be opened. A disk that fills up later loses log lines, not the process.
    """

    def __init__(self, path: Path, limit: int = 1024 * 1024) -> None:
        self._path = path
        self._limit = limit
        make_private(path.parent)
        try:
            self._file = self._open()
        except OSError as error:
            raise LocalError(f"can't write the log {path}: {error.strerror or error}") from error

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, data: bytes) -> None:
        """Append `data`; start a new file first when the old one is full."""
        try:
            if os.fstat(self._file).st_size + len(data) > self._limit:
                self._path.replace(self._path.with_name(self._path.name + ".1"))
                fresh = self._open()
                os.close(self._file)
                self._file = fresh
            os.write(self._file, data)
        except OSError:
            return

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


class Throttle:
    """At most `count` lines in `per_s` seconds; `clock` counts seconds."""

    def __init__(self, clock: Callable[[], float], count: int = 5, per_s: float = 10.0) -> None:
        self._clock = clock
        self._per_s = per_s
        self._recent: deque[float] = deque(maxlen=count)

    def take(self) -> bool:
        """Whether one more line may be shown now."""
        now = self._clock()
        if len(self._recent) == self._recent.maxlen and now - self._recent[0] < self._per_s:
            return False
        self._recent.append(now)
        return True
