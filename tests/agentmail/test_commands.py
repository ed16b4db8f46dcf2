"""The commands against a real gateway and a real bridge."""

import json
import os
import pty
import select
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from .installation import Installation

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    installation = Installation(tmp_path_factory.mktemp("commands") / "home")
    with installation.up("--no-greeting") as up:
        up.ready()
        yield installation


@pytest.fixture
def paused(here: Installation) -> Iterator[None]:
    """While the test runs, echo takes no work."""
    assert here.run("agent", "pause", "echo").returncode == 0
    yield
    assert here.run("agent", "resume", "echo").returncode == 0


def _json(here: Installation, *arguments: str, code: int = 0, stdin: str = "") -> Any:
    result = here.run(*arguments, "--json", stdin=stdin)
    assert result.returncode == code, result.stderr
    return json.loads(result.stdout)


def _send(here: Installation, *arguments: str) -> Any:
    return _json(here, "send", "echo", *arguments, "--wait", "60")


def test_send_and_wait_shows_the_answer(here: Installation) -> None:
    result = here.run("send", "echo", "-s", "Grüße", "Hello there 你好", "--wait")
    assert result.returncode == 0, result.stderr
    assert "From:    echo  (auto-replied)" in result.stdout
    assert "Subject: Re: Grüße" in result.stdout
    assert "> Hello there 你好" in result.stdout
    assert result.stderr == ""


def test_send_without_wait_prints_the_mails_id(here: Installation) -> None:
    result = here.run("send", "echo", "Hello")
    assert result.returncode == 0
    assert result.stdout.startswith("mail_")
    assert here.run("read", result.stdout.strip()).returncode == 0


def test_the_text_comes_from_standard_input_byte_for_byte(here: Installation) -> None:
    text = "first line\n\n  -s not an option\n末\n"
    for arguments in (["send", "echo"], ["send", "echo", "-"]):
        sent = _json(here, *arguments, stdin=text)
        assert sent["mail"]["body"] == text


def test_no_text_is_a_usage_error_unless_a_subject_says_it_all(here: Installation) -> None:
    result = here.run("send", "echo")
    assert result.returncode == 2
    assert "the mail has no text" in result.stderr
    assert here.run("send", "echo", "-s", "ping").returncode == 0


def test_what_is_not_utf_8_belongs_into_an_attachment(here: Installation) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "agentmail", "send", "echo"],
        env=here.environ,
        input=b"\xff\xfe",
        capture_output=True,
        check=False,
    )
    assert result.returncode == 2
    assert b"--attach" in result.stderr


def test_json_of_a_waited_for_mail_holds_mail_turns_and_replies(here: Installation) -> None:
    sent = _send(here, "-s", "x", "y")
    assert set(sent) == {"mail", "turns", "replies"}
    assert sent["mail"]["receipts"][0]["state"] == "answered"
    assert [turn["state"] for turn in sent["turns"]] == ["answered"]
    assert sent["replies"][0]["in_reply_to"] == sent["mail"]["id"]


def test_an_unknown_recipient_is_refused_by_name(here: Installation) -> None:
    result = here.run("send", "echo,nobody-here", "x")
    assert result.returncode == 4
    assert "nobody-here" in result.stderr
    assert result.stderr.count("\n") == 1
    problem = json.loads(here.run("send", "nobody-here", "x", "--json").stderr)["error"]
    assert (problem["code"], problem["status"], problem["exit"]) == ("unknown_recipient", 422, 4)


def test_attachments_arrive_and_are_saved_under_harmless_names(here: Installation, tmp_path: Path) -> None:
    evil = tmp_path / "a\u202egpj.exe"
    evil.write_bytes(b"\x00\x01" * 50_000)
    plain = tmp_path / "notes.txt"
    plain.write_text("hello")
    sent = _json(here, "send", "echo", "see files", "--attach", str(evil), "--attach", str(plain))
    assert [(a["name"], a["size"], a["type"]) for a in sent["mail"]["attachments"]][1] == ("notes.txt", 5, "text/plain")
    shown = here.run("read", sent["mail"]["id"]).stdout
    assert "\u202e" not in shown
    assert "97.7 KiB" in shown
    folder = tmp_path / "saved"
    saved = here.run("read", sent["mail"]["id"], "--save", str(folder))
    assert saved.returncode == 0, saved.stderr
    files = sorted(folder.iterdir())
    assert len(files) == 2
    assert (folder / "notes.txt").read_text() == "hello"
    assert all("\u202e" not in file.name for file in files)
    again = here.run("read", sent["mail"]["id"], "--save", str(folder))
    assert again.returncode == 6
    assert "is there already" in again.stderr


