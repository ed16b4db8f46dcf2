"""Settings: every variable, its default, and an error that names it and the mend."""

from pathlib import Path

import pytest

from ..settings import DEFAULT_URL, SettingsError, data_home, key_file, load


def test_nothing_set_gives_the_documented_defaults(tmp_path: Path) -> None:
    settings = load({"AGENTMAIL_HOME": str(tmp_path)}, "zcode")
    assert settings.gateway_url == DEFAULT_URL == "http://127.0.0.1:8180"
    assert settings.agent_name == "zcode"
    assert settings.credential is None
    assert settings.max_mode == "workspace"
    assert settings.turn_timeout_s == 3600
    assert settings.parallel_turns is None
    assert settings.permission_wait_ms == 540_000
    assert settings.ask_tools == ()
    assert settings.command is None
    assert settings.disallowed_tools is None
    assert settings.network == "open"
    assert settings.network_hosts == ()
    assert settings.allow_root is False
    assert settings.state_dir == tmp_path / "bridges" / "zcode"
    assert settings.workspaces == (("default", settings.state_dir / "workspaces" / "default"),)
    assert not settings.state_dir.exists()


def test_each_variable_is_read(tmp_path: Path) -> None:
    settings = load(
        {
            "HOME": str(tmp_path),
            "AGENTMAIL_GATEWAY_URL": " https://mail.example.org ",
            "AGENTMAIL_AGENT_NAME": "coder",
            "AGENTMAIL_AGENT_KEY": "ama_key",
            "AGENTMAIL_WORKSPACES": "site=/srv/site; docs = ~/docs;",
            "AGENTMAIL_MAX_MODE": "Full",
            "AGENTMAIL_NETWORK_HOSTS": "Git.example.org 10.0.0.1:8080, git.example.org:443",
            "AGENTMAIL_TURN_TIMEOUT_S": "90.5",
            "AGENTMAIL_PARALLEL_TURNS": "3",
            "AGENTMAIL_STATE_DIR": "~/state",
            "AGENTMAIL_PERMISSION_WAIT_MS": "1000",
            "AGENTMAIL_ASK_TOOLS": "Bash, Write",
            "AGENTMAIL_ZCODE_COMMAND": "/opt/z --x",
            "AGENTMAIL_ZCODE_DISALLOWED_TOOLS": "Bash  Write,Edit Bash",
            "AGENTMAIL_NETWORK": "model",
            "AGENTMAIL_ALLOW_ROOT": "1",
        },
        "zcode",
    )
    assert settings.gateway_url == "https://mail.example.org"
    assert settings.agent_name == "coder"
    assert settings.credential == "ama_key"
    assert settings.workspaces == (("site", Path("/srv/site")), ("docs", tmp_path / "docs"))
    assert settings.max_mode == "full"
    assert settings.network_hosts == ("git.example.org:443", "10.0.0.1:8080")
    assert settings.turn_timeout_s == 90.5
    assert settings.parallel_turns == 3
    assert settings.state_dir == tmp_path / "state"
    assert settings.permission_wait_ms == 1000
    assert settings.ask_tools == ("Bash", "Write")
    assert settings.command == "/opt/z --x"
    assert settings.disallowed_tools == ("Bash", "Write", "Edit")
    assert settings.network == "model"
    assert settings.allow_root is True


def test_an_empty_deny_list_is_not_an_unset_one(tmp_path: Path) -> None:
    settings = load({"AGENTMAIL_HOME": str(tmp_path), "AGENTMAIL_PI_DISALLOWED_TOOLS": ""}, "pi")
    assert settings.disallowed_tools == ()


def test_the_settings_of_another_agent_are_not_read(tmp_path: Path) -> None:
    settings = load({"AGENTMAIL_HOME": str(tmp_path), "AGENTMAIL_PI_COMMAND": "pi"}, "zcode")
    assert settings.command is None


def test_the_key_comes_from_a_file_as_systemd_leaves_it(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("ama_from_file\n")
    assert load({"AGENTMAIL_AGENT_KEY_FILE": str(file), "HOME": str(tmp_path)}, "zcode").credential == "ama_from_file"


def test_the_key_that_up_left_is_found_without_a_setting(tmp_path: Path) -> None:
    environ = {"AGENTMAIL_HOME": str(tmp_path)}
    file = key_file(environ, "zcode")
    file.parent.mkdir()
    file.write_text("ama_left")
    assert load(environ, "zcode").credential == "ama_left"


def test_a_secret_goes_with_the_name(tmp_path: Path) -> None:
    settings = load({"AGENTMAIL_HOME": str(tmp_path), "AGENTMAIL_AGENT_SECRET": "s3cret"}, "zcode")
    assert settings.credential == ("zcode", "s3cret")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("AGENTMAIL_AGENT_NAME", "a b"),
        ("AGENTMAIL_AGENT_NAME", "../up"),
        ("AGENTMAIL_AGENT_KEY", "two words"),
        ("AGENTMAIL_AGENT_KEY_FILE", "/nonexistent/key"),
        ("AGENTMAIL_AGENT_KEY_FILE", "/"),
        ("AGENTMAIL_WORKSPACES", "site"),
        ("AGENTMAIL_WORKSPACES", "=/x"),
        ("AGENTMAIL_WORKSPACES", "site=relative/path"),
        ("AGENTMAIL_MAX_MODE", "yolo"),
        ("AGENTMAIL_NETWORK_HOSTS", "https://api.example.org/"),
        ("AGENTMAIL_NETWORK_HOSTS", "api.example.org:99999"),
        ("AGENTMAIL_TURN_TIMEOUT_S", "soon"),
        ("AGENTMAIL_TURN_TIMEOUT_S", "0"),
        ("AGENTMAIL_TURN_TIMEOUT_S", "nan"),
        ("AGENTMAIL_TURN_TIMEOUT_S", "inf"),
        ("AGENTMAIL_PARALLEL_TURNS", "0"),
        ("AGENTMAIL_PARALLEL_TURNS", "²"),
        ("AGENTMAIL_PERMISSION_WAIT_MS", "-1"),
        ("AGENTMAIL_NETWORK", "closed"),
        ("AGENTMAIL_ALLOW_ROOT", "maybe"),
    ],
)
def test_an_unusable_value_is_an_error_that_names_the_variable(variable: str, value: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        load({"AGENTMAIL_HOME": str(tmp_path), variable: value}, "zcode")
    assert caught.value.variable == variable
    assert str(caught.value).startswith(f"{variable}: ")
    assert "two words" not in str(caught.value)


def test_key_and_key_file_together_are_refused(tmp_path: Path) -> None:
    environ = {"AGENTMAIL_AGENT_KEY": "ama_x", "AGENTMAIL_AGENT_KEY_FILE": str(tmp_path / "k"), "HOME": str(tmp_path)}
    with pytest.raises(SettingsError, match="Unset one of the two"):
        load(environ, "zcode")


def test_no_key_shows_in_the_settings_repr(tmp_path: Path) -> None:
    """AgentChatBus#8: keys in logs."""
    environ = {"AGENTMAIL_HOME": str(tmp_path), "AGENTMAIL_AGENT_KEY": "ama_hidden", "AGENTMAIL_AGENT_SECRET": "s3cret"}
    shown = repr(load(environ, "zcode"))
    assert "ama_hidden" not in shown
    assert "s3cret" not in shown


def test_the_data_folder_follows_its_variable_or_the_platform(tmp_path: Path) -> None:
    assert data_home({"AGENTMAIL_HOME": str(tmp_path)}) == tmp_path
    assert data_home({}).name == "agentmail"
