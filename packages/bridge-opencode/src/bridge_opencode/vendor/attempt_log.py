"""What an attempt at a turn was seen to do, on disk while it runs, so that the next attempt can be told.

One file per turn, one line per step, bounded. It survives a kill of the bridge, not a power loss: a lost line costs a
hint in a prompt, nothing else.
"""

import contextlib
import os
from pathlib import Path

from .bounded import clip
from .plain_text import one_line
from .turn import Event, Started, Status, Text, Thinking, ToolCall, ToolResult

__all__ = ["AttemptLog", "attempts_begun", "forget", "prune", "read_earlier"]

BEGAN = "began attempt"
MOST_LINES = 200
LARGEST_FILE = 64 * 1024
MOST_TOLD = 40
MOST_FILES = 1000


class AttemptLog:
    """Writes the lines of one turn to the file `path`; a disk that refuses is ignored."""

    def __init__(self, path: Path):
        self._path = path
        self._lines = 0

    def begin(self, attempt: int) -> None:
        """Note that an attempt starts now."""
        self._write(f"{BEGAN} {attempt}")

    def note(self, event: Event) -> None:
        """Note a step of the agent: tools only, what was said is the agent's own session's business."""
        match event:
            case ToolCall(_, tool, arguments):
                self._write(f"called {one_line(tool, 60)} {one_line(arguments, 160)}".rstrip())
            case ToolResult(_, tool, ok, _):
                self._write(f"{one_line(tool, 60)} {'ended well' if ok else 'failed'}")
            case Started() | Text() | Thinking() | Status():
                pass

    def _write(self, line: str) -> None:
        if self._lines == MOST_LINES:
            return
        self._lines += 1
        with contextlib.suppress(OSError):
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "ab") as file:
                if file.tell() < LARGEST_FILE:
                    file.write(line.encode() + b"\n")


def read_earlier(path: Path) -> tuple[str, ...]:
    """What earlier attempts were seen to do, oldest first, at most `MOST_TOLD` lines; empty when there was none."""
    try:
        with path.open("rb") as file:
            lines = clip(file.read(LARGEST_FILE).decode("utf-8", "replace"), LARGEST_FILE).splitlines()
    except OSError:
        return ()
    if len(lines) <= MOST_TOLD:
        return tuple(lines)
    return (lines[0], f"({len(lines) - MOST_TOLD} steps are not listed)", *lines[-(MOST_TOLD - 2) :])


def attempts_begun(path: Path) -> int:
    """How many attempts began, as far as noted; many when the file is full, so that nothing goes on for ever."""
    try:
        data = path.read_bytes()
    except OSError:
        return 0
    if len(data) >= LARGEST_FILE:
        return MOST_LINES
    return sum(1 for line in data.splitlines() if line.startswith(BEGAN.encode()))


def forget(path: Path) -> None:
    """Remove the file of a turn that is over."""
    with contextlib.suppress(OSError):
        path.unlink()


def prune(folder: Path) -> None:
    """Keep the newest `MOST_FILES` files: turns that another bridge finished are never heard of again here."""
    with contextlib.suppress(OSError):
        files = sorted(folder.iterdir(), key=lambda file: file.lstat().st_mtime)
        for file in files[:-MOST_FILES]:
            forget(file)
