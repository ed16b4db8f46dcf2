"""Whether listing and reading stay flat: 10,000 mails in an inbox and 200,000 in the store, against a small store."""

import asyncio
import time
from pathlib import Path

from .measure import Figure, percentile
from .raw_http import Connection
from .servers import Gateway, gateway

SMALL, INBOX, STORE, READS, SENDERS = 100, 10_000, 200_000, 200, 32
THREAD = 5  # mails in the thread that is read


async def person(server: Gateway, name: str) -> str:
    """A new person; returns the token."""
    admin = server.connect()
    status, answer = await admin.request("POST", "/api/v1/admin/people", {"name": name})
    admin.close()
    assert status == 201, answer
    return str(answer["key"])


async def fill(server: Gateway, to: str, count: int) -> None:
    """Send `count` small mails to `to`, each a thread of its own."""
    left = iter(range(count))

    async def send(connection: Connection) -> None:
        for number in left:
            body = {"to": [to], "subject": f"Mail {number}", "body": "A few words."}
            status, answer = await connection.request("POST", "/api/v1/mails", body)
            assert status == 201, answer
        connection.close()

    await asyncio.gather(*(send(server.connect()) for _ in range(SENDERS)))


async def a_thread(server: Gateway, to: str) -> str:
    """A thread of a few mails; returns its id."""
    connection, answer_to, thread = server.connect(), None, ""
    for _ in range(THREAD):
        body = {"to": [to], "subject": "A thread", "body": "A few words.", "in_reply_to": answer_to}
        status, mail = await connection.request("POST", "/api/v1/mails", body)
        assert status == 201, mail
        answer_to, thread = mail["id"], mail["thread_id"]
    connection.close()
    return thread


async def reads(connection: Connection, path: str) -> float:
    """The p50 of reading `path`, in milliseconds."""
    times = []
    for _ in range(READS):
        begin = time.perf_counter()
        status, _ = await connection.request("GET", path)
        times.append((time.perf_counter() - begin) * 1000)
        assert status == 200
    return percentile(times, 0.5)


async def run(folder: Path) -> list[Figure]:
    """Measure in `folder`; some minutes, most of it for filling the large store."""
    async with gateway(folder / "small") as small, gateway(folder / "large") as large:
        stores = []
        for server, inbox, rest in ((small, SMALL, 0), (large, INBOX, STORE - INBOX)):
            reader = server.connect(await person(server, "reader"))
            await person(server, "other")
            await fill(server, "reader", inbox)
            await fill(server, "other", rest)
            stores.append((reader, await a_thread(server, "reader")))
        figures = []
        for name, path in (
            ("inbox page", "/api/v1/mails?box=inbox&limit=50"),
            ("newest inbox page", "/api/v1/mails?box=inbox&order=newest&limit=50"),
            ("unread inbox page", "/api/v1/mails?box=inbox&unread=true&limit=50"),
            ("thread list page", "/api/v1/threads?limit=50"),
            ("thread", "/api/v1/threads/{thread}"),
            ("search", "/api/v1/search?q=thread&limit=20"),
        ):
            floor, value = [await reads(connection, path.format(thread=thread)) for connection, thread in stores]
            figures.append(Figure(f"{name}, {STORE:,} mails against {SMALL}, p50", value, "ms", 1.5, floor))
        for connection, _ in stores:
            connection.close()
    return figures
