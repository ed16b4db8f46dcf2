"""The stand-in as a program: the original's order of start-up, its words and its output."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .machine import STAND_IN, Machine, prompt


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def run(machine: Machine, *words: str, bare: bool = False) -> subprocess.CompletedProcess[str]:
    env = dict(machine.environ)
    if bare:
        env.pop("ZCODE_BUILTIN_PROVIDER_CONFIG_FILE")
    else:
        env["ZCODE_PERSONAL_PROVIDER_CONFIG_FILE"] = str(machine.home / ".zcode/v2/provider_config.json")
    command = [sys.executable, str(STAND_IN), *words]
    return subprocess.run(command, env=env, cwd=machine.workspace, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "code", "stderr"),
    [
        (
            ["--mode", "bad", "--version"],
            1,
            "Unsupported --mode value: bad. Supported modes: build, edit, plan, yolo, guarded.",
        ),
        (
            ["--output-format", "bad", "--version"],
            1,
            "--output-format must be one of text, json, stream-json (rec",
        ),
        (["--mode", "bad", "--output-format", "bad"], 1, "Unsupported --mode value: bad."),
        (["--resume", "sess_x", "--continue", "--version"], 1, "--resume and --continue cannot be used together."),
        (["--output-format", "stream-json", "--version"], 0, ""),
        (["--cwd", "/nonexistent", "--version"], 0, ""),
        (["--mode", "PLAN", "--version"], 0, ""),
        (["--prompt="], 1, "--prompt requires non-empty text."),
        (["--prompt=hi", "--max-turns", "5"], 1, "Unknown option '--max-turns'."),
        (["nonsense"], 1, "Unknown command: nonsense"),
    ],
)
def test_the_order_of_start_up_and_the_words(machine: Machine, words: list[str], code: int, stderr: str) -> None:
    done = run(machine, *words)
    assert (done.returncode, done.stderr[: len(stderr)]) == (code, stderr)
    assert done.stdout == ("0.16.9\n" if code == 0 else "")


def test_the_newer_face_looks_for_its_provider_file_before_any_argument(machine: Machine) -> None:
    for words in (["--version"], ["--max-turns", "5"], ["--prompt=hi"]):
        done = run(machine, *words, bare=True)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("无法定位 CLI ZCode Built-in Provider Config：")
    machine.stand_in(face="0.16.5")
    assert run(machine, "--version", bare=True).stdout == "0.16.5\n"


def test_the_keys_of_events_stand_in_the_original_s_order(machine: Machine) -> None:
    done = run(machine, f"--prompt={prompt('tool Bash true', 'say x')}", "--output-format=stream-json")
    *events, last = [list(json.loads(line)) for line in done.stdout.splitlines()]
    with_turn = ["eventId", "payload", "seq", "sessionId", "timestamp", "traceId", "turnId", "type"]
    assert events[0] == [key for key in with_turn if key != "turnId"]
    assert all(keys == with_turn for keys in events[1:])
    assert last == ["type", "sessionId", "traceId", "turnId", "response", "usage", "eventCount", "projection"]


def test_json_is_printed_over_many_lines_without_a_type(machine: Machine) -> None:
    done = run(machine, "--prompt=hi", "--json")
    assert done.stdout.startswith('{\n  "sessionId"')
    assert list(json.loads(done.stdout))[:4] == ["sessionId", "traceId", "turnId", "response"]


def test_a_text_with_a_slash_runs_a_command_and_exits_well(machine: Machine) -> None:
    done = run(machine, "--prompt=/login", "--output-format=stream-json")
    assert (done.returncode, list(json.loads(done.stdout))) == (0, ["sessionId", "traceId", "response"])
    assert "\n" in done.stdout.strip()


def test_an_empty_deny_list_is_silently_none(machine: Machine) -> None:
    words = (f"--prompt={prompt('tool Bash touch made')}", "--mode=yolo", "--disallowed-tools=")
    assert run(machine, *words).returncode == 0
    assert (machine.workspace / "made").exists()


@pytest.mark.parametrize(
    ("mode", "tool", "made"),
    [("plan", "Bash", False), ("build", "Bash", False), ("edit", "Bash", False), ("yolo", "Bash", True)],
)
def test_the_mode_decides_and_denied_tools_exit_well(machine: Machine, mode: str, tool: str, made: bool) -> None:
    done = run(machine, f"--prompt={prompt(f'tool {tool} touch made')}", f"--mode={mode}")
    assert (done.returncode, (machine.workspace / "made").exists()) == (0, made)


@pytest.mark.parametrize(("mode", "made"), [("plan", False), ("build", False), ("edit", True), ("yolo", True)])
def test_edit_mode_writes_files(machine: Machine, mode: str, made: bool) -> None:
    run(machine, f"--prompt={prompt('tool Write made x')}", f"--mode={mode}")
    assert (machine.workspace / "made").exists() is made
