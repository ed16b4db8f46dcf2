"""The event stream over real sockets."""

import asyncio
import contextlib
import socket
from typing import Any

import pytest

from .support import Process, Stream, ask, head, open_stream, read_head, running

EVENTS = "/api/v1/events"


async def new_mails(stream: Stream, count: int) -> list[str]:
    return [(await stream.event("new_mail")).data["mail_id"] for _ in range(count)]


async def test_the_stream_is_made_for_proxies(gateway: Process) -> None:
    """agentapi#69, opencode#25657: no buffering, no caching, no compression, and a first byte at once"""
    _, token = await gateway.person()
    headers = {"Accept-Encoding": "gzip, br"}
    async with open_stream(gateway.port, token, headers=headers) as stream:
        assert stream.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert stream.headers["cache-control"] == "no-cache, no-transform"
        assert stream.headers["x-accel-buffering"] == "no"
        assert "content-encoding" not in stream.headers
        assert "content-length" not in stream.headers


async def test_mail_is_announced_with_its_turn(gateway: Process) -> None:
    name, key = await gateway.agent()
    async with open_stream(gateway.port, key) as stream:
        mail = await gateway.send(name)
        event = await stream.event("new_mail")
        assert event.data["mail_id"] == mail["id"]
        assert event.data["thread_id"] == mail["thread_id"]
        assert event.data["turn_id"] == mail["receipts"][0]["turn_id"]
        assert event.id is not None
        assert event.id.isdigit()


async def test_a_first_connection_gets_only_what_comes_after_it(gateway: Process) -> None:
    name, token = await gateway.person()
    await gateway.send(name)
    async with open_stream(gateway.port, token) as stream:
        later = await gateway.send(name)
        assert await new_mails(stream, 1) == [later["id"]]


async def test_a_first_connection_learns_its_cursor_before_any_event(gateway: Process) -> None:
    name, token = await gateway.person()
    async with open_stream(gateway.port, token) as stream:
        block = await stream.block()
        assert block is not None
        assert (block.data, block.id is not None) == (None, True)
        cursor = stream.last_id
    mail = await gateway.send(name)
    async with open_stream(gateway.port, token, cursor) as stream:
        assert await new_mails(stream, 1) == [mail["id"]]


async def test_events_are_for_their_addressee_alone(gateway: Process) -> None:
    first, first_token = await gateway.person()
    second, second_token = await gateway.person()
    async with open_stream(gateway.port, first_token) as one, open_stream(gateway.port, second_token) as two:
        for_second = await gateway.send(second)
        for_first = await gateway.send(first)
        assert await new_mails(one, 1) == [for_first["id"]]
        assert await new_mails(two, 1) == [for_second["id"]]


async def test_two_streams_of_one_person_both_get_everything(gateway: Process) -> None:
    name, token = await gateway.person()
    async with open_stream(gateway.port, token) as one, open_stream(gateway.port, token) as two:
        sent = [(await gateway.send(name))["id"] for _ in range(3)]
        assert await new_mails(one, 3) == await new_mails(two, 3) == sent


async def test_a_stream_resumes_where_it_was_left(gateway: Process) -> None:
    """opencode#25657: a client that comes back gets what it missed, once and in order"""
    name, token = await gateway.person()
    async with open_stream(gateway.port, token) as stream:
        sent = [(await gateway.send(name))["id"] for _ in range(2)]
        seen = await new_mails(stream, 2)
        cursor = stream.last_id
    sent += [(await gateway.send(name))["id"] for _ in range(450)]
    async with open_stream(gateway.port, token, cursor) as stream:
        seen += await new_mails(stream, 450)
        sent.append((await gateway.send(name))["id"])
        seen += await new_mails(stream, 1)
    assert seen == sent


async def test_mail_that_comes_while_a_stream_catches_up_is_neither_lost_nor_doubled(gateway: Process) -> None:
    name, token = await gateway.person()
    async with open_stream(gateway.port, token) as stream:
        await stream.block()
        cursor = stream.last_id
    sent = [(await gateway.send(name))["id"] for _ in range(100)]

    async def keep_sending() -> None:
        for _ in range(100):
            sent.append((await gateway.send(name))["id"])

    sending = asyncio.create_task(keep_sending())
    streams = []
    for _ in range(5):
        async with open_stream(gateway.port, token, cursor) as stream:
            streams.append((await new_mails(stream, 100), stream.last_id))
    await sending
    for seen, last_id in streams:
        async with open_stream(gateway.port, token, last_id) as stream:
            assert seen + await new_mails(stream, 100) == sent


@pytest.mark.parametrize("cursor", ["99999999999", "999999999999999999"])
async def test_an_unknown_cursor_gets_a_reset(gateway: Process, cursor: str) -> None:
    name, token = await gateway.person()
    async with open_stream(gateway.port, token, cursor) as stream:
        event = await stream.event()
        assert (event.type, event.data) == ("reset", {"reason": "unknown_cursor"})
        mail = await gateway.send(name)
        assert await new_mails(stream, 1) == [mail["id"]]
        fresh = event.id
    async with open_stream(gateway.port, token, fresh) as stream:
        assert await new_mails(stream, 1) == [mail["id"]]


