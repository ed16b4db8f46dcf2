"""Which gateway is meant, and where the token may go."""

from pathlib import Path

import pytest

from agentmail.connect import find_target, is_loopback, translate
from agentmail.errors import CliError, Exit, LocalError, UnreachableError, UsageError
from agentmail.home import Home, write_private
from agentmail.vendor.gateway_client import GatewayProblem, GatewayUnreachable


def _home(tmp_path: Path, address: str | None = "http://127.0.0.1:9999", token: str | None = "amp_secret") -> Home:
    home = Home(tmp_path)
    if address is not None:
        write_private(home.address_file, address + "\n")
    if token is not None:
        write_private(home.token_file, token + "\n")
    return home


@pytest.mark.parametrize(
    ("environ", "option", "url"),
    [
        ({}, None, "http://127.0.0.1:9999"),
        ({"AGENTMAIL_GATEWAY_URL": "http://127.0.0.1:1"}, None, "http://127.0.0.1:1"),
        ({"AGENTMAIL_GATEWAY_URL": "http://127.0.0.1:1"}, "http://localhost:2/", "http://localhost:2"),
    ],
)
def test_the_option_goes_before_the_environment_before_the_data_folder(
    tmp_path: Path, environ: dict[str, str], option: str | None, url: str
) -> None:
    assert find_target(_home(tmp_path), environ, option).url == url


def test_the_data_folders_token_never_goes_to_another_host(tmp_path: Path) -> None:
    home = _home(tmp_path)
    with pytest.raises(LocalError, match="no token for https"):
        find_target(home, {}, "https://mail.example")
    assert find_target(home, {"AGENTMAIL_TOKEN": "amp_other"}, "https://mail.example").token == "amp_other"


def test_the_token_is_not_in_the_repr(tmp_path: Path) -> None:
    """AgentChatBus#8: keys in what is printed or logged."""
    assert "amp_secret" not in repr(find_target(_home(tmp_path), {}, None))


def test_nothing_started_yet_says_how_to_start(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match="not started yet") as raised:
        find_target(_home(tmp_path, address=None, token=None), {}, None)
    assert raised.value.next_step == "Start it: agentmail up"


@pytest.mark.parametrize("url", ["127.0.0.1:8180", "ftp://x", "http://"])
def test_what_is_no_address_is_a_usage_error(tmp_path: Path, url: str) -> None:
    with pytest.raises(UsageError, match="--url is not"):
        find_target(_home(tmp_path), {}, url)


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://127.0.0.1:1", True),
        ("http://[::1]:1", True),
        ("http://localhost", True),
        ("http://10.0.0.1", False),
        ("http://localhost.evil.example", False),
    ],
)
def test_loopback_is_told_by_the_address(url: str, loopback: bool) -> None:
    assert is_loopback(url) is loopback


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (
            GatewayUnreachable("no gateway answers at x: start it"),
            Exit.UNREACHABLE,
            "no gateway answers at x: start it",
        ),
        (
            GatewayProblem(422, "unknown_recipient", "Unknown", "Nobody is called bob"),
            Exit.REFUSED,
            "Nobody is called bob",
        ),
        (GatewayProblem(429, "cool_down", "", "too fast", 5.0), Exit.REFUSED, "too fast. Try again in 5 s"),
        (GatewayProblem(502, "bad_answer", "", "not a gateway"), Exit.UNREACHABLE, "not a gateway"),
    ],
)
def test_errors_of_the_gateway_become_one_line_and_an_exit_code(error: Exception, code: Exit, line: str) -> None:
    told = translate(error)  # type: ignore[arg-type]
    assert isinstance(told, CliError)
    assert (told.exit, told.line()) == (code, line)
