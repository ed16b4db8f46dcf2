"""The life of the process: start, second start, signals, files, log."""

import asyncio
import json
import os
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
from contextlib import AsyncExitStack, closing
from pathlib import Path

import pytest

from .support import Process, ask, head, open_stream, read_head, running, start

pytestmark = pytest.mark.slow


def attempt(*arguments: str, limit_s: float = 30) -> "subprocess.CompletedProcess[str]":
    """A start that is expected to fail, within `limit_s` seconds."""
    return subprocess.run(
        [sys.executable, "-m", "agentmail_gateway", *arguments],
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


async def test_a_start_makes_a_private_folder_a_token_and_an_address(data: Path) -> None:
    with running(data) as process:
        assert stat.S_IMODE(data.stat().st_mode) == 0o700
        assert stat.S_IMODE((data / "person.token").stat().st_mode) == 0o600
        assert (data / "address").read_text() == f"http://127.0.0.1:{process.port}\n"
        assert (await process.ask("GET", "/api/v1/whoami")).json["name"] == "ada"
        assert process.log.read_text() == ""
        assert process.stop() == 0
    assert not (data / "address").exists()
    assert process.log.read_text() == ""


def test_a_second_start_fails_and_names_the_holder(data: Path) -> None:
    """mcp_agent_mail#123, takopi#254"""
    with running(data) as process:
        second = attempt("--data", str(data), "--port", "0", limit_s=5)
        assert second.returncode == 3
        assert second.stderr.count("\n") == 1
        assert f"process {process.popen.pid} at http://127.0.0.1:{process.port}" in second.stderr
        assert second.stdout == ""


async def test_a_killed_gateway_leaves_nothing_that_blocks_the_next(data: Path) -> None:
    """mcp_agent_mail#123, takopi#254"""
    with running(data) as process:
        token = process.admin
        process.kill()
    assert (data / "address").exists()
    with running(data) as process:
        assert (await process.ask("GET", "/api/v1/whoami", token=token)).status == 200


def test_a_taken_port_is_named(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = attempt("--data", str(data), "--port", str(port))
    assert answer.returncode == 4
    assert f"port {port}" in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_a_foreign_address_is_no_place_to_listen(data: Path) -> None:
    answer = attempt("--data", str(data), "--port", "0", "--host", "192.0.2.1")
    assert answer.returncode == 4
    assert "192.0.2.1" in answer.stderr


def test_a_data_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    answer = attempt("--data", str(tmp_path / "file"), "--port", "0")
    assert answer.returncode == 1
    assert str(tmp_path / "file") in answer.stderr
    assert "Traceback" not in answer.stderr


def test_the_store_of_a_newer_gateway_is_left_alone(data: Path) -> None:
    with running(data) as process:
        assert process.stop() == 0
    (store,) = data.glob("*.db")
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA user_version = 9999")
    answer = attempt("--data", str(data), "--port", "0")
    assert answer.returncode == 1
    assert answer.stderr.count("\n") == 1
    assert "9999" in answer.stderr


def test_a_wrong_origin_is_named(data: Path) -> None:
    answer = attempt("--data", str(data), "--allow-origin", "mail.example.org")
    assert answer.returncode == 2
    assert "mail.example.org" in answer.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_open_streams_do_not_keep_the_gateway_alive(data: Path, number: signal.Signals) -> None:
    """sse-starlette#132"""
    with running(data) as process:
        async with AsyncExitStack() as stack:
            streams = [await stack.enter_async_context(open_stream(process.port, process.admin)) for _ in range(50)]
            process.popen.send_signal(number)
            assert await asyncio.to_thread(process.popen.wait, 5) == 0
            for stream in streams:
                await stream.ended()
    assert process.log.read_text() == ""


async def test_a_client_that_neither_reads_nor_leaves_does_not_keep_the_gateway_alive(data: Path) -> None:
    """sse-starlette#132"""
    with running(data) as process, socket.socket() as half:
        half.connect(("127.0.0.1", process.port))
        half.sendall(head("POST", "/api/v1/mails", {"Content-Length": "100", "Content-Type": "application/json"}))
        with socket.create_connection(("127.0.0.1", process.port)):
            assert (await process.ask("GET", "/healthz")).status == 200
            process.popen.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(process.popen.wait, 5) == 0


async def test_a_mail_answered_with_201_survives_a_kill_at_that_instant(data: Path) -> None:
    sent = []
    for _ in range(3):
        with running(data) as process:
            agents = (await process.ask("GET", "/api/v1/agents")).json["items"]
            if not agents:
                await process.agent("zcode")
            body = json.dumps({"to": ["zcode"], "subject": "Survives"}).encode()
            headers = {
                "Authorization": f"Bearer {process.admin}",
                "Content-Type": "application/json",
                "Content-Length": str(len(body)),
            }
            reader, writer = await asyncio.open_connection("127.0.0.1", process.port)
            writer.write(head("POST", "/api/v1/mails", headers) + body)
            status, answered = await read_head(reader)
            os.kill(process.popen.pid, signal.SIGKILL)
            assert status == 201
            sent.append(answered["location"].rpartition("/")[2])
            writer.close()
            process.popen.wait()
    with running(data) as process:
        listed = (await process.ask("GET", "/api/v1/mails?box=sent")).json["items"]
        assert [mail["id"] for mail in listed] == sent
        turns = (await process.ask("GET", "/api/v1/turns?state=queued")).json["items"]
        assert [turn["mail_id"] for turn in turns] == sent


async def test_the_log_holds_no_key_no_query_and_no_body(data: Path) -> None:
    """AgentChatBus#8, mcp-memory-service#1117"""
    with running(data, "--log-format", "json") as process:
        private = "private-words"
        _, key = await process.agent()
        await process.send("ada", subject=private, body=private)
        for path in (f"/api/v1/search?q={private}", f"/api/v1/mails?token={key}", f"/api/v1/{private}"):
            await process.ask("GET", path)
        await process.ask("POST", "/api/v1/mails", {"to": [private]}, headers={"Cookie": f"agentmail={key}"})
        await ask(process.port, "GET", "/api/v1/whoami", token=f"{key}x")
        reader, writer = await asyncio.open_connection("127.0.0.1", process.port)
        writer.write(f"GET /{key} nonsense\r\n\r\n".encode())
        await reader.read()
        writer.close()
        (data / "person.token").read_text()
        admin = process.admin
        assert process.stop() == 0
        log = process.log.read_text()
    for secret in (key, admin, private):
        assert secret not in log
    for line in log.splitlines():
        json.loads(line)


async def test_a_gateway_that_others_can_reach_says_so(data: Path) -> None:
    with running(data, "--host", "0.0.0.0", "--log-format", "json") as process:
        (line,) = [json.loads(text) for text in process.log.read_text().splitlines()]
        assert line["level"] == "warning"
        assert "--host 127.0.0.1" in line["advice"]
        assert (data / "address").read_text() == f"http://127.0.0.1:{process.port}\n"
        assert (await process.ask("GET", "/api/v1/whoami", headers={"Host": "0.0.0.0"})).status == 403


async def test_allowed_names_and_origins_pass(data: Path) -> None:
    options = ("--allow-host", "mail.example.org", "--allow-origin", "https://pages.example.org")
    with running(data, *options) as process:
        headers = {"Host": "mail.example.org", "Origin": "https://pages.example.org"}
        assert (await process.ask("GET", "/api/v1/whoami", headers=headers)).status == 200
        headers["Origin"] = "https://mail.example.org"
        assert (await process.ask("GET", "/api/v1/whoami", headers=headers)).status == 200


async def test_behind_a_trusted_proxy_with_tls_the_cookie_is_for_https_only(data: Path) -> None:
    for options, name in (((), "agentmail="), (("--trusted-proxy", "127.0.0.1"), "__Host-agentmail=")):
        with running(data, *options) as process:
            code = (await process.ask("POST", "/api/v1/sign-in-codes")).json["code"]
            headers = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.7"}
            answer = await ask(process.port, "POST", "/api/v1/sign-in", {"code": code}, headers=headers)
            assert answer.status == 200
            assert answer.headers["set-cookie"].startswith(name)
            assert ("Secure" in answer.headers["set-cookie"]) == bool(options)


async def test_guessing_keys_is_slowed_down_and_locks_nobody_out(data: Path) -> None:
    with running(data) as process:
        answers = [await ask(process.port, "GET", "/api/v1/whoami", token=f"guess{number}") for number in range(25)]
        assert [answer.status for answer in answers] == [401] * 20 + [429] * 5
        assert answers[-1].code == "rate_limited"
        assert int(answers[-1].headers["retry-after"]) > 0
        assert (await process.ask("GET", "/api/v1/whoami")).status == 200
        for _ in range(2):
            answer = await ask(process.port, "POST", "/api/v1/sign-in", {"code": "guess"})
            assert (answer.status, answer.code) == (429, "rate_limited")


async def test_health_readiness_figures_and_the_front_page(data: Path) -> None:
    with running(data) as process:
        for path in ("/healthz", "/readyz"):
            answer = await ask(process.port, "GET", path, headers={"Host": "10.0.0.7"})
            assert (answer.status, answer.json) == (200, {"status": "ok"})
        page = await ask(process.port, "GET", "/")
        assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert b"<script" not in page.content
        assert b"/api/v1/openapi.json" in page.content
        async with open_stream(process.port, process.admin):
            figures = await ask(process.port, "GET", "/metrics")
        assert figures.headers["content-type"].startswith("text/plain; version=0.0.4")
        text = figures.content.decode()
        assert 'agentmail_http_requests_total{method="GET",route="/healthz",status="200"} 1.0' in text
        assert "agentmail_event_subscribers 1.0" in text
        assert "agentmail_http_request_seconds_bucket" in text


async def test_figures_are_not_for_others_behind_a_proxy(data: Path) -> None:
    with running(data) as process:
        _, token = await process.person()
        proxied = {"X-Forwarded-For": "192.0.2.7"}
        assert (await ask(process.port, "GET", "/metrics", headers=proxied)).status == 401
        assert (await ask(process.port, "GET", "/metrics", token=token, headers=proxied)).status == 403
        assert (await ask(process.port, "GET", "/metrics", token=process.admin, headers=proxied)).status == 200


async def test_there_is_no_default_credential(data: Path) -> None:
    with running(data) as process:
        for token in ("", "admin", "ada", "agentmail", "changeme", "password"):
            assert (await ask(process.port, "GET", "/api/v1/whoami", token=token)).status == 401


def test_a_stopped_gateway_starts_again_on_the_same_port(data: Path) -> None:
    first = start(data)
    assert first.stop() == 0
    assert first.popen.stdout is not None
    first.popen.stdout.close()
    with running(data, "--port", str(first.port)) as second:
        assert isinstance(second, Process)
        assert second.port == first.port
