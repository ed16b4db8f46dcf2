"""Credentials, problems, and what is tried again."""

import asyncio
import logging
import traceback

import msgspec
import pytest

from ..gateway_errors import GatewayProblem, GatewayUnreachable
from ..gateway_transport import Credential, Transport, credential_headers, part
from ..wire import ProblemBody, SendMail, WhoAmI
from .loopback_server import Answer, answer, serving

KEY = "ama_top-secret-key"
ME = msgspec.json.encode(WhoAmI("zcode", "agent"))


def problem(status: int, code: str, retry_after_s: float | None = None) -> bytes:
    body = ProblemBody(status, code, title="No", detail="what to do", retry_after_s=retry_after_s)
    return answer(status, msgspec.json.encode(body), Content_Type="application/problem+json")


class Pauses:
    """Stands in for sleeping: notes how long was asked for."""

    def __init__(self) -> None:
        self.asked: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)


@pytest.mark.parametrize(
    ("credential", "headers"),
    [
        (None, {}),
        ("amp_x", {"Authorization": "Bearer amp_x"}),
        (" amp_x\n", {"Authorization": "Bearer amp_x"}),
        (("zcode", "s3cret"), {"X-Agent-Name": "zcode", "X-Agent-Secret": "s3cret"}),
        (("邮件", "s3cret"), {"X-Agent-Name": "%E9%82%AE%E4%BB%B6", "X-Agent-Secret": "s3cret"}),
    ],
)
def test_a_credential_becomes_headers(credential: Credential, headers: dict[str, str]) -> None:
    assert credential_headers(credential) == headers


@pytest.mark.parametrize(
    "credential", ["", "  ", "s3cret\r\nX: y", "s3cr\u00e9t", "s3cret two", ("zcode", "s3cret\n1")]
)
def test_a_key_that_cannot_be_one_is_refused_and_not_repeated(credential: Credential) -> None:
    """AgentChatBus#8"""
    with pytest.raises(ValueError, match="copy it again") as caught:
        credential_headers(credential)
    assert "s3c" not in str(caught.value)


@pytest.mark.parametrize(("value", "segment"), [("mail_1", "mail_1"), ("a/b?c", "a%2Fb%3Fc"), ("邮", "%E9%82%AE")])
def test_an_id_stays_one_segment_of_the_path(value: str, segment: str) -> None:
    assert part(value) == segment


@pytest.mark.parametrize("value", ["", ".", ".."])
def test_an_id_that_a_url_takes_as_a_direction_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="not an id"):
        part(value)


async def test_a_problem_arrives_with_all_its_parts() -> None:
    async with serving([problem(409, "lease_stale", 30.0)]) as server:
        http = Transport(server.url, KEY)
        with pytest.raises(GatewayProblem, match="what to do") as caught:
            await http.call("GET", "/x", WhoAmI)
        await http.aclose()
    error = caught.value
    assert (error.status, error.code, error.title, error.retry_after_s) == (409, "lease_stale", "No", 30.0)


async def test_the_header_says_when_to_come_back_if_the_problem_does_not() -> None:
    body = msgspec.json.encode(ProblemBody(429, "rate_limited"))
    async with serving([answer(429, body, Retry_After="7")]) as server:
        http = Transport(server.url, KEY)
        with pytest.raises(GatewayProblem) as caught:
            await http.call("GET", "/x", WhoAmI)
        await http.aclose()
    assert caught.value.retry_after_s == 7.0


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (answer(200, b"<html>hello</html>"), "is not an AgentMail gateway"),
        (answer(200, b'{"name": 1}'), "is not an AgentMail gateway"),
        (answer(200, b"\xff\xfe"), "is not an AgentMail gateway"),
        (answer(404, b"<html>nothing</html>"), "is not an AgentMail gateway"),
        (answer(302, b"", Location="http://elsewhere.test/"), "redirects elsewhere"),
        (answer(502, b"Bad Gateway"), "a proxy in front of"),
    ],
)
async def test_what_is_no_gateway_is_called_that(given: bytes, says: str) -> None:
    async with serving([given]) as server:
        http = Transport(server.url, KEY, attempts=1)
        with pytest.raises(GatewayProblem, match=says) as caught:
            await http.call("GET", "/x", WhoAmI)
        await http.aclose()
        assert len(server.requests) == 1
    assert caught.value.code == "bad_answer"


@pytest.mark.parametrize(
    ("script", "repeatable", "tries", "well"),
    [
        ([None, answer(200, ME)], True, 2, True),
        ([None, None, None, answer(200, ME)], True, 4, True),
        ([None, None, None, None, answer(200, ME)], True, 4, False),
        ([None, answer(200, ME)], False, 1, False),
        ([problem(503, "unavailable"), answer(200, ME)], True, 2, True),
        ([problem(503, "unavailable"), answer(200, ME)], False, 1, False),
        ([answer(502), answer(504), answer(200, ME)], True, 3, True),
        ([problem(500, "internal"), answer(200, ME)], True, 1, False),
        ([problem(429, "rate_limited", 1), answer(200, ME)], True, 1, False),
        ([problem(409, "lease_stale"), answer(200, ME)], True, 1, False),
    ],
)
async def test_only_a_call_that_may_be_repeated_is_tried_again(
    script: list[Answer], repeatable: bool, tries: int, well: bool
) -> None:
    pauses = Pauses()
    async with serving(script) as server:
        http = Transport(server.url, KEY, random=lambda: 0.5, sleep=pauses)
        call = http.call("POST", "/x", WhoAmI, body=SendMail(to=("zcode",)), repeatable=repeatable)
        if well:
            assert await call == WhoAmI("zcode", "agent")
        else:
            with pytest.raises((GatewayProblem, GatewayUnreachable)):
                await call
        await http.aclose()
        assert len(server.requests) == tries
        assert len({request.body for request in server.requests}) == 1
    assert pauses.asked == [0.25, 0.5, 1.0][: tries - 1]


