"""Attachments: files by id, on disk before they have an id, gone after a day when no mail has them."""

import asyncio
import hashlib
import os
import re
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Final

from .attachment_rows import find_attachment
from .core import Core
from .keys import new_secret
from .principal import Principal
from .problems import Problem, invalid, not_found
from .store.faults import unavailable
from .store.interface import Reader, Tx
from .store.private_file import open_private, private_folder, sync_folder
from .vendor.plain_text import one_line
from .vendor.wire import Attachment

__all__ = ["get_attachment", "path_of", "put_attachment", "remove_leftovers", "sweep_attachments"]

DAY_MS: Final = 24 * 3_600_000
_PIECE: Final = 1024 * 1024
_SWEEP: Final = 500
_UNUSED: Final = 500
_UNUSED_BYTES = 1024 * 1024 * 1024
_TYPE: Final = re.compile(r"[\w!#$&^.+-]{1,100}/[\w!#$&^.+-]{1,100}", re.ASCII)


async def put_attachment(
    core: Core, who: Principal, name: str, media_type: str, chunks: AsyncIterator[bytes]
) -> Attachment:
    """Store a file; it is on disk when this returns. `name` is a label and never a path.

    Raises Problem ``too_large`` as soon as more than the limit has come, ``rate_limited`` when very many uploads of the
    caller (of a turn key: of the turn) are in no mail yet, ``invalid``, ``unavailable``.
    """
    caller = core.caller(who)
    turn = None if caller.turn is None else caller.turn.id
    core.store.read(partial(_check_room, core, caller.account.id, turn))
    label = one_line(name, 200) or "file"
    kind = media_type.partition(";")[0].strip().lower() or "application/octet-stream"
    if not _TYPE.fullmatch(kind):
        raise invalid("The media type is not one; write it like text/plain.")
    folder = core.data / "attachments"
    incoming = folder / f".{new_secret('amc')}.part"
    try:
        size, digest = await _receive(incoming, chunks, core.limits.attachment_bytes)
        number = core.mint.head()
        path = path_of(core, number)
        await asyncio.to_thread(_settle, incoming, path)

        def job(tx: Tx) -> None:
            tx.execute(
                "INSERT INTO attachments (id, owner, turn, name, type, size, sha256, created) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (number, caller.account.id, turn, label, kind, size, digest, tx.now),
            )

        try:
            await core.store.write(job)
        except Problem:
            path.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise unavailable(error) from error
    finally:
        incoming.unlink(missing_ok=True)
    return Attachment(core.ids.text("att", number), label, kind, size)


def _check_room(core: Core, owner: int, turn: int | None, reader: Reader) -> None:
    """Raise Problem ``rate_limited`` when the uploads of `owner` in `turn` that no mail has taken are too many."""
    count, size = reader.execute(
        "SELECT count(*), coalesce(sum(size), 0) FROM attachments WHERE used = 0 AND owner = ? AND turn IS ?",
        (owner, turn),
    ).fetchone()
    if count >= _UNUSED or size >= max(_UNUSED_BYTES, 4 * core.limits.attachment_bytes):
        raise Problem(
            "rate_limited",
            f"{count} uploads of yours with {size} bytes are in no mail yet. Send them, or wait: what no mail takes is "
            "removed after a day.",
            3600.0,
        )


async def get_attachment(core: Core, who: Principal, attachment_id: str) -> tuple[Attachment, Path]:
    """An attachment and its file. Raises Problem ``not_found``."""
    caller = core.caller(who)
    number = core.head("att", attachment_id, "attachment")
    found = core.store.read(lambda reader: find_attachment(core, reader, caller, number))
    if found is None:
        raise not_found("attachment")
    return found, path_of(core, number)


def path_of(core: Core, number: int) -> Path:
    """Where the file of an attachment lies; the folders keep any one of them small."""
    name = core.ids.text("att", number)
    return core.data / "attachments" / name[-2:] / name


async def sweep_attachments(core: Core) -> None:
    """Remove uploads that no mail took within a day, and files that a crash left without a row."""

    def job(tx: Tx) -> list[int]:
        rows = tx.execute(
            "SELECT id FROM attachments WHERE used = 0 AND created < ? ORDER BY id LIMIT ?", (tx.now - DAY_MS, _SWEEP)
        ).fetchall()
        for row in rows:
            tx.execute("DELETE FROM attachments WHERE id = ?", row)
        return [number for (number,) in rows]

    for number in await core.store.write(job):
        path_of(core, number).unlink(missing_ok=True)
    found = await asyncio.to_thread(_files_before, core, core.clock() - DAY_MS)
    for start in range(0, len(found), _SWEEP):
        for path in core.store.read(partial(_without_row, core, found[start : start + _SWEEP])):
            path.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Remove what uploads left behind that a crash cut short; for a start, when none runs."""
    private_folder(folder)
    for incoming in folder.glob(".*.part"):
        incoming.unlink(missing_ok=True)


async def _receive(path: Path, chunks: AsyncIterator[bytes], limit: int) -> tuple[int, bytes]:
    """Write `chunks` to a new file; its size and SHA-256."""
    size, digest = 0, hashlib.sha256()
    piece = bytearray()
    with open_private(path) as file:

        def put(data: bytes) -> None:
            digest.update(data)
            file.write(data)

        async for chunk in chunks:
            size += len(chunk)
            if size > limit:
                raise Problem("too_large", f"An attachment has at most {limit} bytes.")
            piece += chunk
            if len(piece) >= _PIECE:
                await asyncio.to_thread(put, bytes(piece))
                piece.clear()
        put(bytes(piece))
        file.flush()
        await asyncio.to_thread(os.fsync, file.fileno())
    return size, digest.digest()


def _settle(incoming: Path, path: Path) -> None:
    if not path.parent.is_dir():
        private_folder(path.parent)
        sync_folder(path.parent.parent)
    incoming.replace(path)
    sync_folder(path.parent)


def _files_before(core: Core, ms: int) -> list[Path]:
    files = (core.data / "attachments").glob("*/att_*")
    return [path for path in files if path.stat().st_mtime * 1000 < ms]


def _without_row(core: Core, paths: list[Path], reader: Reader) -> list[Path]:
    def known(path: Path) -> bool:
        number = core.ids.head("att", path.name)
        return number is None or bool(reader.execute("SELECT 1 FROM attachments WHERE id = ?", (number,)).fetchone())

    return [path for path in paths if not known(path)]
