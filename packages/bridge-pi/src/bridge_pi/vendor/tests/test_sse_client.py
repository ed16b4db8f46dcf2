"""The event stream that stays, against real servers on loopback."""

import asyncio
import logging

import httpx2
import msgspec
import pytest

from ..gateway_client import GatewayClient
from ..http_connection import open_client
from ..sse_client import EventStream, EventTooLargeError, ServerEvent, StreamRefusedError
from ..sse_client import __all__ as exported
from ..wire import ProblemBody
from .loopback_server import Answer, answer, serving

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n"


def stream_of(*pieces: bytes) -> Answer:
    """An answer that sends `pieces` as an event stream and then ends it."""

    async def send(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()

    return send


def staying(*pieces: bytes) -> Answer:
    """An answer that sends `pieces` and then says nothing more."""

    async def send(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"".join(pieces))
        await writer.drain()
        await asyncio.Event().wait()

    return send


class Watch:
    """Notes what a stream tells: connects, losses with their waits, and the pauses that it made."""

    def __init__(self) -> None:
        self.connects = 0
        self.losses: list[str] = []
        self.waits: list[float] = []
        self.pauses: list[float] = []

    def connected(self) -> None:
        self.connects += 1

    def disconnected(self, why: str, wait_s: float) -> None:
        self.losses.append(why)
        self.waits.append(wait_s)

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)

    def open(self, url: str, *, random: float = 0.5, idle_s: float = 30.0, after: str | None = None) -> EventStream:
        return EventStream(
            url,
            {"Authorization": "Bearer ama_x"},
            last_event_id=after,
            idle_s=idle_s,
            connected=self.connected,
            disconnected=self.disconnected,
            random=lambda: random,
            sleep=self.sleep,
            now=lambda: 100.0,
        )


async def take(stream: EventStream, count: int) -> list[str]:
    """The data of the next `count` events, within 10 s."""
    async with asyncio.timeout(10):
        return [(await anext(stream)).data for _ in range(count)]


def test_the_public_names_are_sorted() -> None:
    assert exported == sorted(exported)


async def test_the_request_asks_for_an_uncached_uncompressed_stream() -> None:
    """opencode#25657: what a proxy may hold back or pack is said in the request."""
    watch = Watch()
    async with serving([staying(b"data: a\n\n")]) as server, watch.open(server.url + "/api/v1/events") as stream:
        assert await take(stream, 1) == ["a"]
        [request] = server.requests
    assert (request.method, request.target) == ("GET", "/api/v1/events")
    assert request.headers["accept"] == "text/event-stream"
    assert request.headers["cache-control"] == "no-cache"
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["authorization"] == "Bearer ama_x"
    assert "last-event-id" not in request.headers


async def test_a_stream_that_ends_is_taken_up_after_the_last_whole_event() -> None:
    """agentapi#69: no gap, no repetition"""
    watch = Watch()
    first = stream_of(b"id: 1\ndata: a\n\n", b"id: 2\nda", b"ta: b\n\n", b"id: 3\ndata: half")
    async with serving([first, None, staying(b"id: 3\ndata: c\n\n")]) as server, watch.open(server.url) as stream:
        assert await take(stream, 2) == ["a", "b"]
        assert stream.last_event_id == "2"
        assert await take(stream, 1) == ["c"]
        assert [request.headers.get("last-event-id") for request in server.requests] == [None, "2", "2"]
    assert watch.connects == 2
    assert len(watch.losses) == 2


async def test_a_stream_starts_after_the_id_it_is_given() -> None:
    watch = Watch()
    async with serving([staying(b"data: a\n\n")]) as server, watch.open(server.url, after="41") as stream:
        assert await anext(stream) == ServerEvent("41", "message", "a")
        assert server.requests[0].headers["last-event-id"] == "41"


async def test_a_reset_is_passed_on_with_the_new_id() -> None:
    watch = Watch()
    reset = b'id: 9\nevent: reset\ndata: {"reason":"unknown"}\n\n'
    async with serving([stream_of(reset), staying(b"data: a\n\n")]) as server, watch.open(server.url) as stream:
        event = await anext(stream)
        assert (event.event, event.id) == ("reset", "9")
        await take(stream, 1)
        assert server.requests[1].headers["last-event-id"] == "9"


