"""The floor for a send: a minimal server on the gateway's own stack.

Key check, JSON, three inserts, group commit with `synchronous=FULL`, one answer. No recipients, no threads, no limits,
no ledger, no events: what is left is what any durable send must cost. As a program: ``prototype.py FOLDER`` prints its
port.
"""

import asyncio
import hashlib
import hmac
import queue
import socket
import sqlite3
import sys
import threading
import uuid
from pathlib import Path

import msgspec
import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

KEY = "prototype-key"
KEY_HASH = hashlib.sha256(KEY.encode()).digest()
SCHEMA = """
CREATE TABLE mail (id TEXT PRIMARY KEY, thread TEXT, sender TEXT, subject TEXT, body TEXT, at REAL);
CREATE TABLE recipient (mail TEXT, name TEXT, unread INTEGER, PRIMARY KEY (mail, name));
CREATE TABLE event (id INTEGER PRIMARY KEY AUTOINCREMENT, principal TEXT, data TEXT);
"""


class Send(msgspec.Struct):
    """The part of a send's body that the prototype reads."""

    to: tuple[str, ...]
    subject: str
    body: str


class Writer(threading.Thread):
    """One thread that commits everything that waits in one transaction."""

    def __init__(self, path: Path, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(daemon=True)
        self.path, self.loop = path, loop
        self.jobs: queue.SimpleQueue[tuple[str, Send, asyncio.Future[None]]] = queue.SimpleQueue()

    def run(self) -> None:
        db = sqlite3.connect(self.path, isolation_level=None)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.executescript(SCHEMA)
        while True:
            batch = [self.jobs.get()]
            while not self.jobs.empty():
                batch.append(self.jobs.get())
            db.execute("BEGIN IMMEDIATE")
            for mail_id, send, _ in batch:
                db.execute(
                    "INSERT INTO mail VALUES (?, ?, ?, ?, ?, unixepoch())",
                    (mail_id, mail_id, "bench", send.subject, send.body),
                )
                db.execute("INSERT INTO recipient VALUES (?, ?, 1)", (mail_id, send.to[0]))
                db.execute("INSERT INTO event (principal, data) VALUES (?, ?)", (send.to[0], mail_id))
            db.execute("COMMIT")
            self.loop.call_soon_threadsafe(self._done, [future for _, _, future in batch])

    @staticmethod
    def _done(futures: list[asyncio.Future[None]]) -> None:
        for future in futures:
            if not future.done():
                future.set_result(None)


async def serve(folder: Path) -> None:
    """Serve on a free port of loopback until killed; the port is printed on a line of its own."""
    loop = asyncio.get_running_loop()
    writer = Writer(folder / "prototype.db", loop)
    writer.start()

    async def send(request: Request) -> Response:
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(hashlib.sha256(key.encode()).digest(), KEY_HASH):
            return Response(status_code=401)
        body = msgspec.json.decode(await request.body(), type=Send)
        mail_id = f"mail_{uuid.uuid4().hex}"
        future: asyncio.Future[None] = loop.create_future()
        writer.jobs.put((mail_id, body, future))
        await future
        answer = msgspec.json.encode({"id": mail_id, "subject": body.subject, "body": body.body})
        return Response(answer, status_code=201, media_type="application/json")

    app = Starlette(routes=[Route("/api/v1/mails", send, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, http="httptools", log_level="error"))
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    print(listener.getsockname()[1], flush=True)
    await server.serve(sockets=[listener])


if __name__ == "__main__":
    uvloop.run(serve(Path(sys.argv[1])))
