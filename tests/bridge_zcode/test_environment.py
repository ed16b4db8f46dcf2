"""The environment of a run, and which names of a ``.env`` are guarded."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_zcode.environment import environment, guarded_names, secrets_in, unguarded_names
from bridge_zcode.locate import ProviderFiles
from bridge_zcode.workspace_files import dotenv_names
from tests.fakes.zcode.dotenv import load, parse

NONE = ProviderFiles(None, None)


def test_only_listed_names_pass() -> None:
    bridge = {"HOME": "/home/a", "AGENTMAIL_AGENT_KEY": "ama_x", "SECRET": "x", "ZCODE_API_KEY": "k", "LC_ALL": "C"}
    env = environment(bridge, turn={"AGENTMAIL_TURN_ID": "turn_1"}, providers=NONE)
    assert env == {
        "HOME": "/home/a",
        "ZCODE_API_KEY": "k",
        "LC_ALL": "C",
        "NODE_OPTIONS": "",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "AGENTMAIL_TURN_ID": "turn_1",
    }


def test_provider_files_and_electron_are_set_when_they_are_there() -> None:
    env = environment({}, turn={}, providers=ProviderFiles(Path("/b.json"), Path("/p.json")), electron=True)
    assert env["ZCODE_BUILTIN_PROVIDER_CONFIG_FILE"] == "/b.json"
    assert env["ZCODE_PERSONAL_PROVIDER_CONFIG_FILE"] == "/p.json"
    assert env["ELECTRON_RUN_AS_NODE"] == "1"
    assert "ELECTRON_RUN_AS_NODE" not in environment({}, turn={}, providers=NONE)


def test_a_guarded_name_keeps_its_own_value_or_is_empty() -> None:
    env = environment({"HOME": "/h"}, turn={}, providers=NONE, guarded=("HOME", "ANTHROPIC_BASE_URL"))
    assert (env["HOME"], env["ANTHROPIC_BASE_URL"]) == ("/h", "")


OBEYED = [
    *(
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_API_KEY",
        "ZCODE_BASE_URL",
        "ZCODE_ANYTHING_NEW",
        "NODE_OPTIONS",
        "PATH",
        "HOME",
    ),
    *("HTTP_PROXY", "https_proxy", "LD_PRELOAD", "BASH_ENV", "ELECTRON_RUN_AS_NODE", "AGENTMAIL_TURN_KEY", "GIT_SSH"),
    *("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "PYTHONPATH"),
]


def test_below_full_every_name_is_guarded_and_in_full_what_the_system_obeys() -> None:
    names = [*OBEYED, "DATABASE_URL", "APP_PORT"]
    assert set(guarded_names(names, "plan")) == set(guarded_names(names, "workspace")) == set(names)
    assert set(guarded_names(names, "full")) == set(OBEYED)


def test_proxies_and_certificates_get_through_and_are_told() -> None:
    told = unguarded_names(["HTTPS_PROXY", "no_proxy", "SSL_CERT_FILE", "NODE_ENV", "PORT"])
    assert told == ("HTTPS_PROXY", "SSL_CERT_FILE", "no_proxy")


def test_secrets_are_known_by_the_names_of_their_variables() -> None:
    env = {"ZCODE_API_KEY": "short", "AGENTMAIL_TURN_KEY": "longer-one", "HOME": "/h", "ZCODE_CREDENTIAL_SECRET": "s"}
    assert secrets_in(env) == ("longer-one", "short", "s")


FILES = [
    "A=1",
    "export A=1",
    "A = 'x'\nB: y",
    "A\n=1",
    "export\nA=1",
    "\ufeffA=1",
    "A='multi\nB=2'\nC=3",
    "#A=1\nB=2",
    "a.b-c=1",
    "A=1\rB=2\r\nC=3",
    "A=1\u2028B=2",
    "A=`x`",
    "=x",
    "\tA\t=\t1",
]


@pytest.mark.parametrize("text", FILES)
def test_every_name_that_dotenv_takes_is_seen(text: str) -> None:
    assert set(parse(text)) <= set(dotenv_names(text))


@given(st.text(alphabet="AB_.-=: '\"`#\\\n\r\texpor\ufeff\u2028", max_size=60))
def test_no_text_hides_a_name_from_the_guard(text: str) -> None:
    assert set(parse(text)) <= set(dotenv_names(text))


@given(st.text(alphabet="ABHOMEPT_=: '\n", max_size=60))
def test_a_guarded_file_sets_nothing(text: str) -> None:
    env = environment({"HOME": "/h"}, turn={}, providers=NONE, guarded=guarded_names(dotenv_names(text), "plan"))
    assert all(re.fullmatch(r"[\w.-]+", name) for name in env)
    merged = {**parse(text), **env}
    assert merged == env


def test_the_loader_that_the_guard_is_held_against_takes_the_nearest_file(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a" / ".env").write_text("FROM=outer\nEMPTY=x")
    assert load(inner, {"EMPTY": ""}) == {"EMPTY": "", "FROM": "outer"}
    (inner / ".env").write_text("")
    assert load(inner, {}) == {}
