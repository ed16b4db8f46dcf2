"""Every route of the client: method, address, body, headers, and the structure that comes back."""

import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from ..gateway_client import GatewayClient, GatewayUnreachable, every
from ..gateway_client import __all__ as exported
from ..wire import (
    AddressRef,
    Agent,
    Attachment,
    AuditEntry,
    Claim,
    ClaimThread,
    FinishBody,
    Heartbeat,
    IssuedKey,
    Limits,
    Mail,
    Page,
    PermissionAsk,
    PermissionRequest,
    Person,
    ProgressBody,
    ProgressEvent,
    ReleaseBody,
    RenewAnswer,
    ReplyAnswer,
    ReplyBody,
    SendMail,
    Session,
    SignInCode,
    StartBody,
    Thread,
    ThreadSummary,
    Trust,
    Turn,
    WhoAmI,
)
from .loopback_server import answer, serving

AT = "2026-11-30T23:59:15.000Z"
MAIL = Mail(
    "mail_1",
    "thr_1",
    AddressRef("ada", "person"),
    (AddressRef("zcode", "agent"),),
    (),
    "s",
    "b",
    AT,
    None,
    "no",
    "plan",
    None,
)
TURN = Turn("turn_1", "mail_1", "thr_1", "zcode", "queued", 0, 0, AT)
CLAIM = Claim(
    "turn_1", 3, AT, 1, "amt_hidden", MAIL, ClaimThread("thr_1", (MAIL,)), Session("ses_1"), "plan", "asked", True
)
ASKED = PermissionRequest("perm_1", "turn_1", "thr_1", "zcode", "Bash", "ls", AT)
BEAT = Heartbeat("0.1", None, {}, "workspace", False, 0)
AGENT = Agent("zcode", "agent", True)

