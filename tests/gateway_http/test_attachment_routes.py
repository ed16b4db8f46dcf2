"""Attachments over HTTP."""

import asyncio
import os

import pytest

from agentmail_gateway.http.attachment_routes import disposition

from .support import Process, exchange, head

PATH = "/api/v1/attachments"


async def stored(gateway: Process, content: bytes, name: str = "a.png", media_type: str = "image/png") -> str:
    answer = await gateway.ask("POST", f"{PATH}?name={name}", content=content, headers={"Content-Type": media_type})
    assert answer.status == 201, answer
    assert answer.json["size"] == len(content)
    return str(answer.json["id"])


async def test_a_file_comes_back_as_it_was_sent_and_as_a_download(gateway: Process) -> None:
    content = os.urandom(200_000)
    attachment_id = await stored(gateway, content)
    answer = await gateway.ask("GET", f"{PATH}/{attachment_id}")
    assert (answer.status, answer.content) == (200, content)
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["content-disposition"].startswith('attachment; filename="a.png"')
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"].startswith("sandbox")
    assert answer.headers["cache-control"] == "private, no-cache"


async def test_an_empty_file_is_a_file(gateway: Process) -> None:
    answer = await gateway.ask("GET", f"{PATH}/{await stored(gateway, b'')}")
    assert (answer.status, answer.content) == (200, b"")


@pytest.mark.parametrize(
    "media_type", ["text/html", "image/svg+xml", "text/plain; charset=utf-16", "nonsense", "a/b\tc"]
)
async def test_no_type_makes_a_browser_show_it(gateway: Process, media_type: str) -> None:
    attachment_id = await stored(gateway, b"<script>alert(1)</script>", media_type=media_type)
    answer = await gateway.ask("GET", f"{PATH}/{attachment_id}")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"


@pytest.mark.parametrize(
    ("asked", "status", "content"),
    [
        ("bytes=0-3", 206, b"0123"),
        ("bytes=6-", 206, b"6789"),
        ("bytes=5-100", 206, b"56789"),
        ("bytes=10-", 200, b"0123456789"),
        ("bytes=3-1", 200, b"0123456789"),
        ("bytes=0-1,3-4", 200, b"0123456789"),
        ("items=0-1", 200, b"0123456789"),
        ("bytes=-", 200, b"0123456789"),
    ],
)
async def test_a_range_is_given_or_ignored(gateway: Process, asked: str, status: int, content: bytes) -> None:
    attachment_id = await stored(gateway, b"0123456789")
    answer = await gateway.ask("GET", f"{PATH}/{attachment_id}", headers={"Range": asked})
    assert (answer.status, answer.content) == (status, content)


async def test_a_file_above_the_limit_is_refused_before_it_is_sent(gateway: Process) -> None:
    headers = {"Authorization": f"Bearer {gateway.admin}", "Content-Length": str(25 * 1024**2 + 1)}
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    writer.write(head("POST", f"{PATH}?name=a", headers))
    line = await asyncio.wait_for(reader.readline(), 10)
    writer.close()
    assert b" 413 " in line


async def test_the_limit_is_the_administrators(gateway: Process) -> None:
    limits = (await gateway.ask("GET", "/api/v1/admin/limits")).json
    assert (await gateway.ask("PUT", "/api/v1/admin/limits", limits | {"attachment_bytes": 100})).status == 200
    answer = await gateway.ask("POST", f"{PATH}?name=a", content=b"x" * 101)
    assert (answer.status, answer.code) == (413, "too_large")
    assert (await gateway.ask("POST", f"{PATH}?name=a", content=b"x" * 100)).status == 201
    assert (await gateway.ask("PUT", "/api/v1/admin/limits", limits)).status == 200


async def test_a_chunked_file_is_cut_at_the_limit_and_leaves_nothing(gateway: Process) -> None:
    before = sorted(path for path in gateway.data.rglob("*") if path.is_file())
    headers = {"Authorization": f"Bearer {gateway.admin}", "Transfer-Encoding": "chunked"}
    chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    received = await exchange(gateway.port, head("POST", f"{PATH}?name=a", headers) + chunk * 26 + b"0\r\n\r\n")
    assert b" 413 " in received.splitlines()[0]
    assert b'"code":"too_large"' in received
    assert sorted(path for path in gateway.data.rglob("*") if path.is_file()) == before


async def test_an_upload_that_breaks_off_leaves_nothing(gateway: Process) -> None:
    before = sorted(path for path in gateway.data.rglob("*") if path.is_file())
    headers = {"Authorization": f"Bearer {gateway.admin}", "Content-Length": "1000000"}
    _, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    writer.write(head("POST", f"{PATH}?name=a", headers) + b"x" * 200_000)
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    async with asyncio.timeout(10):
        while sorted(path for path in gateway.data.rglob("*") if path.is_file()) != before:
            await gateway.ask("GET", "/healthz")


async def test_the_file_of_somebody_else_is_not_found_until_it_is_mailed(gateway: Process) -> None:
    name, token = await gateway.person()
    attachment_id = await stored(gateway, b"content")
    answer = await gateway.ask("GET", f"{PATH}/{attachment_id}", token=token)
    assert (answer.status, answer.code) == (404, "not_found")
    await gateway.send(name, attachments=[attachment_id])
    assert (await gateway.ask("GET", f"{PATH}/{attachment_id}", token=token)).content == b"content"


async def test_an_upload_needs_a_label(gateway: Process) -> None:
    answer = await gateway.ask("POST", PATH, content=b"x")
    assert (answer.status, answer.code) == (422, "invalid")
    assert "name" in answer.json["detail"]


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("a.png", "attachment; filename=\"a.png\"; filename*=UTF-8''a.png"),
        ('a"b\\c.txt', "attachment; filename=\"a_b_c.txt\"; filename*=UTF-8''a%22b%5Cc.txt"),
        ("报告.pdf", "attachment; filename=\"__.pdf\"; filename*=UTF-8''%E6%8A%A5%E5%91%8A.pdf"),
        ("a\r\nSet-Cookie: x", "attachment; filename=\"a__Set-Cookie: x\"; filename*=UTF-8''a%0D%0ASet-Cookie%3A%20x"),
        ("../../x", "attachment; filename=\".._.._x\"; filename*=UTF-8''..%2F..%2Fx"),
    ],
)
def test_a_label_of_any_characters_is_one_header(name: str, header: str) -> None:
    assert disposition(name) == header