def test_a_reply_joins_the_thread_whatever_its_subject(here: Installation) -> None:
    """hermes-agent#26277: a thread lost when the subject gets 回复: or AW:"""
    first = _send(here, "-s", "Tests", "one")
    answer = first["replies"][0]["id"]
    second = _json(here, "reply", answer, "two", "-s", "回复: AW: etwas", "--wait", "60")
    assert second["mail"]["thread_id"] == first["mail"]["thread_id"]
    assert [ref["name"] for ref in second["mail"]["to"]] == ["echo"]
    thread = _json(here, "thread", first["mail"]["thread_id"])
    assert [mail["body"] for mail in thread["mails"] if mail["from"]["kind"] == "person"] == ["one", "two"]
    assert here.run("thread", answer).stdout.count("── ") == 4


def test_listing_marks_nothing_read_and_reading_does(here: Installation) -> None:
    """mcp_agent_mail#254: listing marks read."""
    reply = _send(here, "-s", "unread", "x")["replies"][0]["id"]

    def unread() -> bool:
        return any(mail["id"] == reply for mail in _json(here, "inbox", "--unread", "--from", "echo")["items"])

    here.run("inbox")
    here.run("thread", reply)
    here.run("search", "unread")
    here.run("read", reply, "--keep-unread")
    assert unread()
    assert "Re: unread" in here.run("read", reply).stdout
    assert not unread()


def test_a_few_digits_are_enough_for_an_id(here: Installation) -> None:
    mail_id = here.run("send", "echo", "short").stdout.strip()
    assert mail_id in here.run("read", mail_id[-12:]).stdout


def test_the_inbox_shows_the_newest_last_and_no_more_than_asked(here: Installation) -> None:
    for number in range(3):
        _send(here, "-s", f"number {number}", "x")
    subjects = [mail["subject"] for mail in _json(here, "inbox", "-n", "2")["items"]]
    assert subjects == ["Re: number 1", "Re: number 2"]
    sent = [mail["subject"] for mail in _json(here, "inbox", "--sent", "-n", "2")["items"]]
    assert sent == ["number 1", "number 2"]


def test_search_finds_two_chinese_characters(here: Installation) -> None:
    """hermes#14829: CJK search finds nothing."""
    here.run("send", "echo", "-s", "天气", "今天下雨了")
    assert "天气" in here.run("search", "下雨").stdout
    assert here.run("search", "没有这个词").stdout == "nothing found\n"


def test_hostile_mail_can_not_steer_the_terminal(here: Installation) -> None:
    bad = "\x1b]0;pwn\x07\u202e\x9b31m\x08"
    sent = _json(here, "send", "echo", "-s", f"s{bad}", f"b{bad}", "--wait", "60")
    reply = sent["replies"][0]["id"]
    for arguments in (
        ["inbox"],
        ["read", reply],
        ["thread", reply],
        ["search", "pwn"],
        ["turns"],
        ["read", reply, "--json"],
        ["thread", reply, "--json"],
    ):
        shown = here.run(*arguments).stdout
        assert "pwn" in shown, arguments
        assert not set(shown) & set("\x1b\x07\u202e\x9b\x08"), arguments


@pytest.mark.usefixtures("paused")
def test_a_wait_that_is_over_says_how_to_go_on(here: Installation) -> None:
    result = here.run("send", "echo", "later", "--wait", "1")
    assert result.returncode == 5
    assert "the turn goes on" in result.stderr
    turn = result.stderr.split("agentmail watch ")[1].split()[0]
    assert turn.startswith("turn_")
    assert "queued" in here.run("turns", "--state", "open").stdout
    cancelled = here.run("cancel", turn)
    assert cancelled.returncode == 0
    assert cancelled.stdout.startswith("echo: cancelled")
    watched = here.run("watch", turn)
    assert watched.returncode == 1
    assert "echo: cancelled" in watched.stdout


@pytest.mark.usefixtures("paused")
def test_cancelling_a_mail_cancels_its_open_turns(here: Installation) -> None:
    mail_id = here.run("send", "echo", "never mind").stdout.strip()
    assert [turn["state"] for turn in _json(here, "cancel", mail_id)["items"]] == ["cancelled"]
    assert here.run("cancel", mail_id).stdout == "no open turn\n"


def test_watch_follows_to_the_answer(here: Installation) -> None:
    here.run("agent", "pause", "echo")
    mail = _json(here, "send", "echo", "watch me")["mail"]
    turn = mail["receipts"][0]["turn_id"]
    watching = subprocess.Popen(
        [sys.executable, "-m", "agentmail", "watch", turn, "--json"],
        env=here.environ,
        stdout=subprocess.PIPE,
        text=True,
    )
    here.run("agent", "resume", "echo")
    out, _ = watching.communicate(timeout=60)
    assert watching.returncode == 0
    assert json.loads(out)["replies"][0]["in_reply_to"] == mail["id"]


