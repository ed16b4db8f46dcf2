"""The argument list of a run, held against the stand-in's parser, which has the original's behaviour case by case."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_zcode.arguments import (
    ARGV_PROMPT_BYTES,
    ArgumentError,
    Delivery,
    arguments,
    deliver,
    deny_list_of,
    is_session_id,
    probe_arguments,
    prompt_limit,
)
from bridge_zcode.tools import full_deny_list
from bridge_zcode.turn_mode import turn_mode
from bridge_zcode.vendor.inbox_format import FIRST_LINE
from bridge_zcode.vendor.settings import SettingsError
from tests.fakes.zcode.parser import UsageError, parse

WORKSPACE = Path("/srv/site with blank")
FILE = Path("/state/turns/turn_1/mail.md")
SESSION = "sess_5e8753c0-7913-4a6a-9790-ef86f8d814e6"
KERNEL_LIMIT = 131_071
HOSTILE = [
    "- [ ] x",
    "--help",
    "@file",
    "/exit",
    "/login",
    "!ls",
    "$(touch pwned)",
    "--disallowed-tools=",
    "--disallowed-tools=Read",
    "--mode yolo",
    "-x",
    "",
    "   ",
    "\n\n/login",
    "\0",
    "\ud800",
    "你好" * 50_000,
]


def made(prompt: str, resume: str | None = None, limit: int = ARGV_PROMPT_BYTES) -> tuple[Delivery, tuple[str, ...]]:
    delivery = deliver(prompt, turn_id="turn_1", file=FILE, limit=limit)
    return delivery, arguments(delivery, turn_mode("plan"), workspace=WORKSPACE, resume=resume)


@pytest.mark.parametrize("prompt", HOSTILE)
def test_a_hostile_text_is_one_argument_that_starts_with_a_word(prompt: str) -> None:
    delivery, argv = made(prompt)
    assert argv[0] == f"--prompt={delivery.text}"
    assert delivery.text[0].isalnum()
    assert max(len(token.encode()) for token in argv) <= KERNEL_LIMIT
    parsed = parse(list(argv))
    assert parsed.values["prompt"] == delivery.text
    assert tuple(parsed.deny or ()) == full_deny_list(network=True)
    assert parsed.values["mode"] == "plan"
    assert parsed.positionals == []


@given(st.text(max_size=400), st.sampled_from([0, 10, ARGV_PROMPT_BYTES]))
def test_whatever_the_text_the_parser_sees_the_same_options(prompt: str, limit: int) -> None:
    delivery, argv = made(prompt, SESSION, limit)
    parsed = parse(list(argv))
    assert parsed.values.pop("prompt") == delivery.text
    assert parsed.values.pop("attach", None) == ([str(FILE)] if delivery.attached else None)
    assert parsed.values == {
        "output-format": "stream-json",
        "cwd": str(WORKSPACE),
        "mode": "plan",
        "resume": SESSION,
    }
    assert tuple(parsed.deny or ()) == full_deny_list(network=True) == deny_list_of(argv)
    assert sum(token.startswith("--prompt=") for token in argv) == 1


def test_the_prompt_of_agentmail_goes_as_it_is() -> None:
    prompt = f"{FIRST_LINE}\n\nYou are: zcode\n- rule"
    assert made(prompt)[0] == Delivery(prompt)


def test_a_note_of_the_bridge_goes_behind_the_first_line() -> None:
    text = deliver("First.\n\nRest", turn_id="turn_1", file=FILE, note="Mind this.").text
    assert text == "First.\n\nMind this.\n\nRest"


@pytest.mark.parametrize("characters", ["a", "你", "😀"])
def test_a_long_text_goes_through_a_file_by_its_bytes(characters: str) -> None:
    size = len(characters.encode())
    fits = "a" + characters * ((ARGV_PROMPT_BYTES - 1) // size)
    assert made(fits)[0].attached is None
    delivery, argv = made(fits + characters)
    assert delivery.attached == FILE
    assert delivery.content == fits + characters
    assert f"--attach={FILE}" in argv
    assert str(FILE) in delivery.text
    assert len(delivery.text) < 1_000


def test_300_kb_of_chinese_fit_no_argument_and_travel_whole() -> None:
    text = f"{FIRST_LINE}\n" + "中" * 100_000
    delivery, argv = made(text)
    assert delivery.content == text
    assert delivery.text.startswith(FIRST_LINE)
    assert max(len(token.encode()) for token in argv) < ARGV_PROMPT_BYTES


def test_the_limit_is_a_setting_and_zero_keeps_every_mail_out_of_the_process_list() -> None:
    assert prompt_limit({}) == ARGV_PROMPT_BYTES
    assert prompt_limit({"AGENTMAIL_ZCODE_ARGV_PROMPT_BYTES": "0"}) == 0
    assert made("secret text", limit=0)[0].attached == FILE
    assert all("secret text" not in token for token in made("x secret text", limit=0)[1][1:])


@pytest.mark.parametrize("value", ["-1", "x", "131062", "1e3", "٣"])
def test_a_limit_that_no_argument_can_hold_is_refused(value: str) -> None:
    with pytest.raises(SettingsError, match="AGENTMAIL_ZCODE_ARGV_PROMPT_BYTES"):
        prompt_limit({"AGENTMAIL_ZCODE_ARGV_PROMPT_BYTES": value})


@pytest.mark.parametrize(
    "session", ["", "sess_", "other", "--mode", "sess_a b", "sess_\n", "sess_-x", "sess_" + "a" * 200]
)
def test_an_id_that_would_start_a_new_session_silently_is_refused(session: str) -> None:
    """``--resume=`` is accepted by ZCode and means a new session."""
    assert not is_session_id(session)
    with pytest.raises(ArgumentError):
        made("hello", session)


def test_a_relative_workspace_is_refused() -> None:
    with pytest.raises(ArgumentError):
        arguments(Delivery("hello"), turn_mode("plan"), workspace=Path("site"))


@given(st.text(max_size=50), st.none() | st.just(SESSION))
def test_no_argument_list_has_the_options_that_end_a_run(prompt: str, resume: str | None) -> None:
    """zai-org/feedback#600: ``--max-turns`` and ``--allowed-tools`` are in a help text, the parser rejects them."""
    allowed = {"--prompt", "--output-format", "--cwd", "--mode", "--disallowed-tools", "--resume", "--attach"}
    _, argv = made(prompt, resume)
    assert {token.partition("=")[0] for token in argv} <= allowed
    assert all("=" in token for token in argv)


@pytest.mark.parametrize("rejected", ["--max-turns=5", "--allowed-tools=Read", "--model=x", "--permission-mode=plan"])
def test_the_parser_that_these_lists_are_held_against_rejects_such_options(rejected: str) -> None:
    with pytest.raises(UsageError, match="Unknown option"):
        parse([*made("hello")[1], rejected])


def test_full_has_no_deny_list_at_all_rather_than_an_empty_one() -> None:
    argv = arguments(Delivery("hello"), turn_mode("full"), workspace=WORKSPACE)
    assert all(not token.startswith("--disallowed-tools") for token in argv)
    assert deny_list_of(argv) == ()


def test_the_probe_has_every_option_of_a_turn_but_the_prompt() -> None:
    _, argv = made("hello", SESSION, limit=0)
    probe = probe_arguments(turn_mode("plan"), workspace=WORKSPACE)
    flags = [token.partition("=")[0] for token in argv[1:] if not token.startswith("--resume=")]
    assert [token.partition("=")[0] for token in probe] == [*flags, "--version"]
    assert parse(list(probe)).values["version"] is True
