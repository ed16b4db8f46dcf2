import asyncio
import hashlib
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentmail_gateway import attachments
from agentmail_gateway.gateway import Gateway
from agentmail_gateway.principal import Principal
from agentmail_gateway.problems import Problem
from agentmail_gateway.vendor import wire

from .test_sqlite_store import files_no_larger_than
from .world import World, a_world


async def pieces(*content: bytes) -> AsyncIterator[bytes]:
    for piece in content:
        yield piece


async def put(world: World, who: Principal, *content: bytes, name: str = "a.txt", kind: str = "text/plain") -> str:
    stored = await world.gateway.put_attachment(who, name=name, type=kind, chunks=pieces(*content))
    return stored.id


def files(world: World) -> list[Path]:
    return [path for path in (world.data / "attachments").rglob("*") if path.is_file()]


async def sweep(world: World) -> None:
    await attachments.sweep_attachments(world.gateway._core)


async def test_a_file_comes_back_as_it_was(world: World) -> None:
    content = os.urandom(3_000_000)
    stored = await world.gateway.put_attachment(
        world.ada, name="a.png", type="image/PNG; x=y", chunks=pieces(content[:100], content[100:])
    )
    assert stored == wire.Attachment(stored.id, "a.png", "image/png", 3_000_000)
    found, path = await world.gateway.get_attachment(world.ada, stored.id)
    assert found == stored
    assert hashlib.sha256(path.read_bytes()).digest() == hashlib.sha256(content).digest()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("name", "label"), [("../../etc/passwd", "../../etc/passwd"), ("a\nb\u202e", "a b"), ("", "file"), ("世", "世")]
)
async def test_a_name_is_a_label_and_never_a_path(world: World, name: str, label: str) -> None:
    stored = await world.gateway.put_attachment(world.ada, name=name, type="", chunks=pieces(b"x"))
    assert (stored.name, stored.type) == (label, "application/octet-stream")
    assert [path.name for path in files(world)] == [stored.id]


async def test_an_empty_file_is_a_file(world: World) -> None:
    assert (await world.gateway.get_attachment(world.ada, await put(world, world.ada)))[1].read_bytes() == b""


async def test_a_file_that_is_too_large_is_refused_before_it_has_come(tmp_path: Path) -> None:
    async with a_world(tmp_path, wire.Limits(attachment_bytes=1000)) as world:
        given = 0

        async def endless() -> AsyncIterator[bytes]:
            nonlocal given
            while True:
                given += 300
                yield b"x" * 300

        with pytest.raises(Problem) as caught:
            await world.gateway.put_attachment(world.ada, name="a", type="", chunks=endless())
        assert (caught.value.status, caught.value.code) == (413, "too_large")
        assert given == 1200
        assert files(world) == []
        assert await put(world, world.ada, b"x" * 1000)


async def test_uploads_that_no_mail_takes_do_not_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachments, "_UNUSED_BYTES", 40_000)
    async with a_world(tmp_path, wire.Limits(attachment_bytes=1000)) as world:
        claim = await world.running()
        holder = world.holder(claim)
        kept = [await put(world, holder, b"x" * 1000) for _ in range(40)]
        with pytest.raises(Problem) as caught:
            await put(world, holder, b"x")
        assert (caught.value.status, caught.value.code) == (429, "rate_limited")
        # What an agent left lying about must not keep its bridge from answering, nor anybody else.
        assert await put(world, world.zcode, b"x")
        assert await put(world, world.ada, b"x")
        await world.send(holder, "ada", attachments=tuple(kept[:20]))
        assert await put(world, holder, b"x")
        for _ in range(500):
            await put(world, world.bob)
        with pytest.raises(Problem):
            await put(world, world.bob)


async def test_an_upload_that_breaks_off_leaves_nothing(world: World) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"x" * 2_000_000
        raise ConnectionResetError

    with pytest.raises(Problem):
        await world.gateway.put_attachment(world.ada, name="a", type="", chunks=broken())
    assert files(world) == []


