"""Why a program could not be started."""

import errno
import os
import sys
from pathlib import Path

import pytest

from ..process import ProcessError, start
from ..process_errors import StartProblem, why_not_started
from ..wire import FailureClass

ENV = {"PATH": os.environ["PATH"]}


async def problem(argv: list[str], cwd: Path, env: dict[str, str] | None = None) -> ProcessError:
    with pytest.raises(ProcessError) as caught:
        await start(argv, cwd=cwd, env=env or ENV)
    return caught.value


def script(folder: Path, text: str, mode: int = 0o755) -> str:
    path = folder / "agent"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


async def test_a_missing_command_is_named(tmp_path: Path) -> None:
    error = await problem(["no-such-agent"], tmp_path)
    assert (error.kind, error.failure.class_) == ("not_found", "cli_missing")
    assert "no-such-agent was not found on the PATH" in str(error)
    assert "/no/such/agent was not found" in str(await problem(["/no/such/agent"], tmp_path))


async def test_a_missing_interpreter_is_told_from_a_missing_command(tmp_path: Path) -> None:
    error = await problem([script(tmp_path, "#!/no/such/node\n")], tmp_path)
    assert error.kind == "bad_interpreter"
    assert "/no/such/node" in error.message


async def test_a_file_that_may_not_be_run_is_told(tmp_path: Path) -> None:
    error = await problem([script(tmp_path, "#!/bin/sh\n", 0o644)], tmp_path)
    assert error.kind == "not_executable"
    assert "chmod +x" in error.next_step


async def test_a_file_that_is_no_program_is_told(tmp_path: Path) -> None:
    assert (await problem([script(tmp_path, "\x7fELF nonsense")], tmp_path)).kind == "not_executable"


async def test_a_directory_is_no_program(tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    assert (await problem([str(tmp_path / "agent")], tmp_path)).kind == "not_executable"
    assert (await problem([str(tmp_path)], tmp_path)).kind == "not_executable"


async def test_a_missing_directory_is_not_taken_for_a_missing_command(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    error = await problem([sys.executable], gone)
    assert (error.kind, error.failure.class_) == ("cwd_missing", "workspace_gone")
    assert str(gone) in error.message


async def test_arguments_that_are_too_long_are_explained(tmp_path: Path) -> None:
    """no-mistakes#485"""
    error = await problem([sys.executable, "-c", "x" * (4 * 1024 * 1024)], tmp_path)
    assert (error.kind, error.failure.class_) == ("too_long", "context_too_long")
    assert "4194305" in error.message
    assert "standard input or a file" in error.next_step
    assert "xxx" not in str(error)


async def test_an_environment_that_is_too_long_is_explained(tmp_path: Path) -> None:
    """no-mistakes#485"""
    error = await problem([sys.executable], tmp_path, {"BIG": "x" * (4 * 1024 * 1024)})
    assert error.kind == "too_long"
    assert "4194309 bytes of environment" in error.message


async def test_a_nul_character_is_told(tmp_path: Path) -> None:
    assert (await problem([sys.executable, "a\0b"], tmp_path)).kind == "bad_argument"
    assert (await problem([sys.executable], tmp_path, {"A": "\0"})).kind == "bad_argument"


@pytest.mark.parametrize(
    ("number", "kind", "failure"),
    [
        (errno.EAGAIN, "resources", "bridge_error"),
        (errno.ENOMEM, "resources", "bridge_error"),
        (errno.EMFILE, "resources", "bridge_error"),
        (errno.ENOENT, "not_found", "cli_missing"),
    ],
)
def test_a_machine_without_room_is_not_taken_for_a_missing_program(
    number: int, kind: StartProblem, failure: FailureClass, tmp_path: Path
) -> None:
    error = why_not_started(OSError(number, os.strerror(number)), ["no-such-agent"], tmp_path, ENV)
    assert (error.kind, error.failure.class_) == (kind, failure)