Call = Callable[[GatewayClient], Awaitable[object]]
ROUTES: list[tuple[str, Call, str, object, object]] = [
    ("whoami", lambda c: c.whoami(), "GET /whoami", None, WhoAmI("ada", "person", True)),
    ("sign_in_code", lambda c: c.sign_in_code(), "POST /sign-in-codes", None, SignInCode("12", AT)),
    (
        "send_mail",
        lambda c: c.send_mail(SendMail(("zcode",), "s", "b")),
        "POST /mails",
        SendMail(("zcode",), "s", "b"),
        MAIL,
    ),
    ("list_mails", lambda c: c.list_mails(), "GET /mails?box=inbox", None, Page((MAIL,), "c2")),
    (
        "list_mails",
        lambda c: c.list_mails(
            box="all", unread=True, sender="a&b", thread="thr_1", order="newest", after="c2", limit=5
        ),
        "GET /mails?box=all&unread=true&from=a%26b&thread=thr_1&order=newest&after=c2&limit=5",
        None,
        Page[Mail](()),
    ),
    ("get_mail", lambda c: c.get_mail("mail_1"), "GET /mails/mail_1", None, MAIL),
    ("set_read", lambda c: c.set_read("mail_1", True), "PUT /mails/mail_1/read", None, None),
    ("set_read", lambda c: c.set_read("mail_1", False), "DELETE /mails/mail_1/read", None, None),
    (
        "list_threads",
        lambda c: c.list_threads(limit=3),
        "GET /threads?limit=3",
        None,
        Page((ThreadSummary("thr_1", "s", AT, 1, 0, ("ada",)),)),
    ),
    ("get_thread", lambda c: c.get_thread("thr_1"), "GET /threads/thr_1", None, Thread("thr_1", "s", (MAIL,), (TURN,))),
    ("search", lambda c: c.search("来信 x"), "GET /search?q=%E6%9D%A5%E4%BF%A1+x", None, Page((MAIL,))),
    ("list_agents", lambda c: c.list_agents(), "GET /agents", None, Page((AGENT,))),
    ("heartbeat", lambda c: c.heartbeat(BEAT), "POST /agents/me/heartbeat", BEAT, None),
    (
        "list_turns",
        lambda c: c.list_turns(states=("queued", "running"), order="newest"),
        "GET /turns?state=queued%2Crunning&order=newest",
        None,
        Page((TURN,)),
    ),
    ("list_turns", lambda c: c.list_turns(), "GET /turns", None, Page((TURN,))),
    ("get_turn", lambda c: c.get_turn("turn_1"), "GET /turns/turn_1", None, TURN),
    ("claim", lambda c: c.claim("turn_1"), "POST /turns/turn_1/claim", None, CLAIM),
    ("start", lambda c: c.start("turn_1", StartBody(3, "n")), "POST /turns/turn_1/start", StartBody(3, "n"), None),
    ("renew", lambda c: c.renew("turn_1", 3), "POST /turns/turn_1/renew", {"lease": 3}, RenewAnswer(False, AT)),
    (
        "release",
        lambda c: c.release("turn_1", ReleaseBody(3, "r")),
        "POST /turns/turn_1/release",
        ReleaseBody(3, "r"),
        None,
    ),
    (
        "progress",
        lambda c: c.progress("turn_1", ProgressBody(3, (ProgressEvent(1, AT, "text", "t"),))),
        "POST /turns/turn_1/progress",
        ProgressBody(3, (ProgressEvent(1, AT, "text", "t"),)),
        None,
    ),
    (
        "reply",
        lambda c: c.reply("turn_1", ReplyBody(3, "ok", "b"), "key-1"),
        "POST /turns/turn_1/reply",
        ReplyBody(3, "ok", "b"),
        ReplyAnswer(MAIL, "answered"),
    ),
    (
        "finish",
        lambda c: c.finish("turn_1", FinishBody(3, "no_reply")),
        "POST /turns/turn_1/finish",
        FinishBody(3, "no_reply"),
        TURN,
    ),
    ("cancel", lambda c: c.cancel("turn_1"), "POST /turns/turn_1/cancel", None, TURN),
    ("retry", lambda c: c.retry("turn_1"), "POST /turns/turn_1/retry", None, TURN),
    ("delete_turn", lambda c: c.delete_turn("turn_1"), "DELETE /turns/turn_1", None, None),
    (
        "ask_permission",
        lambda c: c.ask_permission(PermissionAsk("turn_1", 3, "Bash", "ls")),
        "POST /permissions",
        PermissionAsk("turn_1", 3, "Bash", "ls"),
        ASKED,
    ),
    (
        "list_permissions",
        lambda c: c.list_permissions(state="open"),
        "GET /permissions?state=open",
        None,
        Page((ASKED,)),
    ),
    ("get_permission", lambda c: c.get_permission("perm_1"), "GET /permissions/perm_1", None, ASKED),
    (
        "decide_permission",
        lambda c: c.decide_permission("perm_1", "thread"),
        "POST /permissions/perm_1/decision",
        {"decision": "thread"},
        ASKED,
    ),
    (
        "add_agent",
        lambda c: c.add_agent("pi", "full"),
        "POST /admin/agents",
        {"name": "pi", "max_mode": "full"},
        IssuedKey("pi", "k"),
    ),
    ("rotate_agent", lambda c: c.rotate_agent("a b"), "POST /admin/agents/a%20b/rotate", None, IssuedKey("pi", "k")),
    ("patch_agent", lambda c: c.patch_agent("pi", paused=True), "PATCH /admin/agents/pi", {"paused": True}, AGENT),
    ("list_people", lambda c: c.list_people(), "GET /admin/people", None, Page((Person("ada"),))),
    (
        "add_person",
        lambda c: c.add_person("ada", display="Ada", admin=True),
        "POST /admin/people",
        {"name": "ada", "display": "Ada", "admin": True},
        IssuedKey("ada", "t"),
    ),
    ("rotate_person", lambda c: c.rotate_person("ada"), "POST /admin/people/ada/rotate", None, IssuedKey("ada", "t")),
    ("list_trust", lambda c: c.list_trust(), "GET /admin/trust", None, Page((Trust("ada", "full"),))),
    (
        "set_trust",
        lambda c: c.set_trust("ada", None),
        "PUT /admin/trust",
        {"sender": "ada", "tier": None},
        Trust("ada", "plan", False),
    ),
    ("get_limits", lambda c: c.get_limits(), "GET /admin/limits", None, Limits()),
    ("set_limits", lambda c: c.set_limits(Limits(hops=2)), "PUT /admin/limits", Limits(hops=2), Limits(hops=2)),
    (
        "audit",
        lambda c: c.audit(after="5", limit=2),
        "GET /admin/audit?after=5&limit=2",
        None,
        Page((AuditEntry("1", AT, "ada", "x"),)),
    ),
]
ELSEWHERE = {
    "aclose",
    "event_stream",
    "export",
    "get_attachment",
    "health",
    "metrics",
    "put_attachment",
    "read_attachment",
    "ready",
}


def test_the_public_names_are_sorted() -> None:
    assert exported == sorted(exported)


def test_every_method_is_in_the_table_or_has_a_test_of_its_own() -> None:
    methods = {name for name, _ in inspect.getmembers(GatewayClient, inspect.isfunction) if not name.startswith("_")}
    assert methods == {name for name, *_ in ROUTES} | ELSEWHERE