@pytest.mark.parametrize("cursor", ["abc", "-1", "1.5", "0x1", "9" * 30, "1 2", "\u00b2"])
async def test_a_cursor_that_is_no_number_gets_a_reset(gateway: Process, cursor: str) -> None:
    _, token = await gateway.person()
    async with open_stream(gateway.port, token, cursor) as stream:
        event = await stream.event()
        assert (event.type, event.data) == ("reset", {"reason": "malformed_cursor"})
        assert event.id is not None


async def test_the_cursor_holds_over_kill_and_restart(tmp_path_factory: pytest.TempPathFactory) -> None:
    data = tmp_path_factory.mktemp("restart") / "data"
    with running(data) as first:
        name, token = await first.person()
        async with open_stream(first.port, token) as stream:
            sent = [(await first.send(name))["id"] for _ in range(3)]
            seen = await new_mails(stream, 2)
            cursor = stream.last_id
            first.kill()
    with running(data) as second:
        async with open_stream(second.port, token, cursor) as stream:
            seen += await new_mails(stream, 1)
            assert seen == sent
            before = stream.last_id
            sent.append((await second.send(name))["id"])
            event = await stream.event("new_mail")
            assert event.data["mail_id"] == sent[-1]
            assert int(event.id or 0) > int(before or 0)


async def test_a_turn_counts_as_pushed_once_its_agent_was_told(gateway: Process) -> None:
    name, key = await gateway.agent()
    unheard = await gateway.send(name)
    async with open_stream(gateway.port, key) as stream:
        heard = await gateway.send(name)
        await stream.event("new_mail")
        async with asyncio.timeout(10):
            while not (await gateway.ask("GET", f"/api/v1/mails/{heard['id']}")).json["receipts"][0]["pushed_at"]:
                pass
    answer = await gateway.ask("GET", f"/api/v1/mails/{unheard['id']}")
    assert answer.json["receipts"][0]["pushed_at"] is None


@pytest.mark.parametrize("way", ["rotate", "disable"])
async def test_a_revoked_key_ends_its_streams(gateway: Process, way: str) -> None:
    name, key = await gateway.agent()
    _, other = await gateway.person()
    async with open_stream(gateway.port, key) as stream, open_stream(gateway.port, other) as untouched:
        if way == "rotate":
            await gateway.ask("POST", f"/api/v1/admin/agents/{name}/rotate")
        else:
            await gateway.ask("PATCH", f"/api/v1/admin/agents/{name}", {"disabled": True})
        await stream.ended()
        await untouched.block()
    assert (await ask(gateway.port, "GET", EVENTS, token=key)).status == 401


async def test_a_signed_in_browser_listens_until_it_signs_out(gateway: Process) -> None:
    code = (await gateway.ask("POST", "/api/v1/sign-in-codes")).json["code"]
    signed_in = await ask(gateway.port, "POST", "/api/v1/sign-in", {"code": code})
    cookie = {"Cookie": signed_in.headers["set-cookie"].partition(";")[0]}
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    writer.write(head("GET", EVENTS, cookie))
    status, headers = await read_head(reader)
    assert status == 200
    out = await ask(gateway.port, "POST", "/api/v1/sign-out", headers=cookie | {"X-CSRF-Token": signed_in.json["csrf"]})
    assert out.status == 204
    await Stream(reader, writer, headers).ended()
    writer.close()


async def test_the_directory_is_told_live_and_without_an_id(gateway: Process) -> None:
    _, key = await gateway.agent()
    _, token = await gateway.person()
    beat: dict[str, Any] = {
        "bridge_version": "1",
        "agent_version": None,
        "mode_enforcement": {},
        "max_mode": "plan",
        "can_ask": False,
        "busy": 0,
    }
    async with open_stream(gateway.port, token) as stream:
        assert (await gateway.ask("POST", "/api/v1/agents/me/heartbeat", beat, token=key)).status == 204
        event = await stream.event("agent_state")
        assert event.id is None


async def test_a_reader_that_stops_is_cut_off_and_resumes(gateway: Process) -> None:
    """What waits for one reader is bounded; it loses its connection, and nothing else."""
    name, key = await gateway.agent()
    mail = await gateway.send(name)
    turn = mail["receipts"][0]["turn_id"]
    claim = await gateway.ask("POST", f"/api/v1/turns/{turn}/claim", token=key)
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.connect(("127.0.0.1", gateway.port))
    slow.sendall(head("GET", EVENTS, {"Authorization": f"Bearer {gateway.admin}"}))
    slow.setblocking(False)
    _, unrelated = await gateway.person()
    async with open_stream(gateway.port, unrelated):
        text = "x" * 60_000
        async with asyncio.timeout(60):
            for number in range(1, 1_000_000):
                events = [{"seq": number, "at": "2026-12-01T00:00:00.000Z", "type": "text", "text": text}]
                body = {"lease": claim.json["lease"], "events": events}
                answer = await gateway.ask("POST", f"/api/v1/turns/{turn}/progress", body, token=key)
                assert answer.status == 204, answer
                figures = (await gateway.ask("GET", "/metrics", token=None)).content.decode()
                if 'agentmail_event_streams_ended_total{reason="slow"} 1.0' in figures:
                    break
    slow.setblocking(True)
    slow.settimeout(20)
    with contextlib.suppress(ConnectionResetError):
        while slow.recv(65536):
            pass
    slow.close()
    async with open_stream(gateway.port, gateway.admin) as stream:
        await stream.block()


async def test_head_opens_no_stream(gateway: Process) -> None:
    answer = await gateway.ask("HEAD", EVENTS)
    assert answer.status == 405
