"""Every command: help, errors on one line, exit codes, JSON problems, no traceback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from agentmail.__main__ import run
from agentmail.cli import cli


def _commands(group: click.Group, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    context = click.Context(group)
    found = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found.append((*path, name))
        if isinstance(command, click.Group):
            found += _commands(command, (*path, name))
    return found


@pytest.fixture(autouse=True)
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTMAIL_HOME", str(tmp_path / "home"))
    for name in ("AGENTMAIL_TOKEN", "AGENTMAIL_GATEWAY_URL", "AGENTMAIL_DEBUG"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("path", _commands(cli), ids=" ".join)
def test_every_command_has_help(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*path, "--help"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"Usage: agentmail {' '.join(path)}")
    assert err == ""


@pytest.mark.parametrize(
    "path",
    [path for path in _commands(cli) if path not in {("up",), ("completion",), ("help",), ("dead",), ("agent",)}],
    ids=" ".join,
)
def test_every_command_that_talks_has_json_and_url(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    run([*path, "--help"])
    out = capsys.readouterr().out
    assert "--json" in out
    assert "--url" in out


def test_without_arguments_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    assert capsys.readouterr().err.startswith("Usage: agentmail [OPTIONS] COMMAND")
    assert run(["dead"]) == 2
    assert "\n  list " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (["foo"], 2, "No such command 'foo'"),
        (["send"], 2, "agentmail send --help"),
        (["send", ",", "x"], 2, "a mail needs a recipient"),
        (["inbox", "--limit", "0"], 2, "--limit"),
        (["send", "echo", "x", "--mode", "root"], 2, "root"),
        (["turns", "--state", "asleep"], 2, "'asleep' is not a state"),
        (["dead", "retry"], 2, "say --all"),
        (["help", "nothing"], 2, "no help on 'nothing'"),
        (["inbox", "--url", "ftp://x"], 2, "--url is not an http(s) address"),
        (["inbox"], 3, "agentmail up"),
        (["inbox", "--url", "http://127.0.0.1:1"], 3, "agentmail up"),
        (["inbox", "--url", "https://mail.example"], 6, "AGENTMAIL_TOKEN"),
        (["send", "echo", "x", "--attach", "/no/such/file"], 6, "can't attach /no/such/file"),
        (["send", "echo", "x", "--attach", "/"], 6, "it is a folder"),
    ],
)
def test_an_error_is_one_line_with_its_exit_code(
    argv: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(argv) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("agentmail: ")
    assert err.count("\n") == 1
    assert words in err


def test_with_json_the_problem_is_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inbox", "--json"]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    error = json.loads(err)["error"]
    assert error == {
        "code": "unreachable",
        "message": error["message"],
        "next_step": "Start it: agentmail up",
        "status": None,
        "exit": 3,
    }


def test_a_fault_of_the_program_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("agentmail.options.find_target", broken)
    assert run(["inbox"]) == 70
    assert "ZeroDivisionError: oops" in capsys.readouterr().err


def test_what_the_shell_hands_over_is_shown_harmlessly(capsys: pytest.CaptureFixture[str]) -> None:
    run(["\x1b]0;pwn\x07"])
    assert "\x1b" not in capsys.readouterr().err


def test_the_help_topics_are_complete(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["help", "exit-codes"]) == 0
    assert "130  stopped by Ctrl-C" in capsys.readouterr().out
    assert run(["help", "settings"]) == 0
    assert "AGENTMAIL_HOME" in capsys.readouterr().out
    assert run(["help", "send"]) == 0
    assert capsys.readouterr().out.startswith("Usage: agentmail send")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert "_AGENTMAIL_COMPLETE" in capsys.readouterr().out


def test_help_starts_fast_because_it_loads_neither_the_http_client_nor_the_wire() -> None:
    code = (
        "import sys; sys.argv = ['agentmail', '--help']\n"
        "from agentmail.__main__ import main\n"
        "main()\n"
        "heavy = {'asyncio', 'httpx2', 'msgspec', 'psutil'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stderr == "[]\n"


def test_a_reader_that_goes_away_is_no_fault() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        result = subprocess.run(
            [sys.executable, "-m", "agentmail", "help", "exit-codes"],
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writer)
    assert (result.returncode, result.stderr) == (141, b"")
