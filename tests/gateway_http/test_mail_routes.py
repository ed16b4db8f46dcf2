"""Mail over HTTP."""

import asyncio
import json
import re
from typing import Any

import pytest

from .support import Answer, Process, ask, exchange, head

MAILS = "/api/v1/mails"


async def test_a_mail_is_sent_and_read(gateway: Process) -> None:
    name, token = await gateway.person()
    sent = await gateway.ask("POST", MAILS, {"to": [name], "subject": "Hello", "body": "How are you?"})
    assert sent.status == 201
    assert sent.headers["content-type"] == "application/json"
    assert sent.headers["location"] == f"{MAILS}/{sent.json['id']}"
    assert sent.json["from"]["name"] == "ada"
    assert sent.json["auto_submitted"] == "no"
    listed = await gateway.ask("GET", MAILS, token=token)
    assert [mail["id"] for mail in listed.json["items"]] == [sent.json["id"]]
    assert listed.json["next"] is None
    one = await gateway.ask("GET", f"{MAILS}/{sent.json['id']}", token=token)
    assert (one.json["subject"], one.json["body"], one.json["unread"]) == ("Hello", "How are you?", True)


async def test_listing_and_reading_change_nothing_and_marking_does(gateway: Process) -> None:
    """mcp_agent_mail#254"""
    name, token = await gateway.person()
    mail = await gateway.send(name)
    for _ in range(2):
        for path in (MAILS, f"{MAILS}/{mail['id']}", "/api/v1/threads", f"/api/v1/threads/{mail['thread_id']}"):
            assert (await gateway.ask("GET", path, token=token)).status == 200
    assert len((await gateway.ask("GET", f"{MAILS}?unread=true", token=token)).json["items"]) == 1
    read = f"{MAILS}/{mail['id']}/read"
    for method, unread in (("PUT", 0), ("PUT", 0), ("DELETE", 1), ("DELETE", 1)):
        marked = await gateway.ask(method, read, token=token)
        assert (marked.status, marked.content) == (204, b"")
        assert "content-length" not in marked.headers
        assert len((await gateway.ask("GET", f"{MAILS}?unread=true", token=token)).json["items"]) == unread


async def test_the_same_key_and_body_give_the_same_mail(gateway: Process) -> None:
    name, _ = await gateway.person()
    body = {"to": [name], "subject": "Once"}
    first = await gateway.ask("POST", MAILS, body, headers={"Idempotency-Key": "k-1"})
    again = await gateway.ask("POST", MAILS, body, headers={"Idempotency-Key": "k-1"})
    assert (first.status, again.status) == (201, 200)
    assert first.json["id"] == again.json["id"]
    other = await gateway.ask("POST", MAILS, body | {"subject": "Twice"}, headers={"Idempotency-Key": "k-1"})
    assert (other.status, other.code) == (409, "idempotency_mismatch")


async def test_an_unknown_recipient_is_named_and_nothing_is_sent(gateway: Process) -> None:
    name, token = await gateway.person()
    answer = await gateway.ask("POST", MAILS, {"to": [name, "nobody-here"], "subject": "x"})
    assert (answer.status, answer.code) == (422, "unknown_recipient")
    assert "nobody-here" in answer.json["detail"]
    assert (await gateway.ask("GET", MAILS, token=token)).json["items"] == []


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "JSON"),
        (b"{", "JSON"),
        (b'{"to": ["ada"], "subject": "\xff"}', "JSON"),
        (b"[]", "array"),
        (b"{}", "`to`"),
        (b'{"to": "ada"}', "$.to"),
        (b'{"to": ["ada"], "subject": 5}', "$.subject"),
        (b'{"to": ["ada"], "permission_mode": "root"}', "$.permission_mode"),
        (b'{"to": ["ada"], "from": "eve"}', "`from`"),
        (b'{"to": ["ada"], "auto_submitted": "no"}', "`auto_submitted`"),
        (b'{"to": ' + b"[" * 5000 + b"]" * 5000 + b"}", ""),
    ],
)
async def test_a_body_that_does_not_fit_names_the_field(gateway: Process, content: bytes, named: str) -> None:
    answer = await gateway.ask("POST", MAILS, content=content, headers={"Content-Type": "application/json"})
    assert (answer.status, answer.code) == (422, "invalid")
    assert named in answer.json["detail"]