async def test_connected_is_told_after_every_connect_and_before_its_events() -> None:
    seen: list[str] = []
    async with serving([stream_of(b"data: a\n\n"), staying(b"data: b\n\n")]) as server:
        watch = Watch()
        async with EventStream(server.url, {}, connected=lambda: seen.append("connected"), sleep=watch.sleep) as stream:
            for _ in range(2):
                seen += await take(stream, 1)
    assert seen == ["connected", "a", "connected", "b"]


@pytest.mark.parametrize("failure", [None, answer(500), answer(502), answer(503), answer(408), answer(429)])
async def test_a_passing_failure_is_followed_by_longer_and_longer_waits(failure: Answer) -> None:
    watch = Watch()
    script: list[Answer] = [failure] * 7
    async with serving([*script, staying(b"data: a\n\n")]) as server, watch.open(server.url) as stream:
        assert await take(stream, 1) == ["a"]
    assert watch.pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0]
    assert watch.waits == watch.pauses


async def test_the_waits_start_again_once_something_came() -> None:
    watch = Watch()
    script: list[Answer] = [None, None, stream_of(b": ping\n\n"), None, staying(b"data: a\n\n")]
    async with serving(script) as server, watch.open(server.url) as stream:
        await take(stream, 1)
    assert watch.pauses == [0.5, 1.0, 0.5, 1.0]


async def test_the_wait_that_a_stream_asks_for_is_the_least() -> None:
    watch = Watch()
    script: list[Answer] = [stream_of(b"retry: 3000\n\n"), None, staying(b"data: a\n\n")]
    async with serving(script) as server, watch.open(server.url, random=0.0) as stream:
        await take(stream, 1)
    assert watch.pauses == [3.0, 3.0]


@pytest.mark.parametrize(
    ("header", "wait"), [("20", 20.0), ("Thu, 01 Jan 1970 00:02:00 GMT", 20.0), ("86400", 600.0), ("later", 0.5)]
)
async def test_retry_after_is_kept_up_to_ten_minutes(header: str, wait: float) -> None:
    watch = Watch()
    script = [answer(503, Retry_After=header), staying(b"data: a\n\n")]
    async with serving(script) as server, watch.open(server.url) as stream:
        await take(stream, 1)
    assert watch.pauses == [wait]


async def test_silence_ends_a_connection_and_the_next_goes_on_after_the_last_event() -> None:
    """agentapi#69, opencode#25657: a proxy that buffers, or a peer that is gone, looks like this."""
    watch = Watch()
    script = [staying(b"id: 5\ndata: a\n\n"), staying(b"data: b\n\n")]
    async with serving(script) as server, watch.open(server.url, idle_s=0.05) as stream:
        assert await take(stream, 2) == ["a", "b"]
        assert server.requests[1].headers["last-event-id"] == "5"
    assert "not even a ping" in watch.losses[0]


async def test_silence_before_the_head_ends_a_connection_too() -> None:
    """opencode#25657: a proxy may hold back the head as well."""

    async def nothing(_: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    watch = Watch()
    async with serving([nothing, staying(b"data: a\n\n")]) as server, watch.open(server.url, idle_s=0.05) as stream:
        assert await take(stream, 1) == ["a"]
    assert watch.connects == 1
    assert "not even a ping" in watch.losses[0]


async def test_silence_is_measured_between_any_two_bytes_so_that_comments_count() -> None:
    limits: list[object] = []

    def note(request: httpx2.Request) -> httpx2.Response:
        limits.append(request.extensions["timeout"])
        return httpx2.Response(200, headers={"Content-Type": "text/event-stream"}, content=b": ping\n\ndata: a\n\n")

    transport = httpx2.MockTransport(note)
    async with (
        httpx2.AsyncClient(transport=transport, timeout=1) as client,
        EventStream("http://gateway.test/", {}, client=client) as stream,
    ):
        assert await take(stream, 1) == ["a"]
    assert limits == [{"connect": 10.0, "read": 45.0, "write": 45.0, "pool": 45.0}]


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (204, "stay away"),
        (401, "AGENTMAIL_AGENT_KEY"),
        (403, "this agent is paused by ada"),
        (404, "no event stream for this client"),
        (301, "no event stream for this client"),
    ],
)
async def test_a_refusal_stops_with_a_clear_error_and_can_be_tried_again(status: int, says: str) -> None:
    body = msgspec.json.encode(ProblemBody(403, "forbidden", detail="this agent is paused by ada"))
    refusal = answer(status, body if status == 403 else b"")
    watch = Watch()
    async with serving([refusal, staying(b"data: a\n\n")]) as server, watch.open(server.url) as stream:
        with pytest.raises(StreamRefusedError, match=says) as caught:
            await take(stream, 1)
        assert caught.value.status == status
        assert len(server.requests) == 1
        assert watch.connects == 0
        assert await take(stream, 1) == ["a"]
    assert watch.pauses == [0.5]


