"""Commit → event at a subscriber beside 1,000 idle subscribers, and what an idle subscriber costs."""

import asyncio
import resource
import time
from pathlib import Path

from .measure import Figure, percentile
from .servers import gateway

IDLE, MAILS = 1000, 400


async def next_event(reader: asyncio.StreamReader, name: bytes) -> None:
    """Read the stream up to the end of the next event called `name`."""
    while True:
        block = await reader.readuntil(b"\n\n")
        if b"event: " + name in block:
            return


async def run(folder: Path) -> list[Figure]:
    """Measure in `folder`; about 20 s.

    The commit is not visible from outside, but the answer of the send is: measured is the event's delay behind the 201
    (negative where the event is quicker), with one connection that sends and one that listens.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8192)), hard))
    async with gateway(folder / "gateway") as server:
        sender, admin = server.connect(), server.connect()
        tokens = []
        for name in ("idle", "listener"):
            status, answer = await admin.request("POST", "/api/v1/admin/people", {"name": name})
            assert status == 201, answer
            tokens.append(answer["key"])
        probe = server.connect(tokens[1])
        listener = await probe.stream("/api/v1/events")
        await asyncio.sleep(0.5)
        before = server.process.memory_info().rss
        idle = [server.connect(tokens[0]) for _ in range(IDLE)]
        for connection in idle:
            await connection.stream("/api/v1/events")
        await asyncio.sleep(0.5)
        each = (server.process.memory_info().rss - before) / IDLE / 1024
        delays = []
        for _ in range(MAILS):
            arrival = asyncio.create_task(next_event(listener, b"new_mail"))
            arrival.add_done_callback(lambda _: delays.append(time.perf_counter()))
            status, _ = await sender.request("POST", "/api/v1/mails", {"to": ["listener"], "subject": "s", "body": "b"})
            stored = time.perf_counter()
            await arrival
            await asyncio.sleep(0)
            delays[-1] = (delays[-1] - stored) * 1000
            assert status == 201
        for connection in (sender, admin, probe, *idle):
            connection.close()
    return [
        Figure("201 -> event at a subscriber beside 1,000 idle, p95", percentile(delays, 0.95), "ms", 1),
        Figure("memory per idle subscriber", each, "KiB", 16),
    ]
