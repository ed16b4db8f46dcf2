"""What a person sees on the terminal while a turn runs."""

import time
from collections.abc import Callable, Sequence
from typing import TextIO

from .show import outcome_line, state_style
from .terminal import Screen, clip, safe
from .times import elapsed
from .vendor.wire import FINAL_STATES, ProgressEvent, Turn

__all__ = ["Quiet", "TerminalProgress", "progress_line"]


def progress_line(event: ProgressEvent) -> str | None:
    """A step worth a line of its own: a tool with its arguments, a tool that failed, a status. None for the rest."""
    match event.type:
        case "tool_call":
            return f"› {safe(event.tool or 'tool')} {safe(event.text)}".rstrip()
        case "tool_result":
            return None if event.ok else f"✗ {safe(event.tool or 'tool')} {safe(event.text)}".rstrip()
        case "status":
            return f"· {safe(event.text)}" if event.text.strip() else None
        case "text" | "thinking":
            return None


class Quiet:
    """Shows nothing: the output goes to a file or another program."""

    def state(self, turn: Turn) -> None:
        """Nothing."""

    def progress(self, turn: Turn, events: Sequence[ProgressEvent]) -> None:
        """Nothing."""

    def tick(self) -> None:
        """Nothing."""

    def trouble(self, why: str) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class TerminalProgress:
    """State changes and steps as lines on `stream`, and below them one line that moves: who is busy, since when.

    `clock` counts seconds. Call `close` before anything else is written to the terminal.
    """

    def __init__(self, stream: TextIO, screen: Screen, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._screen = screen
        self._clock = clock
        self._since: dict[str, float] = {}
        self._open: dict[str, Turn] = {}
        self._said: dict[str, str] = {}
        self._moving = False
        self._troubled = ""

    def state(self, turn: Turn) -> None:
        """A line for a state that tells something new; the end of a turn with its cause."""
        self._troubled = ""
        if turn.state in FINAL_STATES:
            self._open.pop(turn.id, None)
            self._line(outcome_line(turn, self._screen))
            return
        before = self._open.get(turn.id)
        self._open[turn.id] = turn
        if turn.state == "running":
            self._since[turn.id] = self._clock()
        if turn.state == "queued" and before is None:
            self._move()
            return
        note = ""
        if turn.attempt > 1 and turn.state == "leased":
            note = f" (attempt {turn.attempt})"
        elif turn.state == "queued" and turn.reason:
            note = f": {safe(turn.reason)}"
        self._line(f"{safe(turn.agent)}: {self._screen.paint(turn.state, state_style(turn.state))}{note}")

    def progress(self, turn: Turn, events: Sequence[ProgressEvent]) -> None:
        """Steps of the agent."""
        for event in events:
            if (line := progress_line(event)) is not None:
                self._said.pop(turn.id, None)
                self._line(clip(f"{safe(turn.agent)} {line}", self._screen.columns))
            elif event.type == "text":
                self._said[turn.id] = (self._said.get(turn.id, "") + event.text)[-400:]
        self._move()

    def tick(self) -> None:
        """Bring the moving line up to date."""
        self._move()

    def trouble(self, why: str) -> None:
        """Say once that the gateway is away."""
        if why != self._troubled:
            self._troubled = why
            self._line(self._screen.paint(f"waiting: {safe(why)}", "yellow"))

    def close(self) -> None:
        """Take the moving line away."""
        if self._moving:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()
            self._moving = False

    def _line(self, text: str) -> None:
        self.close()
        self._stream.write(text + "\n")
        self._stream.flush()
        self._move()

    def _move(self) -> None:
        if not self._screen.live or not self._open:
            return
        parts = []
        for turn in self._open.values():
            part = f"{safe(turn.agent)} {turn.state}"
            if turn.id in self._since:
                part += f" {elapsed(self._clock() - self._since[turn.id])}"
            if said := safe(self._said.get(turn.id, "")):
                part += f": …{said[-80:]}" if len(said) > 80 else f": {said}"
            parts.append(part)
        text = clip(" · ".join(parts), max(1, self._screen.columns - 1))
        self._stream.write("\r\x1b[2K" + self._screen.paint(text, "dim"))
        self._stream.flush()
        self._moving = True
