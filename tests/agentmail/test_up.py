"""`agentmail up` with real processes: one command to the first answer, and nothing left behind whatever is killed."""

import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from .installation import Installation, Up, processes_of

pytestmark = pytest.mark.slow


@pytest.fixture
def here(tmp_path: Path) -> Installation:
    return Installation(tmp_path / "home")


def _wait_gone(processes: list[psutil.Process], limit_s: float = 20.0) -> list[psutil.Process]:
    _, left = psutil.wait_procs(processes, timeout=limit_s)
    return [process for process in left if process.status() != psutil.STATUS_ZOMBIE]


def _send(here: Installation, url: str) -> "subprocess.CompletedProcess[str]":
    """Write to echo; while the gateway comes back, again."""
    while True:
        sent = here.run("send", "echo", "hello again", "--wait", "30", "--url", url)
        if sent.returncode != 3:
            return sent


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Installation, Up]]:
    """One installation, started for the first time, that no test stops or breaks."""
    here = Installation(tmp_path_factory.mktemp("running") / "home")
    with here.up_with_all() as up:
        yield here, up.ready()


def test_the_first_run_shows_an_answered_mail(running: tuple[Installation, Up]) -> None:
    _, up = running
    text = "\n".join(up.lines)
    assert up.lines[0].startswith("AgentMail: http://127.0.0.1:")
    assert "  echo      ready" in text
    assert [f"  {name} " in text for name in ("zcode", "opencode", "pi", "dsh")] == [True] * 4
    assert "you → echo:  Hello echo" in text
    assert "echo → you:  " in text


def test_keys_logs_and_the_token_are_private_and_the_key_is_in_no_argument_or_log(
    running: tuple[Installation, Up],
) -> None:
    """AgentChatBus#8, mcp-memory-service#1117: keys in lists, URLs, logs."""
    here, up = running
    key = (here.home / "keys" / "echo.key").read_text().strip()
    token = (here.home / "gateway" / "person.token").read_text().strip()
    secret_files = [here.home / "keys" / "echo.key", here.home / "gateway" / "person.token"]
    for path in [*secret_files, *(here.home / "logs").iterdir()]:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert stat.S_IMODE((here.home / "keys").stat().st_mode) == 0o700
    shown = "\n".join([*up.lines, *(path.read_text() for path in (here.home / "logs").iterdir())])
    shown += "\n".join(" ".join(process.cmdline()) for process in processes_of(here.home))
    shown += here.run("agents").stdout + here.run("agents", "--json").stdout
    for secret in (key, token):
        assert secret
        assert secret not in shown


def test_a_second_up_says_that_it_runs_and_where(running: tuple[Installation, Up]) -> None:
    here, up = running
    second = here.run("up")
    assert second.returncode == 0
    assert second.stdout.startswith(f"AgentMail runs already (process {up.process.pid}): {up.url}\n")


def test_ctrl_c_leaves_no_process_and_the_next_start_greets_nobody(here: Installation) -> None:
    with here.up("--no-greeting") as up:
        up.ready()
        assert here.run("inbox").stdout == "no mail\n"
        assert up.stop(signal.SIGTERM) == 0
        assert up.lines[-1] == "stopping …"
        assert processes_of(here.home) == []
        assert not (here.home / "gateway" / "address").exists()
        assert not (here.home / "greeted").exists()


def test_a_killed_up_leaves_nothing_and_the_next_one_starts_at_once(here: Installation) -> None:
    """takopi#254, mcp_agent_mail#123: a stale lock, two owners of one folder."""
    with here.up() as up:
        up.ready()
        children = psutil.Process(up.process.pid).children()
        assert len(children) == 2
        log = here.home / "logs" / "echo.log"
        up.process.kill()
        with here.up() as again:
            again.ready()
            assert _wait_gone(children) == []
            assert len(processes_of(here.home)) == 3
            assert here.run("send", "echo", "hello", "--wait", "30").returncode == 0
            assert again.stop() == 0
            assert processes_of(here.home) == []
            # Its gateway was still there when the bridge stopped.
            assert log.read_text().splitlines()[-1].endswith("ended exit_code=0")


def test_without_a_next_one_a_killed_up_still_leaves_nothing(here: Installation) -> None:
    with here.up() as up:
        up.ready()
        children = psutil.Process(up.process.pid).children()
        up.process.kill()
        assert _wait_gone(children) == []


def test_what_hangs_after_a_killed_up_is_ended_by_the_next_one(here: Installation) -> None:
    with here.up() as up:
        up.ready()
        stuck = up.child("gateway")
        stuck.suspend()
        up.process.kill()
        with here.up() as again:
            again.until("an earlier `agentmail up` was killed; what it left is ended first")
            again.ready()
            assert _wait_gone([stuck]) == []
            assert again.stop() == 0