@pytest.mark.parametrize(
    "media_type", ["", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1"]
)
async def test_a_body_of_another_type_is_refused(gateway: Process, media_type: str) -> None:
    headers = {"Content-Type": media_type} if media_type else {}
    answer = await gateway.ask("POST", MAILS, content=b'{"to":["ada"]}', headers=headers)
    assert (answer.status, answer.code) == (415, "unsupported_media_type")


@pytest.mark.parametrize("media_type", ["application/json", "Application/JSON; charset=UTF-8"])
async def test_json_may_be_called_by_its_whole_name(gateway: Process, media_type: str) -> None:
    content = json.dumps({"to": ["ada"]}).encode()
    assert (await gateway.ask("POST", MAILS, content=content, headers={"Content-Type": media_type})).status == 201


async def test_a_body_too_large_is_refused_before_it_is_sent(gateway: Process) -> None:
    headers = {
        "Authorization": f"Bearer {gateway.admin}",
        "Content-Type": "application/json",
        "Content-Length": str(10**9),
    }
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    writer.write(head("POST", MAILS, headers))
    line = await asyncio.wait_for(reader.readline(), 10)
    writer.close()
    assert b" 413 " in line


async def test_a_chunked_body_too_large_is_cut_at_the_limit(gateway: Process) -> None:
    headers = {
        "Authorization": f"Bearer {gateway.admin}",
        "Content-Type": "application/json",
        "Transfer-Encoding": "chunked",
    }
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    received = await exchange(gateway.port, head("POST", MAILS, headers) + chunk * 40 + b"0\r\n\r\n")
    assert b" 413 " in received.splitlines()[0]
    assert b'"code":"too_large"' in received


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("box=trash", "box"),
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=many", "limit"),
        ("unread=maybe", "unread"),
        ("unred=true", "unred"),
        ("limit=5&limit=6", "limit"),
        ("&".join(f"a{number}=1" for number in range(60)), "50"),
    ],
)
async def test_a_wrong_parameter_is_named(gateway: Process, query: str, named: str) -> None:
    answer = await gateway.ask("GET", f"{MAILS}?{query}")
    assert (answer.status, answer.code) == (422, "invalid")
    assert named in answer.json["detail"]


async def test_an_empty_parameter_counts_as_not_given(gateway: Process) -> None:
    assert (await gateway.ask("GET", f"{MAILS}?box=inbox&unread=&from=&thread=&after=&limit=")).status == 200


async def test_pages_follow_each_other_without_gap_or_double(gateway: Process) -> None:
    name, token = await gateway.person()
    sent = [(await gateway.send(name))["id"] for _ in range(5)]
    seen: list[str] = []
    path = f"{MAILS}?limit=2"
    pages = 0
    while path:
        page = (await gateway.ask("GET", path, token=token)).json
        seen += [mail["id"] for mail in page["items"]]
        pages += 1
        path = f"{MAILS}?limit=2&after={page['next']}" if page["next"] else ""
    assert (seen, pages) == (sent, 3)


async def test_mail_of_others_is_not_found(gateway: Process) -> None:
    name, _ = await gateway.person()
    _, stranger = await gateway.person()
    mail = await gateway.send(name)
    for method, path in (
        ("GET", f"{MAILS}/{mail['id']}"),
        ("PUT", f"{MAILS}/{mail['id']}/read"),
        ("GET", f"/api/v1/threads/{mail['thread_id']}"),
        ("GET", f"{MAILS}/mail_00000000000000000000000000000000"),
        ("GET", f"{MAILS}/%00%FF%2e%2e%2f"),
    ):
        answer = await gateway.ask(method, path, token=stranger)
        assert (answer.status, answer.code) == (404, "not_found"), path


