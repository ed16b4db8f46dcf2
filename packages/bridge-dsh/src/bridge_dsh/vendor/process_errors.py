"""Why a program could not be started, in words that name the cause and the next step."""

import errno
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, assert_never

from .wire import Failure, FailureClass

__all__ = ["ProcessError", "StartProblem", "why_not_started"]

StartProblem = Literal[
    "not_found", "not_executable", "bad_interpreter", "cwd_missing", "too_long", "bad_argument", "resources"
]
EXHAUSTED = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC})


class ProcessError(Exception):
    """A program could not be started. `kind` says what is wrong, `message` in words, `next_step` what to do."""

    def __init__(self, kind: StartProblem, message: str, next_step: str):
        super().__init__(f"{message}: {next_step}")
        self.kind = kind
        self.message = message
        self.next_step = next_step

    @property
    def failure(self) -> Failure:
        """The same as a turn's failure."""
        return Failure(_failure_class(self.kind), self.message, self.next_step)


def _failure_class(kind: StartProblem) -> FailureClass:
    match kind:
        case "not_found" | "not_executable" | "bad_interpreter":
            return "cli_missing"
        case "cwd_missing":
            return "workspace_gone"
        case "too_long":
            return "context_too_long"
        case "bad_argument" | "resources":
            return "bridge_error"
        case _:
            assert_never(kind)


def why_not_started(error: OSError, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> ProcessError:
    """What `error`, raised when `argv` was started in `cwd` with `env`, means. Looks at the file system."""
    program = argv[0]
    if error.errno == errno.E2BIG:
        return _too_long(argv, env)
    if error.errno in EXHAUSTED:
        reason = os.strerror(error.errno or 0)
        return ProcessError("resources", f"{program} could not be started: {reason}", "free memory, processes or files")
    if not cwd.is_dir() or error.filename == str(cwd) != program:
        return ProcessError("cwd_missing", f"the directory {cwd} is missing or closed to this user", "restore it")
    found = program if "/" in program else shutil.which(program, path=env.get("PATH"))
    file = None if found is None else cwd / found
    if file is not None and file.is_file():
        return _exists_but(error, file)
    if file is not None and file.is_dir():
        return ProcessError("not_executable", f"{file} is a directory", "give the program's own path")
    where = "" if "/" in program else " on the PATH of this process"
    return ProcessError("not_found", f"{program} was not found{where}", "install it, or give its full path")


def _exists_but(error: OSError, file: Path) -> ProcessError:
    if error.errno == errno.ENOENT:
        wanted = _interpreter(file)
        message = f"{file} needs {wanted or 'an interpreter or loader'}, which is not on this machine"
        return ProcessError("bad_interpreter", message, "install it, or the build of the program for this system")
    if error.errno == errno.ENOEXEC:
        return ProcessError("not_executable", f"{file} is no program for this machine", "install the fitting build")
    return ProcessError(
        "not_executable", f"{file} may not be run by this user", f"chmod +x {file}, or look at its mount"
    )


def _interpreter(script: Path) -> str | None:
    try:
        with script.open("rb") as file:
            first = file.readline(256)
    except OSError:
        return None
    return first[2:].decode("utf-8", "replace").strip() or None if first.startswith(b"#!") else None


def _too_long(argv: Sequence[str], env: Mapping[str, str]) -> ProcessError:
    """no-mistakes#485: a long prompt as an argument ended in a bare errno."""
    sizes = [len(os.fsencode(part)) + 1 for part in argv]
    around = sum(len(os.fsencode(f"{name}={value}")) + 1 for name, value in env.items())
    message = (
        f"the arguments of {argv[0]} are too long for this system: {sum(sizes)} bytes in all, the longest "
        f"{max(sizes)}, with {around} bytes of environment"
    )
    return ProcessError("too_long", message, "hand long text over by standard input or a file")