def test_a_gateway_that_dies_is_started_again_at_the_same_address(here: Installation) -> None:
    with here.up() as up:
        up.ready()
        up.child("gateway").kill()
        line = up.until("gateway: ended")
        assert "killed by SIGKILL" in line
        assert "started again in 0.5 s" in line
        sent = _send(here, up.url)
        assert sent.returncode == 0, sent.stderr
        assert "hello again" in sent.stdout
        assert up.stop() == 0
        assert processes_of(here.home) == []


def test_a_bridge_that_dies_is_started_again(here: Installation) -> None:
    with here.up() as up:
        up.ready()
        up.child("echo").kill()
        assert "killed by SIGKILL" in up.until("echo: ended")
        assert here.run("send", "echo", "hello", "--wait", "30").returncode == 0


def test_a_taken_port_is_told_with_its_holder_and_a_free_one(here: Installation) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, here.up(port=server.getsockname()[1]) as up:
        assert up.rest() == 6
        (line,) = up.lines
        assert f"port {server.getsockname()[1]} is taken by" in line
        assert f"process {os.getpid()}" in line
        assert "agentmail up --port " in line
        assert processes_of(here.home) == []


def test_a_gateway_that_does_not_start_says_why(here: Installation) -> None:
    here.home.mkdir()
    (here.home / "gateway").write_text("not a folder")
    with here.up() as up:
        assert up.rest() == 6
        (line,) = up.lines
        assert line.startswith("agentmail: the gateway did not start: ")
        assert str(here.home / "logs" / "gateway.log") in line
    (here.home / "gateway").unlink()
    (here.home / "gateway").mkdir()
    (here.home / "gateway" / "agentmail.db").write_text("not a database")
    with here.up() as up:
        assert up.rest() == 6
        assert "Traceback" not in "".join(up.lines)


def test_a_folder_that_can_not_be_used_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = Installation(tmp_path / "file" / "home").run("up")
    assert result.returncode == 6
    assert "AGENTMAIL_HOME" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_second_ctrl_c_ends_at_once_what_does_not_stop(here: Installation) -> None:
    with here.up() as up:
        up.ready()
        children = psutil.Process(up.process.pid).children()
        up.child("echo").suspend()
        up.process.send_signal(signal.SIGINT)
        up.until("stopping …")
        # The same key press may arrive twice; only a later one counts.
        with pytest.raises(subprocess.TimeoutExpired):
            up.process.wait(0.7)
        assert up.stop() == 130
        assert "ended by force" in up.lines[-1]
        assert _wait_gone(children) == []


def test_a_lost_or_outdated_key_is_made_again_and_a_good_one_is_kept(here: Installation) -> None:
    file = here.home / "keys" / "echo.key"
    with here.up() as up:
        up.ready()
        first = file.read_text()
        assert up.stop() == 0
    with here.up() as up:
        up.ready()
        assert file.read_text() == first
        assert here.run("agent", "rotate", "echo").returncode == 0
        assert up.stop() == 0
    with here.up() as up:
        assert "ready" in up.until("  echo ")
        second = file.read_text()
        assert second != first
        assert up.stop() == 0
    file.unlink()
    with here.up() as up:
        assert "ready" in up.until("  echo ")
        assert file.read_text() not in {first, second}


def test_an_agent_that_was_removed_is_not_started(here: Installation) -> None:
    with here.up() as up:
        up.ready()
        assert here.run("agent", "remove", "echo").returncode == 0
        assert up.stop() == 0
    with here.up() as up:
        assert "agentmail agent resume echo" in up.until("  echo ")


def test_a_gateway_that_runs_already_is_used_left_running_and_replaced_when_it_goes(here: Installation) -> None:
    here.home.mkdir()
    gateway = subprocess.Popen(
        [sys.executable, "-m", "agentmail_gateway", "--data", str(here.home / "gateway"), "--port", "0"],
        env=here.environ,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert gateway.stdout is not None
    try:
        url = gateway.stdout.readline().split()[-1]
        with here.up() as up:
            up.ready()
            assert up.url == url
            assert up.stop() == 0
            assert up.lines[-1] == f"the gateway at {url} keeps running, it was not started here"
            assert gateway.poll() is None
            with here.up() as again:
                again.ready()
                gateway.terminate()
                gateway.wait(20)
                again.until(f"gateway: the one at {url} is gone")
                assert _send(here, url).returncode == 0
    finally:
        gateway.kill()
        gateway.wait()
        gateway.stdout.close()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
def test_as_root_agents_are_not_started_unless_allowed(tmp_path: Path) -> None:
    here = Installation(tmp_path / "home", {"AGENTMAIL_ZCODE_COMMAND": "/no/such/zcode.cjs"})
    with here.up("--only", "zcode", "--no-greeting") as up:
        assert "agentmail up --allow-root" in up.until("  zcode ")
        up.ready()
        assert up.stop() == 0
    with here.up("--only", "zcode", "--no-greeting", "--allow-root") as up:
        assert "not ready: " in up.until("  zcode ")
        up.ready()
        assert up.stop() == 0
        assert processes_of(here.home) == []
