"""The command line."""

from pathlib import Path

import pytest

from agentmail_gateway.http.options import parse


def test_the_defaults_stay_on_this_machine(tmp_path: Path) -> None:
    options = parse([], {"AGENTMAIL_HOME": str(tmp_path)})
    assert (options.host, options.port, options.data) == ("127.0.0.1", 8180, tmp_path / "gateway")
    assert (options.allow_hosts, options.allow_origins, options.trusted_proxies) == ((), (), ())


def test_what_is_given_is_taken(tmp_path: Path) -> None:
    options = parse(
        [
            *("--data", str(tmp_path), "--port", "0", "--host", "::1", "--admin", "ada", "--log-format", "json"),
            *("--allow-host", "a.example", "--allow-host", "b.example", "--allow-origin", "https://a.example"),
            *("--trusted-proxy", "127.0.0.1"),
        ],
        {},
    )
    assert (options.data, options.port, options.host, options.admin) == (tmp_path, 0, "::1", "ada")
    assert options.allow_hosts == ("a.example", "b.example")
    assert options.log_format == "json"
    assert options.trusted_proxies == ("127.0.0.1",)


@pytest.mark.parametrize("argv", [["--port", "65536"], ["--port", "x"], ["--log-format", "xml"], ["--unknown"], ["x"]])
def test_a_wrong_argument_ends_with_status_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(argv, {})
    assert caught.value.code == 2
    assert "agentmail-gateway: error:" in capsys.readouterr().err


def test_the_first_administrator_is_named_after_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "CORP\\Ada L")
    assert parse([], {"AGENTMAIL_HOME": "/x"}).admin == "corp-ada-l"


def test_a_user_without_a_name_still_gets_an_administrator(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise OSError

    monkeypatch.setattr("getpass.getuser", nobody)
    assert parse([], {"AGENTMAIL_HOME": "/x"}).admin == "admin"