@pytest.mark.parametrize(("method", "tries"), [("GET", 2), ("PUT", 2), ("DELETE", 2), ("POST", 1), ("PATCH", 1)])
async def test_the_method_says_whether_a_call_may_be_repeated(method: str, tries: int) -> None:
    async with serving([None, answer(200, ME)]) as server:
        http = Transport(server.url, KEY, sleep=Pauses())
        try:
            await http.call(method, "/x", WhoAmI)  # type: ignore[arg-type]
        except GatewayUnreachable as error:
            assert error.sent  # noqa: PT017 - half of the methods succeed
        await http.aclose()
        assert len(server.requests) == tries


async def test_the_wait_that_a_gateway_asks_for_is_kept_up_to_a_bound() -> None:
    pauses = Pauses()
    script = [problem(503, "unavailable", 3.0), problem(503, "unavailable", 3600.0), answer(200, ME)]
    async with serving(script) as server:
        http = Transport(server.url, KEY, random=lambda: 0.5, sleep=pauses)
        await http.call("GET", "/x", WhoAmI)
        await http.aclose()
    assert pauses.asked == [3.0, 8.0]


async def test_a_call_that_was_never_sent_is_tried_again_whatever_it_is() -> None:
    async with serving([]) as server:
        free = server.url
    pauses = Pauses()
    http = Transport(free, KEY, sleep=pauses)
    with pytest.raises(GatewayUnreachable) as caught:
        await http.call("POST", "/x", WhoAmI)
    await http.aclose()
    assert not caught.value.sent
    assert len(pauses.asked) == 3
    assert str(caught.value) == f"no gateway answers at {free}: start it with `agentmail up`"


async def test_an_unknown_host_is_named() -> None:
    http = Transport("http://no-such-host.invalid", KEY, attempts=1)
    with pytest.raises(GatewayUnreachable, match=r"no-such-host\.invalid") as caught:
        await http.call("GET", "/x", WhoAmI)
    await http.aclose()
    assert not caught.value.sent


async def test_speaking_https_to_a_plain_server_is_explained() -> None:
    async def greet(writer: asyncio.StreamWriter) -> None:
        writer.write(answer(400))
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(lambda _, writer: greet(writer), "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        http = Transport(f"https://127.0.0.1:{port}", KEY, attempts=1)
        with pytest.raises(GatewayUnreachable, match="no secure connection"):
            await http.call("GET", "/x", WhoAmI)
        await http.aclose()


async def test_a_silent_gateway_is_given_up_after_the_time_limit() -> None:
    asked = asyncio.Event()

    async def silence(_: asyncio.StreamWriter) -> None:
        asked.set()
        await asyncio.Event().wait()

    async with serving([silence]) as server:
        http = Transport(server.url, KEY, timeout=0.05, attempts=1)
        with pytest.raises(GatewayUnreachable, match=r"did not answer within 0\.05 s"):
            await http.call("GET", "/x", WhoAmI)
        await http.aclose()
        assert asked.is_set()


async def test_an_answer_that_breaks_off_is_not_taken_for_one() -> None:
    async with serving([answer(200, ME[:-4], Content_Length=str(len(ME)))], read_body=False) as server:
        http = Transport(server.url, KEY, attempts=1)
        with pytest.raises(GatewayUnreachable, match="broke before the answer was complete"):
            await http.call("GET", "/x", WhoAmI)
        await http.aclose()


@pytest.mark.parametrize("credential", [KEY, ("zcode", KEY)])
async def test_no_key_is_shown_anywhere(credential: Credential, caplog: pytest.LogCaptureFixture) -> None:
    """AgentChatBus#8, mcp-memory-service#1117: not in reprs, messages, chained errors, nor in the libraries' logs."""
    caplog.set_level(logging.DEBUG)
    async with serving([answer(200, ME), problem(403, "forbidden"), None]) as server:
        http = Transport(server.url, credential, attempts=1)
        await http.call("GET", "/x", WhoAmI)
        shown = [repr(http), str(http)]
        for _ in range(2):
            with pytest.raises((GatewayProblem, GatewayUnreachable)) as caught:
                await http.call("GET", "/x", WhoAmI)
            shown.append("".join(traceback.TracebackException.from_exception(caught.value).format()))
            assert caught.value.__cause__ is None
            assert caught.value.__context__ is None
        await http.aclose()
        for request in server.requests:
            assert KEY not in request.target
    shown += [record.getMessage() for record in caplog.records]
    assert any("127.0.0.1" in text for text in shown)
    assert not [text for text in shown if KEY in text]


async def test_a_cancelled_call_leaves_its_connection_closed() -> None:
    asked, gone = asyncio.Event(), asyncio.Event()

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        await reader.read()
        gone.set()
        writer.close()

    server = await asyncio.start_server(converse, "127.0.0.1", 0)
    async with server:
        http = Transport(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", KEY)
        call = asyncio.ensure_future(http.call("GET", "/x", WhoAmI))
        await asyncio.wait_for(asked.wait(), 10)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(gone.wait(), 10)
        await http.aclose()