async def test_a_page_that_is_no_event_stream_is_not_read_as_one() -> None:
    watch = Watch()
    page = answer(200, b"data: no\n\n", Content_Type="text/html")
    async with serving([page, staying(b"data: a\n\n")]) as server, watch.open(server.url) as stream:
        assert await take(stream, 1) == ["a"]
    assert "text/html" in watch.losses[0]


async def test_a_gateway_that_is_not_there_is_waited_for() -> None:
    async with serving([]) as server:
        free = server.url
    watch = Watch()
    given_up = asyncio.Event()

    async def sleep(seconds: float) -> None:
        watch.pauses.append(seconds)
        if len(watch.pauses) == 3:
            given_up.set()
            await asyncio.Event().wait()

    stream = EventStream(free, {}, disconnected=watch.disconnected, sleep=sleep)
    reading = asyncio.ensure_future(anext(stream))
    await asyncio.wait_for(given_up.wait(), 10)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await stream.aclose()
    assert watch.losses[0] == f"no gateway answers at {free}: start it with `agentmail up`"


async def test_a_cancelled_step_loses_no_event_and_leaves_no_task_behind() -> None:
    watch = Watch()
    before = asyncio.all_tasks()
    async with serving([staying(b"id: 1\ndata: a\n\n"), staying(b"id: 2\ndata: b\n\n")]) as server:
        async with watch.open(server.url) as stream:
            assert await take(stream, 1) == ["a"]
            waiting = asyncio.ensure_future(anext(stream))
            await asyncio.wait([waiting], timeout=0.01)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert await take(stream, 1) == ["b"]
            assert server.requests[1].headers["last-event-id"] == "1"
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
    assert asyncio.all_tasks() == before


async def test_an_event_beyond_the_limit_is_an_error_after_those_before_it() -> None:
    watch = Watch()
    huge = stream_of(b"data: a\n\ndata: ", *[b"x" * (1024 * 1024)] * 9)
    async with serving([huge]) as server, watch.open(server.url) as stream:
        assert await take(stream, 1) == ["a"]
        with pytest.raises(EventTooLargeError):
            await take(stream, 1)


async def test_an_event_of_many_mebibytes_arrives() -> None:
    watch = Watch()
    large = staying(b"data: ", *[b"x" * (1024 * 1024)] * 7, b"\n\n")
    async with serving([large]) as server, watch.open(server.url) as stream:
        [data] = await take(stream, 1)
    assert len(data) == 7 * 1024 * 1024


async def test_a_client_that_was_passed_in_stays_open() -> None:
    async with serving([staying(b"data: a\n\n"), answer(200, b"still")]) as server, open_client(server.url) as client:
        async with EventStream(server.url, {}, client=client) as stream:
            await take(stream, 1)
        assert (await client.get(server.url)).content == b"still"


async def test_proxy_settings_are_ignored_for_a_gateway_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """agentapi#69"""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    watch = Watch()
    async with serving([staying(b"data: a\n\n")]) as server, watch.open(server.url) as stream:
        assert await take(stream, 1) == ["a"]
    assert watch.losses == []


async def test_a_gateway_client_opens_its_own_stream_with_its_key(caplog: pytest.LogCaptureFixture) -> None:
    """AgentChatBus#8: and the key is in no log line."""
    caplog.set_level(logging.DEBUG)
    async with serving([staying(b"data: a\n\n")]) as server, GatewayClient(server.url, "ama_x-secret") as client:
        async with client.event_stream("3") as stream:
            assert await take(stream, 1) == ["a"]
            assert "ama_x-secret" not in repr(stream)
        assert server.requests[0].target == "/api/v1/events"
        assert server.requests[0].headers["authorization"] == "Bearer ama_x-secret"
        assert server.requests[0].headers["last-event-id"] == "3"
    assert "ama_x-secret" not in caplog.text