async def test_an_upload_that_is_cancelled_leaves_nothing(world: World) -> None:
    async def waiting() -> AsyncIterator[bytes]:
        yield b"x"
        await asyncio.Event().wait()

    task = asyncio.ensure_future(world.gateway.put_attachment(world.ada, name="a", type="", chunks=waiting()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert files(world) == []


async def test_a_full_disk_is_said_and_leaves_nothing(world: World) -> None:
    with files_no_larger_than(1_000_000):
        with pytest.raises(Problem) as caught:
            await put(world, world.ada, b"x" * 3_000_000)
        assert caught.value.code == "unavailable"
    assert files(world) == []
    assert await put(world, world.ada, b"x" * 3_000_000)


@pytest.mark.parametrize("kind", ["text", "text/", "a/b/c", "text/plain\r\nX: y", "te xt/plain"])
async def test_what_is_no_media_type_is_refused(world: World, kind: str) -> None:
    with pytest.raises(Problem) as caught:
        await put(world, world.ada, b"x", kind=kind)
    assert caught.value.code == "invalid"
    assert files(world) == []


async def test_an_upload_is_its_owners_until_it_is_mailed(world: World) -> None:
    file = await put(world, world.ada, b"x")
    for who in (world.bob, world.zcode):
        with pytest.raises(Problem) as caught:
            await world.gateway.get_attachment(who, file)
        assert caught.value.code == "not_found"
        with pytest.raises(Problem) as caught:
            await world.send(who, "pi", attachments=(file,))
        assert caught.value.code == "not_found"
    mail = await world.send(world.ada, "zcode", attachments=(file, file))
    assert [attachment.id for attachment in mail.attachments] == [file]
    assert (await world.gateway.get_mail(world.zcode, mail.id)).attachments == mail.attachments
    assert (await world.gateway.get_attachment(world.zcode, file))[0].id == file
    with pytest.raises(Problem):
        await world.gateway.get_attachment(world.bob, file)


async def test_who_sees_an_attachment_may_pass_it_on(world: World) -> None:
    file = await put(world, world.ada, b"x")
    await world.send(world.ada, "zcode", attachments=(file,))
    await world.send(world.zcode, "bob", attachments=(file,))
    assert (await world.gateway.get_attachment(world.bob, file))[0].id == file


async def test_a_turn_key_opens_its_own_uploads_and_those_of_mail_it_sees(world: World) -> None:
    earlier, other = await put(world, world.zcode, b"of the bridge"), await put(world, world.ada, b"mailed")
    claim = await world.claimed(attachments=(other,))
    holder = world.holder(claim)
    own = await put(world, holder, b"of the turn")
    assert (await world.gateway.get_attachment(holder, own))[0].size == 11
    assert (await world.gateway.get_attachment(holder, other))[0].size == 6
    assert (await world.gateway.get_attachment(world.zcode, own))[0].size == 11
    with pytest.raises(Problem):
        await world.gateway.get_attachment(holder, earlier)
    second = world.holder(await world.claimed())
    with pytest.raises(Problem):
        await world.gateway.get_attachment(second, own)


async def test_an_upload_that_no_mail_took_within_a_day_is_removed(world: World) -> None:
    unused, used = await put(world, world.ada, b"unused"), await put(world, world.ada, b"used")
    await world.send(world.ada, "zcode", attachments=(used,))
    await sweep(world)
    assert len(files(world)) == 2
    world.clock.forward(24 * 3600 + 1)
    await sweep(world)
    assert [path.name for path in files(world)] == [used]
    for who in (world.ada, world.bob):
        with pytest.raises(Problem):
            await world.gateway.get_attachment(who, unused)


async def test_a_file_that_a_crash_left_without_a_row_is_removed_after_a_day(world: World) -> None:
    known = await put(world, world.ada, b"x")
    await world.send(world.ada, "bob", attachments=(known,))
    number = world.gateway._core.mint.head()
    orphan = attachments.path_of(world.gateway._core, number)
    orphan.parent.mkdir(exist_ok=True)
    orphan.write_bytes(b"x")
    stranger = orphan.with_name("att_notes of the administrator")
    stranger.write_bytes(b"x")
    for path in files(world):
        os.utime(path, (world.clock.seconds, world.clock.seconds))
    await sweep(world)
    assert orphan.exists()
    world.clock.forward(24 * 3600 + 1)
    await sweep(world)
    assert sorted(path.name for path in files(world)) == sorted([known, stranger.name])


async def test_what_an_upload_left_when_the_gateway_died_is_removed_at_the_start(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        left = world.data / "attachments" / ".amc_x.part"
        left.write_bytes(b"x")
    await (await Gateway.open(world.data, admin="ada")).close()
    assert not left.exists()
