"""What holds for every request."""

import logging
from collections.abc import Iterator

import pytest
import structlog
from structlog.testing import LogCapture

from agentmail_gateway.http.counters import Counters
from agentmail_gateway.http.exchange import ClientGoneError, Headers, Receive, Request, Scope, Send, send_bytes
from agentmail_gateway.http.guard import SECURITY_HEADERS, Guard
from agentmail_gateway.http.origins import AllowList
from agentmail_gateway.problems import Problem

from .memory import call, scope


class App:
    """Answers `content`, or raises `error`, perhaps after the answer began."""

    def __init__(self, error: Exception | None = None, *, begun: bool = False, headers: Headers | None = None) -> None:
        self.error = error
        self.begun = begun
        self.calls = 0
        self.headers = headers or []

    async def __call__(self, request: Scope, receive: Receive, send: Send) -> None:
        self.calls += 1
        if self.begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"half", "more_body": True})
        if self.error is not None:
            raise self.error
        await send_bytes(send, 200, b"hello", self.headers)


@pytest.fixture
def logged() -> Iterator[LogCapture]:
    before = structlog.get_config()
    capture = LogCapture()
    structlog.configure(
        processors=[structlog.processors.add_log_level, structlog.processors.format_exc_info, capture],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        cache_logger_on_first_use=False,
    )
    yield capture
    structlog.configure(**before)


def guard(app: App, *, slow_s: float = 100, counters: Counters | None = None) -> Guard:
    return Guard(app, AllowList.of("127.0.0.1"), counters or Counters(), slow_s=slow_s)


async def test_every_answer_carries_the_security_headers() -> None:
    for app in (App(), App(Problem("not_found", "x")), App(RuntimeError())):
        answer, _ = await call(guard(app), scope("GET", "/"))
        for name, value in SECURITY_HEADERS:
            assert answer.headers[name.decode()] == value.decode()


async def test_a_page_may_set_a_policy_of_its_own() -> None:
    app = App(headers=[(b"content-security-policy", b"sandbox")])
    _, sent = await call(guard(app), scope("GET", "/"))
    policies = [value for name, value in sent[0]["headers"] if name == b"content-security-policy"]
    assert policies == [b"sandbox"]


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Host": "evil.example"}, "foreign_host"),
        ({"Origin": "http://evil.example"}, "foreign_origin"),
        ({"Origin": "null", "Authorization": "Bearer valid"}, "foreign_origin"),
    ],
)
async def test_foreign_hosts_and_pages_never_reach_a_handler(headers: dict[str, str], code: str) -> None:
    app = App()
    answer, _ = await call(guard(app), scope("POST", "/api/v1/mails", headers))
    assert (answer.status, answer.code, app.calls) == (403, code, 0)


async def test_two_host_headers_are_foreign() -> None:
    request = scope("GET", "/")
    request["headers"].append((b"host", b"evil.example"))
    answer, _ = await call(guard(App()), request)
    assert answer.code == "foreign_host"


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_probes_may_come_by_any_name_but_not_from_a_foreign_page(path: str) -> None:
    answer, _ = await call(guard(App()), scope("GET", path, {"Host": "10.0.0.7:8180"}))
    assert answer.status == 200
    answer, _ = await call(guard(App()), scope("GET", path, {"Origin": "http://evil.example"}))
    assert answer.status == 403


async def test_an_unexpected_error_is_told_to_the_log_and_not_to_the_client(logged: LogCapture) -> None:
    secret = "/srv/data ama_0123456789abcdef"
    answer, _ = await call(guard(App(RuntimeError(secret))), scope("GET", "/"))
    assert (answer.status, answer.code) == (500, "internal")
    (entry,) = logged.entries
    assert entry["error_id"] in answer.json["detail"]
    assert secret in entry["exception"]
    for hidden in (b"srv", b"ama_", b"Traceback", b"RuntimeError"):
        assert hidden not in answer.content


async def test_an_answer_that_breaks_off_is_left_incomplete(logged: LogCapture) -> None:
    answer, sent = await call(guard(App(RuntimeError(), begun=True)), scope("GET", "/"))
    assert answer.status == 200
    assert sent[-1]["more_body"] is True
    assert len(logged.entries) == 1


async def test_nobody_is_answered_who_has_gone(logged: LogCapture) -> None:
    _, sent = await call(guard(App(ClientGoneError())), scope("GET", "/"))
    assert sent == []
    assert logged.entries == []


@pytest.mark.parametrize(
    ("problem", "header", "value"),
    [
        (Problem("rate_limited", "x", 12.2), "retry-after", "13"),
        (Problem("rate_limited", "x", 0.2), "retry-after", "1"),
        (Problem("unavailable", "x"), "retry-after", "5"),
        (Problem("unauthorized", "x"), "www-authenticate", 'Bearer realm="AgentMail"'),
    ],
)
async def test_problems_carry_what_their_status_asks_for(problem: Problem, header: str, value: str) -> None:
    answer, _ = await call(guard(App(problem)), scope("GET", "/"))
    assert answer.headers[header] == value
    assert answer.json["type"] == "about:blank"
    assert answer.json["title"]


async def test_a_refusal_comes_before_the_body_is_read_and_the_rest_is_drained() -> None:
    order: list[str] = []

    async def refuse(request: Scope, receive: Receive, send: Send) -> None:
        async for _ in Request(request, receive).chunks(10):
            order.append("read")

    answer, sent = await call(
        Guard(refuse, AllowList.of("127.0.0.1"), Counters(), slow_s=100),
        scope("POST", "/", {"Content-Length": "1000000"}),
        [b"x" * 1000] * 1000,
    )
    assert (answer.status, answer.headers["connection"], order) == (413, "close", [])
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert [message.get("more_body", False) for message in sent[1:]] == [True, False]


async def test_a_slow_request_is_logged_by_its_route_alone(logged: LogCapture) -> None:
    await call(guard(App(), slow_s=0), scope("GET", "/x", query="q=private"))
    (entry,) = logged.entries
    assert entry["event"] == "slow request"
    assert "private" not in repr(entry)


async def test_requests_are_counted_with_bounded_labels() -> None:
    counters = Counters()
    for number in range(50):
        await call(guard(App(), counters=counters), scope(f"M{number}", f"/{number}"))
    assert counters.requests == {("other", "unmatched", 200): 50}
    assert counters.active == 0