async def test_threads_and_search_are_answered(gateway: Process) -> None:
    name, token = await gateway.person()
    mail = await gateway.send(name, subject="Planning", body="今天天气很好 zebra")
    threads = await gateway.ask("GET", "/api/v1/threads", token=token)
    assert [thread["id"] for thread in threads.json["items"]] == [mail["thread_id"]]
    thread = await gateway.ask("GET", f"/api/v1/threads/{mail['thread_id']}", token=token)
    assert [each["id"] for each in thread.json["mails"]] == [mail["id"]]
    for word in ("zebra", "%E5%A4%A9%E6%B0%94"):
        found = await gateway.ask("GET", f"/api/v1/search?q={word}", token=token)
        assert [each["id"] for each in found.json["items"]] == [mail["id"]], word
    assert (await gateway.ask("GET", "/api/v1/search", token=token)).code == "invalid"


async def test_an_unknown_path_is_a_problem(gateway: Process) -> None:
    for path in ("/api/v1/nothing", "/api/v2/mails", "/favicon.ico", f"{MAILS}/", "/api/v1"):
        answer = await gateway.ask("GET", path)
        assert (answer.status, answer.code) == (404, "not_found")


@pytest.mark.parametrize("idempotency_key", ["", "a b", "ü", "x" * 201])
async def test_an_idempotency_key_has_a_form(gateway: Process, idempotency_key: str) -> None:
    answer = await gateway.ask("POST", MAILS, {"to": ["ada"]}, headers={"Idempotency-Key": idempotency_key})
    assert (answer.status, answer.code) == (422, "invalid")


@pytest.mark.parametrize("parameter", ["token", "key", "api_key"])
async def test_a_key_in_the_address_is_refused_and_not_logged(gateway: Process, parameter: str) -> None:
    """AgentChatBus#8, mcp-memory-service#1117"""
    answer = await ask(gateway.port, "GET", f"{MAILS}?{parameter}={gateway.admin}")
    assert (answer.status, answer.code) == (422, "invalid")
    assert gateway.admin not in gateway.log.read_text()


async def test_text_of_any_kind_comes_back_as_it_was_sent(gateway: Process) -> None:
    body = '回复 🙂 <script> \u202e \\ "quoted" \x07'
    mail = await gateway.send("ada", body=body)
    assert mail["body"] == body


async def test_head_answers_like_get_without_the_body(gateway: Process) -> None:
    shown = await gateway.ask("GET", MAILS)
    bare = await gateway.ask("HEAD", MAILS)
    assert (bare.status, bare.content) == (200, b"")
    assert bare.headers["content-length"] == shown.headers["content-length"]


async def test_requests_on_one_connection_are_answered_in_order(gateway: Process) -> None:
    request = head("GET", "/healthz", {}) + head("GET", "/api/v1/nothing", {})
    received = await exchange(gateway.port, request + head("GET", "/healthz", {"Connection": "close"}))
    assert re.findall(rb"HTTP/1.1 (\d+)", received) == [b"200", b"404", b"200"]


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 70_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: y\r\n" * 150 + b"\r\n",
        b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    ],
)
async def test_what_is_no_request_is_a_problem_too(gateway: Process, request_bytes: bytes) -> None:
    top, _, content = (await exchange(gateway.port, request_bytes)).partition(b"\r\n\r\n")
    assert top.startswith(b"HTTP/1.1 400 ")
    assert b"content-type: application/problem+json" in top
    assert json.loads(content)["code"] == "bad_request"


def statuses(answers: list[Answer]) -> list[Any]:
    return sorted(answer.status for answer in answers)


async def test_the_same_key_sent_at_once_makes_one_mail(gateway: Process) -> None:
    name, token = await gateway.person()
    answers = await asyncio.gather(
        *[gateway.ask("POST", MAILS, {"to": [name]}, headers={"Idempotency-Key": "at-once"}) for _ in range(8)]
    )
    assert statuses(list(answers)) == [200] * 7 + [201]
    assert len((await gateway.ask("GET", MAILS, token=token)).json["items"]) == 1
