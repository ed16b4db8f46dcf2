"""Attachments up and down: in pieces, whole or not at all."""

import asyncio
import stat
from pathlib import Path

import msgspec
import pytest

from ..gateway_client import GatewayClient, GatewayProblem, GatewayUnreachable
from ..gateway_files import Upload
from ..wire import Attachment, ProblemBody
from .loopback_server import answer, serving

MIB = 1024 * 1024


async def test_a_file_goes_up_whole_with_its_length_said_first(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    file.write_bytes(bytes(range(256)) * 1000)
    stored = answer(201, msgspec.json.encode(Attachment("att_1", "a", "x/y", 256_000)))
    async with serving([stored]) as server, GatewayClient(server.url, "amp_x") as client:
        await client.put_attachment("a", "x/y", file)
        [request] = server.requests
    assert request.body == file.read_bytes()
    assert request.headers["content-length"] == "256000"
    assert "transfer-encoding" not in request.headers


async def test_an_open_file_goes_up_from_where_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"skip this: content")
    stored = answer(201, msgspec.json.encode(Attachment("att_1", "a", "x/y", 7)))
    async with serving([stored]) as server, GatewayClient(server.url, "amp_x") as client:
        with path.open("rb") as file:
            file.seek(11)
            await client.put_attachment("a", "x/y", file)
        assert server.requests[0].body == b"content"


async def test_a_body_is_made_in_small_pieces_and_anew_for_each_try(tmp_path: Path) -> None:
    path = tmp_path / "big"
    path.write_bytes(b"x" * MIB)
    with path.open("rb") as file:
        upload = Upload(file)
        for _ in range(2):
            body = upload()
            assert not isinstance(body, bytes)
            sizes = [len(piece) async for piece in body]
            assert sum(sizes) == upload.size == MIB
            assert max(sizes) <= 64 * 1024


async def test_a_file_that_shrinks_while_it_is_sent_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 100)
    with path.open("rb") as file:
        upload = Upload(file)
        path.write_bytes(b"x" * 50)
        body = upload()
        assert not isinstance(body, bytes)
        with pytest.raises(OSError, match="became shorter"):
            _ = [piece async for piece in body]


async def test_a_refusal_before_the_whole_body_was_read_is_still_told(tmp_path: Path) -> None:
    """413 comes while the client still sends: the answer counts, not the broken pipe."""
    path = tmp_path / "big"
    with path.open("wb") as file:
        file.truncate(64 * MIB)
    body = msgspec.json.encode(ProblemBody(413, "too_large", detail="at most 25 MiB"))

    async def refuse(writer: asyncio.StreamWriter) -> None:
        writer.write(answer(413, body, Connection="close"))
        await writer.drain()
        writer.write_eof()
        reader = writer.transport.get_protocol()._stream_reader  # type: ignore[attr-defined]
        while await reader.read(MIB):
            pass

    async with serving([refuse], read_body=False) as server, GatewayClient(server.url, "amp_x") as client:
        with pytest.raises(GatewayProblem, match="at most 25 MiB") as caught:
            await client.put_attachment("big", "x/y", path)
    assert caught.value.code == "too_large"


async def test_a_download_replaces_its_file_and_only_the_owner_may_read_it(tmp_path: Path) -> None:
    dest = tmp_path / "a.bin"
    dest.write_bytes(b"old")
    content = bytes(range(256)) * 2000
    async with serving([answer(200, content)]) as server, GatewayClient(server.url, "amp_x") as client:
        assert await client.get_attachment("att_1", dest, size=len(content)) == len(content)
    assert dest.read_bytes() == content
    assert stat.S_IMODE(dest.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.bin"]


@pytest.mark.parametrize(
    ("given", "size", "limit"),
    [
        (answer(200, b"12345", Content_Length="9"), None, None),
        (answer(200, b"12345"), 6, None),
        (answer(200, b"12345"), None, 4),
        (answer(404, msgspec.json.encode(ProblemBody(404, "not_found"))), None, None),
        (None, None, None),
    ],
)
async def test_a_download_that_fails_leaves_the_folder_as_it_was(
    tmp_path: Path, given: bytes | None, size: int | None, limit: int | None
) -> None:
    dest = tmp_path / "a.bin"
    dest.write_bytes(b"old")
    async with serving([given], read_body=False) as server, GatewayClient(server.url, "amp_x", attempts=1) as client:
        with pytest.raises((GatewayProblem, GatewayUnreachable)):
            await client.get_attachment("att_1", dest, size=size, limit=limit)
    assert dest.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.bin"]


async def test_a_download_into_memory_is_bounded() -> None:
    async with serving([answer(200, b"12345")] * 2) as server, GatewayClient(server.url, "amp_x") as client:
        assert await client.read_attachment("att_1", limit=5) == b"12345"
        with pytest.raises(GatewayProblem, match="larger than the 4 bytes"):
            await client.read_attachment("att_1", limit=4)


async def test_an_empty_file_goes_up_and_comes_down(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    stored = answer(201, msgspec.json.encode(Attachment("att_1", "empty", "x/y", 0)))
    async with serving([stored, answer(200)]) as server, GatewayClient(server.url, "amp_x") as client:
        await client.put_attachment("empty", "x/y", tmp_path / "empty")
        assert server.requests[0].headers["content-length"] == "0"
        assert await client.get_attachment("att_1", tmp_path / "again", size=0) == 0
    assert (tmp_path / "again").read_bytes() == b""