@pytest.mark.usefixtures("paused")
def test_ctrl_c_while_waiting_leaves_the_mail_sent_and_says_so(here: Installation) -> None:
    before = len(_json(here, "turns", "--state", "queued")["items"])
    waiting = subprocess.Popen(
        [sys.executable, "-m", "agentmail", "send", "echo", "wait for it", "--wait"],
        env=here.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while len(_json(here, "turns", "--state", "queued")["items"]) == before:
        assert waiting.poll() is None
    waiting.send_signal(signal.SIGINT)
    _, err = waiting.communicate(timeout=60)
    assert waiting.returncode == 130
    # The gateway has it before the command knows so: in between, no more than that can be said.
    told = "the mail is sent and its turn goes on" in err and "agentmail cancel turn_" in err
    assert told or ("it may be sent" in err and "agentmail inbox --sent" in err)
    assert err.strip().count("\n") == 0


def test_progress_is_shown_on_a_terminal(here: Installation) -> None:
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "agentmail", "send", "echo", "show me", "--wait"],
        env={**here.environ, "TERM": "xterm", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=follower,
        text=True,
    )
    os.close(follower)
    out, _ = process.communicate(timeout=60)
    shown, deadline = b"", monotonic() + 10
    while monotonic() < deadline and select.select([leader], [], [], 0.1)[0]:
        try:
            shown += os.read(leader, 65536)
        except OSError:
            break
    os.close(leader)
    assert process.returncode == 0
    assert "> show me" in out
    assert b"running" in shown
    assert b"answered" in shown
    assert shown.endswith(b"\r\n")
    assert "\x1b" not in out


def test_the_directory_tells_who_is_ready(here: Installation) -> None:
    (agent,) = [agent for agent in _json(here, "agents")["items"] if agent["name"] == "echo"]
    assert agent["ready"] is True
    line = next(line for line in here.run("agents").stdout.splitlines() if line.startswith("echo "))
    assert line.split()[1] == "ready"


def test_an_agents_key_is_shown_once(here: Installation) -> None:
    key = here.run("agent", "add", "helper", "--max-mode", "plan").stdout.strip()
    assert key.startswith("ama_")
    assert here.run("agent", "add", "helper").returncode == 4
    assert here.run("inbox", AGENTMAIL_TOKEN=key).returncode == 0
    rotated = _json(here, "agent", "rotate", "helper")
    assert rotated["key"] != key
    assert here.run("inbox", AGENTMAIL_TOKEN=key).returncode == 4
    saved = _json(here, "agent", "rotate", "helper", "--save-key")
    assert saved == {"name": "helper", "key_file": str(here.home / "keys" / "helper.key")}
    assert stat.S_IMODE((here.home / "keys" / "helper.key").stat().st_mode) == 0o600
    assert here.run("agent", "remove", "helper").stdout.startswith("helper: removed")
    assert here.run("send", "helper", "x").returncode == 4
    resumed = _json(here, "agent", "resume", "helper")
    assert (resumed["disabled"], resumed["max_mode"]) == (False, "plan")


def test_only_an_administrator_makes_agents(here: Installation) -> None:
    key = (here.home / "keys" / "echo.key").read_text().strip()
    result = here.run("agent", "add", "rogue", AGENTMAIL_TOKEN=key)
    assert result.returncode == 4
    assert key not in result.stderr


def test_a_wrong_token_says_where_the_right_one_comes_from(here: Installation) -> None:
    result = here.run("inbox", AGENTMAIL_TOKEN="amp_wrong")
    assert result.returncode == 4
    assert "AGENTMAIL_TOKEN" in result.stderr
    assert here.run("inbox", AGENTMAIL_TOKEN="schlüssel").returncode == 6


def test_a_mail_to_several_agents_and_people_waits_for_the_agents_only(here: Installation) -> None:
    me = _json(here, "send", "echo", "x")["mail"]["from"]["name"]
    result = here.run("send", me, "note to myself", "--wait")
    assert result.returncode == 0
    assert "no agent has to answer" in result.stdout
    both = _json(here, "send", "echo", me, "hello", "--wait", "60")
    assert [turn["agent"] for turn in both["turns"]] == ["echo"]


def test_tier_and_workspace_are_asked_for(here: Installation) -> None:
    mail = _json(here, "send", "echo", "x", "--mode", "workspace", "--workspace", "default", "--wait", "60")
    assert (mail["mail"]["permission_mode"], mail["mail"]["workspace"]) == ("workspace", "default")
    assert mail["turns"][0]["effective_mode"] == "workspace"


def test_there_are_no_dead_letters(here: Installation) -> None:
    assert here.run("dead", "list").stdout == "no dead letters\n"
    assert _json(here, "dead", "list") == {"items": []}
    assert here.run("dead", "retry", "--all").stdout == "no dead letters\n"
    assert here.run("dead", "prune", "--all").stdout == "no dead letters\n"
    turn = _send(here, "x")["turns"][0]["id"]
    result = here.run("dead", "show", turn)
    assert result.returncode == 4
    assert "is answered, not a dead letter" in result.stderr
