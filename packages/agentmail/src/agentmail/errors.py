"""The errors of the command line, each with its exit code, its cause in one line and the next step.

Exit codes are part of the interface: scripts rely on them, so a number never changes its meaning.
"""

from enum import IntEnum

__all__ = [
    "CliError",
    "Exit",
    "LocalError",
    "NotFinishedError",
    "RefusedError",
    "StoppedError",
    "UnreachableError",
    "UsageError",
    "exit_codes",
]


class Exit(IntEnum):
    """What the process's exit status tells a script."""

    OK = 0
    TURN_FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    REFUSED = 4
    TIMED_OUT = 5
    LOCAL = 6
    INTERNAL = 70
    INTERRUPTED = 130
    OUTPUT_CLOSED = 141


_MEANING: dict[Exit, str] = {
    Exit.OK: "done; with --wait: every turn ended well",
    Exit.TURN_FAILED: "a turn ended without an answer: failed, cancelled or a dead letter",
    Exit.USAGE: "the command line was not understood",
    Exit.UNREACHABLE: "no gateway answers",
    Exit.REFUSED: "the gateway refused: unknown recipient, not found, no permission, a limit",
    Exit.TIMED_OUT: "the time given to --wait is over; the turn goes on",
    Exit.LOCAL: "something on this machine: a file, the data folder, a port that is taken",
    Exit.INTERNAL: "a fault of this program",
    Exit.INTERRUPTED: "stopped by Ctrl-C",
    Exit.OUTPUT_CLOSED: "the reader of the output went away",
}


def exit_codes() -> tuple[tuple[int, str], ...]:
    """Every exit code with its meaning, ascending."""
    return tuple((int(code), _MEANING[code]) for code in sorted(Exit))


class CliError(Exception):
    """Base of what a command reports: `message` names the cause, `next_step` what to do. Both are one line.

    `code` is stable and goes into ``--json``'s problem.
    """

    exit = Exit.INTERNAL
    code = "internal"

    def __init__(
        self, message: str, next_step: str = "", *, code: str | None = None, status: int | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step
        self.status = status
        if code is not None:
            self.code = code

    def line(self) -> str:
        """Cause and next step as one line."""
        text = f"{self.message.rstrip('.')}. {self.next_step}" if self.next_step else self.message
        return " ".join(text.split())


class UsageError(CliError):
    """The command line can't be carried out as written."""

    exit = Exit.USAGE
    code = "usage"


class UnreachableError(CliError):
    """No gateway answers."""

    exit = Exit.UNREACHABLE
    code = "unreachable"


class RefusedError(CliError):
    """The gateway answered with a problem; `code` and `status` are the problem's."""

    exit = Exit.REFUSED
    code = "refused"


class NotFinishedError(CliError):
    """The time limit of a wait is over."""

    exit = Exit.TIMED_OUT
    code = "timed_out"


class LocalError(CliError):
    """Something on this machine is in the way."""

    exit = Exit.LOCAL
    code = "local"


class StoppedError(CliError):
    """The person stopped it; what goes on all the same is in the message."""

    exit = Exit.INTERRUPTED
    code = "interrupted"
