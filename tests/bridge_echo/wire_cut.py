"""A way to the gateway that can be cut: a relay that swallows or holds the answer to a certain request."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

__all__ = ["WireCut", "wire_cut"]

HEAD_END = b"\r\n\r\n"


@dataclass
class WireCut:
    """Relays connections to the gateway at `port`. The answer to the next `times` requests whose head holds `words`
    is never passed on: the gateway has done its part, and the connection breaks (or, with `hold`, stays silent)."""

    port: int
    words: bytes = b"\x00"
    times: int = 0
    hold: bool = False
    url: str = ""
    swallowed: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    writers: set[asyncio.StreamWriter] = field(default_factory=set)

    async def break_all(self) -> None:
        """Break every connection there is."""
        for writer in self.writers:
            writer.transport.abort()

    async def until_swallowed(self, count: int = 1) -> None:
        async with asyncio.timeout(30), self.changed:
            await self.changed.wait_for(lambda: self.swallowed >= count)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks: list[asyncio.Task[None]] = []
        try:
            to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            writer.close()
            return
        caught = asyncio.Event()
        self.writers |= {writer, to_writer}
        try:
            tasks = [
                asyncio.create_task(self._requests(reader, to_writer, caught)),
                asyncio.create_task(self._answers(to_reader, writer, caught)),
            ]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for side in (writer, to_writer):
                self.writers.discard(side)
                side.close()

    async def _requests(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, caught: asyncio.Event
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                if self.times and self.words in data:
                    self.times -= 1
                    caught.set()
                writer.write(data)
                await writer.drain()

    async def _answers(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, caught: asyncio.Event) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                if caught.is_set():
                    async with self.changed:
                        self.swallowed += 1
                        self.changed.notify_all()
                    if self.hold:
                        await asyncio.Event().wait()
                    return
                writer.write(data)
                await writer.drain()


@asynccontextmanager
async def wire_cut(port: int, words: str, *, times: int = 1, hold: bool = False) -> AsyncIterator[WireCut]:
    """A relay on a port of its own."""
    cut = WireCut(port, words.encode(), times, hold)
    server = await asyncio.start_server(cut.serve, "127.0.0.1", 0)
    cut.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield cut
    finally:
        server.close()
