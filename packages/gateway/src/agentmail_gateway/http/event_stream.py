"""``GET /api/v1/events``: one principal's events as a stream, resumable by ``Last-Event-ID``.

Written to the server's `send` directly, without a response object: a stream costs two small tasks and a few hundred
bytes. Each write waits until the connection takes more, so that what the server buffers is bounded, too. The headers
keep proxies from buffering, compressing or caching the stream (agentapi#69, opencode#25657).
"""

import asyncio
import re
from collections.abc import Callable

from ..gateway import Gateway
from ..problems import Problem
from .event_hub import Hub, Subscriber
from .event_text import Frame, comment, frame, reset
from .exchange import Headers, Request, Scope, Send
from .route import MAILBOX, Call, route

__all__ = ["PING_S", "ROUTES", "TRANSPORT_KEY", "keep_pinging", "stream_events"]

TRANSPORT_KEY = "agentmail.transport"
PING_S = 12.0
BACKLOG_PAGE = 200
CHUNK_BYTES = 64 * 1024
CONNECTED = b": connected\nretry: 1000\n\n"
CURSOR_PATTERN = re.compile(r"[0-9]{1,18}")
HEADERS: Headers = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


async def stream_events(call: Call, send: Send) -> None:
    """The caller's events from now on, or all since the one named by `Last-Event-ID`."""
    assert call.caller is not None
    hub = call.services.hub
    if hub.closing or len(hub) >= call.services.settings.streams:
        raise Problem("unavailable", "There is no room for another event stream now; connect again later.", 5.0)
    asked = call.request.header(b"last-event-id") or None
    resumed = asked is not None and CURSOR_PATTERN.fullmatch(asked) is not None
    now = hub.cursor
    subscriber = Subscriber(
        call.caller.who,
        int(asked) if asked is not None and resumed else now,
        live=not resumed,
        valid=call.caller.valid,
        abort=_abort(call.request.scope),
    )
    hub.add(subscriber)
    leaving = asyncio.create_task(_until_gone(call.request, subscriber))
    try:
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        if resumed:
            await _write(send, CONNECTED)
            await _catch_up(call.services.gateway, hub, subscriber, send)
        else:
            await _write(send, CONNECTED + (comment("now", now) if asked is None else reset("malformed_cursor", now)))
        while subscriber.end_reason is None:
            await subscriber.wait()
            await _write_frames(hub, subscriber, send, subscriber.take())
        if subscriber.end_reason != "gone":
            last = f": end, {subscriber.end_reason}\n\n".encode()
            await send({"type": "http.response.body", "body": last})
    except asyncio.CancelledError:
        if subscriber.end_reason != "slow":
            raise
    finally:
        leaving.cancel()
        hub.remove(subscriber)


async def _catch_up(gateway: Gateway, hub: Hub, subscriber: Subscriber, send: Send) -> None:
    """Write what is stored after the subscriber's cursor, until nothing newer went by; then it is live."""
    while subscriber.end_reason is None:
        passed = subscriber.missed
        events = await gateway.events_after(subscriber.who, subscriber.position, BACKLOG_PAGE)
        if events is None:
            subscriber.go_live(hub.cursor)
            await _write(send, reset("unknown_cursor", subscriber.position))
        elif events:
            subscriber.position = events[-1].id
            await _write_frames(hub, subscriber, send, [frame(each.id, each.type, each.data) for each in events])
        elif subscriber.missed == passed:
            subscriber.go_live(max(passed, subscriber.position))
        if subscriber.live:
            return


async def _write_frames(hub: Hub, subscriber: Subscriber, send: Send, frames: list[Frame]) -> None:
    batch: list[Frame] = []
    size = 0
    for item in frames:
        batch.append(item)
        size += len(item.data)
        if size >= CHUNK_BYTES:
            await _write(send, b"".join([each.data for each in batch]))
            await hub.written(subscriber, batch)
            batch, size = [], 0
    if batch:
        await _write(send, b"".join([each.data for each in batch]))
        await hub.written(subscriber, batch)
    subscriber.stalled = 0


async def _write(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": True})


async def _until_gone(request: Request, subscriber: Subscriber) -> None:
    await request.gone()
    subscriber.end("gone")


def _abort(scope: Scope) -> Callable[[], object]:
    """What cuts the connection at once; a server that doesn't hand its transport over gets the task cancelled."""
    given = scope.get("extensions", {}).get(TRANSPORT_KEY)
    if given is not None:
        transport: asyncio.WriteTransport = given["transport"]
        return transport.abort
    task = asyncio.current_task()
    assert task is not None
    return task.cancel


async def keep_pinging(hub: Hub) -> None:
    """Show life to each subscriber every PING_S seconds, spread over that time; runs until it is cancelled."""
    while True:
        await asyncio.sleep(PING_S / hub.ping_steps)
        hub.ping()


ROUTES = (
    route(
        "GET",
        "/api/v1/events",
        stream_events,
        who=MAILBOX,
        gives="text/event-stream",
        headers=("Last-Event-ID",),
        problems=("unavailable",),
    ),
)
