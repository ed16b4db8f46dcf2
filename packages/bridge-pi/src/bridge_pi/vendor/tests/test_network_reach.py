"""What a turn with a closed network may reach, and in which words a request is passed on."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ..host_port import host_and_port
from ..http_head import HeadError, parse
from ..network_reach import Forward, Reach, Refused, Route, Tunnel, decide

MODEL = Route("model", "https://api.example.org/v1", {"stand-in": "sk-the-key"})
MAIL = Route("agentmail", "http://127.0.0.1:8180/mcp")
REACH = Reach((MODEL, MAIL), ("git.example.org:443", "plain.example.org:80", "[::1]:8080"))


def asked(line: str, *fields: str) -> Tunnel | Forward | Refused:
    return decide(parse(("\r\n".join((f"{line} HTTP/1.1", *fields)) + "\r\n\r\n").encode()), REACH)


@pytest.mark.parametrize(
    ("target", "host", "port"),
    [("git.example.org:443", "git.example.org", 443), ("GIT.example.org.:443", "git.example.org", 443)],
)
def test_a_host_on_the_list_is_connected_to(target: str, host: str, port: int) -> None:
    assert asked(f"CONNECT {target}") == Tunnel(host, port)


def test_an_address_on_the_list_may_be_one_of_ipv6() -> None:
    assert asked("CONNECT [::1]:8080") == Tunnel("::1", 8080)


@pytest.mark.parametrize(
    "line",
    [
        "CONNECT git.example.org:22",
        "CONNECT example.org:443",
        "CONNECT evilgit.example.org:443",
        "CONNECT api.example.org:443",  # behind a route: its key is not inside
        "CONNECT 127.0.0.1:8180",
        "GET http://git.example.org/",
        "GET http://git.example.org:443@evil.example/",
        "GET http://169.254.169.254/latest",
    ],
)
def test_every_other_place_is_refused_by_its_name(line: str) -> None:
    going = asked(line)
    assert isinstance(going, Refused)
    assert going.status in (400, 403)


def test_a_refusal_names_the_place() -> None:
    going = asked("CONNECT Evil.Example")
    assert isinstance(going, Refused)
    assert (going.place, "evil.example:443" in going.told) == ("evil.example:443", True)


def test_the_key_is_put_in_on_the_way_and_the_connection_ends() -> None:
    going = asked(
        "POST /model/v1/chat/completions?key=stand-in",
        "Host: 127.0.0.1:18190",
        "Authorization: Bearer stand-in",
        "Connection: keep-alive, X-Gone",
        "X-Gone: 1",
        "Proxy-Authorization: Basic x",
        "Content-Length: 3",
    )
    assert isinstance(going, Forward)
    assert (going.host, going.port, going.tls) == ("api.example.org", 443, True)
    assert going.head.decode().split("\r\n") == [
        "POST /v1/chat/completions?key=sk-the-key HTTP/1.1",
        "Host: api.example.org",
        "Authorization: Bearer sk-the-key",
        "Content-Length: 3",
        "Connection: close",
        "",
        "",
    ]


def test_a_key_is_put_in_for_its_own_service_only() -> None:
    for line in ("POST /agentmail/mcp", "GET http://plain.example.org/x"):
        going = asked(line, "Authorization: Bearer stand-in")
        assert isinstance(going, Forward)
        assert b"Bearer stand-in" in going.head


def test_a_plain_host_on_the_list_is_asked_in_its_own_words() -> None:
    going = asked("GET http://plain.example.org?q=1", "Host: plain.example.org")
    assert isinstance(going, Forward)
    assert (going.host, going.port, going.tls) == ("plain.example.org", 80, False)
    assert going.head.startswith(b"GET /?q=1 HTTP/1.1\r\nHost: plain.example.org\r\n")


@pytest.mark.parametrize("base", ["", "http://127.0.0.1:18190"])
@pytest.mark.parametrize(
    "path",
    [
        "/agentmail/api/v1/turns",
        "/agentmail/mcpx",
        "/agentmail/mcp/../api/v1/turns",
        "/agentmail/mcp/%2e%2E/api/v1/turns",
        "/agentmail/mcp%2f..%2fapi",
        "/agentmail/mcp/..\\api",
        "/agentmail",
        "/unknown/v1",
        "/",
    ],
)
def test_behind_a_name_only_its_base_is_reached(base: str, path: str) -> None:
    assert isinstance(asked(f"POST {base}{path}"), Refused)


def test_what_the_agent_gets_as_base_url_leads_to_the_service() -> None:
    assert MODEL.inside == "http://127.0.0.1:18190/model/v1"
    going = asked(f"POST {MODEL.inside}/messages")
    assert isinstance(going, Forward)
    assert going.head.startswith(b"POST /v1/messages HTTP/1.1\r\n")


def test_a_key_does_not_show_in_a_repr() -> None:
    assert "sk-the-key" not in repr(REACH)


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: +3\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
        b"GET / HTTP/1.1\r\nA : b\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: b\nEvil: c\r\n\r\n",
        b"GET /a b HTTP/1.1\r\n\r\n",
        b"GET / HTTP/2.0\r\n\r\n",
        b"\r\n\r\n",
    ],
)
def test_what_two_readers_could_understand_differently_is_refused(raw: bytes) -> None:
    with pytest.raises(HeadError):
        parse(raw)


@given(st.binary(max_size=200))
def test_only_the_documented_error_comes_of_any_bytes(raw: bytes) -> None:
    with suppress(HeadError):
        decide(parse(raw + b"\r\n\r\n"), REACH)


@given(st.text(max_size=60))
def test_only_the_documented_error_comes_of_any_host(text: str) -> None:
    try:
        once = host_and_port(text)
    except ValueError:
        return
    assert host_and_port(once) == once