@pytest.mark.parametrize(("name", "call", "line", "body", "result"), ROUTES, ids=[row[2] for row in ROUTES])
async def test_a_method_is_one_request(name: str, call: Call, line: str, body: object, result: object) -> None:
    given = answer(204) if result is None else answer(200, msgspec.json.encode(result))
    async with serving([given]) as server, GatewayClient(server.url, "ama_x") as client:
        assert await call(client) == result
        [request] = server.requests
    method, _, target = line.partition(" ")
    assert (request.method, request.target) == (method, "/api/v1" + target)
    assert request.headers["authorization"] == "Bearer ama_x"
    if body is None:
        assert request.body == b""
    else:
        assert request.headers["content-type"] == "application/json"
        assert msgspec.json.decode(request.body) == msgspec.json.decode(msgspec.json.encode(body))


REPEATABLE = {"send_mail", "start", "renew", "release", "progress", "reply", "finish", "ask_permission"}


@pytest.mark.parametrize(("name", "call", "line"), [row[:3] for row in ROUTES if row[2].startswith(("POST", "PATCH"))])
async def test_only_posts_under_a_lease_or_a_key_are_sent_again(name: str, call: Call, line: str) -> None:
    async def no_pause(_: float) -> None:
        return

    async with (
        serving([None, None]) as server,
        GatewayClient(server.url, "ama_x", attempts=2, sleep=no_pause) as client,
    ):
        with pytest.raises(GatewayUnreachable):
            await call(client)
        assert len(server.requests) == (2 if name in REPEATABLE else 1)
        keys = {request.headers.get("idempotency-key") for request in server.requests}
    assert len(keys) == 1
    assert (None not in keys) == (name in {"send_mail", "reply"})


async def test_a_mail_sent_twice_by_the_caller_has_two_keys_unless_one_is_given() -> None:
    """openclaw#29106: a retry is recognised by its key, a second mail is not taken for a retry."""
    mail, sent = SendMail(("zcode",)), answer(201, msgspec.json.encode(MAIL))
    async with serving([sent] * 3) as server, GatewayClient(server.url, "amp_x") as client:
        await client.send_mail(mail)
        await client.send_mail(mail)
        await client.send_mail(mail, "mine")
        first, second, third = (request.headers["idempotency-key"] for request in server.requests)
    assert first != second
    assert third == "mine"


async def test_health_and_figures_are_outside_the_api() -> None:
    async with (
        serving([answer(200, b"ok"), answer(200, b"ok"), answer(200, b"mails 1\n")]) as server,
        GatewayClient(server.url + "/", None) as client,
    ):
        await client.health()
        await client.ready()
        assert await client.metrics() == "mails 1\n"
        assert [request.target for request in server.requests] == ["/healthz", "/readyz", "/metrics"]
        assert client.url == server.url


async def test_every_item_of_a_list_comes_once_over_all_pages() -> None:
    pages: dict[str | None, Page[int]] = {None: Page((1, 2), "a"), "a": Page((3,), "b"), "b": Page(())}

    async def list_page(after: str | None) -> Page[int]:
        return pages[after]

    assert [item async for item in every(list_page)] == [1, 2, 3]


async def test_a_cursor_that_does_not_move_ends_the_list() -> None:
    async def list_page(after: str | None) -> Page[str]:
        return Page(("x",), "stuck")

    assert [item async for item in every(list_page)] == ["x", "x"]


def test_no_structure_shows_its_secret() -> None:
    """AgentChatBus#8, mcp-memory-service#1117"""
    holders: list[object] = [CLAIM, IssuedKey("pi", "ama_hidden"), SignInCode("x_hidden", AT)]
    for holder in [*holders, GatewayClient("http://h", "ama_hidden"), GatewayClient("http://h", ("pi", "x_hidden"))]:
        assert "_hidden" not in repr(holder)


async def test_an_export_is_saved_as_a_file(tmp_path: Path) -> None:
    async with serving([answer(200, b'{"a":1}\n')]) as server, GatewayClient(server.url, "amp_x") as client:
        assert await client.export(tmp_path / "all.jsonl") == 8
        assert server.requests[0].target == "/api/v1/admin/export"
    assert (tmp_path / "all.jsonl").read_bytes() == b'{"a":1}\n'


async def test_an_attachment_goes_up_from_bytes_and_comes_back() -> None:
    stored = Attachment("att_1", "a b.png", "image/png", 3)
    script = [answer(201, msgspec.json.encode(stored)), answer(200, b"png")]
    async with serving(script) as server, GatewayClient(server.url, "amp_x") as client:
        assert await client.put_attachment("a b.png", "image/png", b"png") == stored
        assert await client.read_attachment("att_1") == b"png"
        up, down = server.requests
    assert (up.method, up.target, up.body) == ("POST", "/api/v1/attachments?name=a+b.png", b"png")
    assert up.headers["content-type"] == "image/png"
    assert down.target == "/api/v1/attachments/att_1"
