"""Arguments, settings and refusals of a bridge's command, without a gateway."""

import os
from pathlib import Path

import pytest

from .. import bridge_main
from ..bridge_main import run
from ..settings import Settings, SettingsError
from ..state_lock import StateLock
from ..turn import Readiness, Runner
from ..wire import Failure
from .driver_bench import ScriptedRunner, not_ready, ready


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in os.environ:
        if name.startswith("AGENTMAIL_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AGENTMAIL_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("AGENTMAIL_GATEWAY_URL", "http://127.0.0.1:9")
    monkeypatch.setattr(bridge_main, "_is_root", lambda: False)
    return tmp_path / "data"


def start(*arguments: str, readiness: Readiness | None = None, foreign_code: bool = True) -> int:
    runner = ScriptedRunner(readiness=readiness or ready())
    return run("zcode", lambda _: runner, list(arguments), foreign_code=foreign_code)


def test_root_is_refused_unless_allowed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(bridge_main, "_is_root", lambda: True)
    assert start() == 3
    assert "--allow-root" in capsys.readouterr().err
    # Allowed in either way, the next thing that is missing is told.
    assert start("--allow-root") == 2
    monkeypatch.setenv("AGENTMAIL_ALLOW_ROOT", "1")
    assert start() == 2


def test_root_is_no_danger_to_a_bridge_that_runs_only_its_own_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge_main, "_is_root", lambda: True)
    assert start(foreign_code=False) == 2


def test_without_a_key_it_says_where_one_belongs(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert start() == 2
    told = capsys.readouterr().err
    assert str(home / "keys" / "zcode.key") in told
    assert "agentmail agent add zcode" in told
    assert not home.exists()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("AGENTMAIL_MAX_MODE", "yolo"),
        ("AGENTMAIL_GATEWAY_URL", "ftp://x"),
        ("AGENTMAIL_WORKSPACES", "root=/"),
        ("AGENTMAIL_STATE_DIR", "/proc/nothing"),
    ],
)
def test_a_setting_that_can_not_be_used_is_named(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AGENTMAIL_AGENT_KEY", "ama_hidden")
    monkeypatch.setenv(variable, value)
    assert start() == 2
    told = capsys.readouterr().err
    assert told.startswith(f"bridge-zcode: {variable}: ")
    assert "ama_hidden" not in told


def test_a_setting_of_the_agents_own_is_named_by_the_check_too(capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(settings: Settings) -> Runner:
        raise SettingsError("AGENTMAIL_ZCODE_MODE_MAP", "'x' is no mode", "Correct it")

    assert run("zcode", refuse, ["--check"]) == 2
    assert "AGENTMAIL_ZCODE_MODE_MAP" in capsys.readouterr().err


def test_a_state_folder_in_use_is_refused_and_names_the_holder(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """mcp_agent_mail#123, takopi#254"""
    monkeypatch.setenv("AGENTMAIL_AGENT_KEY", "ama_x")
    with StateLock.acquire(home / "bridges" / "zcode", "bridge-zcode, process 4711"):
        assert start() == 3
    assert "process 4711" in capsys.readouterr().err


def test_check_tells_everything_and_its_exit_code_is_the_agents(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    assert start("--check") == 0
    told = capsys.readouterr().out
    for words in (
        "ok       fake: found",
        "later    key: none",
        "later    gateway: no gateway answers",
        "plan       native",
    ):
        assert words in told
    assert start("--check", readiness=not_ready(Failure("cli_missing", "m", "n"))) == 1
    assert "missing  fake: not found\n           -> install it" in capsys.readouterr().out
    assert not home.exists()


def test_check_names_a_workspace_that_is_gone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AGENTMAIL_WORKSPACES", "site=/nonexistent/site")
    assert start("--check") == 1
    assert "missing  workspace site" in capsys.readouterr().out
    monkeypatch.setenv("AGENTMAIL_WORKSPACES", "site=/")
    assert start("--check") == 1
    assert "missing  workspaces: " in capsys.readouterr().out


def test_the_version_and_a_wrong_argument_end_as_commands_do(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, code in ((["--version"], 0), (["--nonsense"], 2)):
        with pytest.raises(SystemExit) as ended:
            start(*arguments)
        assert ended.value.code == code
    assert capsys.readouterr().out.startswith("bridge-zcode ")


def test_the_bridges_mark_is_made_once(tmp_path: Path) -> None:
    made = bridge_main._bridge_id(tmp_path / "bridge-id")
    assert len(made) == 32
    assert bridge_main._bridge_id(tmp_path / "bridge-id") == made
    (tmp_path / "bridge-id").write_bytes(b"\xff broken")
    assert bridge_main._bridge_id(tmp_path / "bridge-id") != made
