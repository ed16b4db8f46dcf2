"""Files to and from the gateway in pieces: memory stays bounded whatever their size."""

import os
import secrets
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import BinaryIO

from .gateway_errors import GatewayProblem, GatewayUnreachable
from .gateway_transport import Body, Transport

__all__ = ["Upload", "read", "save"]

CHUNK = 64 * 1024


class Upload:
    """A request body from bytes or an open file. `size` in bytes; calling it gives the body, anew for each try."""

    def __init__(self, data: bytes | BinaryIO):
        self._data = data
        if isinstance(data, bytes):
            self._start, self.size = 0, len(data)
        else:
            self._start = data.tell()
            self.size = os.fstat(data.fileno()).st_size - self._start

    def __call__(self) -> Body:
        return self._data if isinstance(self._data, bytes) else self._pieces(self._data)

    async def _pieces(self, file: BinaryIO) -> AsyncIterator[bytes]:
        file.seek(self._start)
        left = self.size
        while left:
            piece = file.read(min(CHUNK, left))
            if not piece:
                raise OSError("the file became shorter while it was being sent")
            left -= len(piece)
            yield piece


async def save(http: Transport, path: str, dest: Path, *, size: int | None = None, limit: int | None = None) -> int:
    """Write what the gateway has at `path` to the file `dest` (mode 0600), whole or not at all; returns its size.

    `size` is the number of bytes that must come, `limit` the highest allowed. Raises GatewayProblem (``too_large``
    above the limit, ``bad_answer`` for another size), GatewayUnreachable when it breaks off, OSError of the disk.
    """
    part = dest.with_name(f".{secrets.token_hex(8)}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        written = 0
        with os.fdopen(descriptor, "wb") as file:
            async with aclosing(_bounded(http, path, size, limit)) as chunks:
                async for chunk in chunks:
                    written += file.write(chunk)
        part.replace(dest)
    finally:
        part.unlink(missing_ok=True)
    return written


async def read(http: Transport, path: str, *, limit: int) -> bytes:
    """What the gateway has at `path`, at most `limit` bytes. Raises as `save` does."""
    async with aclosing(_bounded(http, path, None, limit)) as chunks:
        return b"".join([chunk async for chunk in chunks])


async def _bounded(http: Transport, path: str, size: int | None, limit: int | None) -> AsyncGenerator[bytes, None]:
    async with http.open("GET", path) as response, aclosing(http.chunks(response)) as chunks:
        announced = response.headers.get("content-length")
        if size is None and announced is not None and "content-encoding" not in response.headers:
            size = int(announced)
        seen = 0
        async for chunk in chunks:
            seen += len(chunk)
            if limit is not None and seen > limit:
                detail = f"larger than the {limit} bytes that are taken here"
                raise GatewayProblem(413, "too_large", "Too large", detail)
            yield chunk
    if size is not None and seen != size:
        raise GatewayUnreachable(f"{seen} of {size} bytes came from {http.url}: try again")
