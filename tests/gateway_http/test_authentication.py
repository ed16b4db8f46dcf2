"""Who is asking."""

import pytest

from agentmail_gateway.http.attempts import FailedAttempts
from agentmail_gateway.http.authentication import (
    Authenticator,
    client_key,
    refuse_keys_in_query,
    session_cookie,
)
from agentmail_gateway.http.exchange import Message, Request
from agentmail_gateway.principal import Principal
from agentmail_gateway.problems import Problem

from .memory import scope

ADA = Principal("person", "ada", True)
ZCODE = Principal("agent", "zcode")
CSRF = "csrf-token"


class Keys:
    """Three credentials."""

    def authenticate(self, token: str) -> Principal | None:
        return {"good": ADA}.get(token)

    def authenticate_secret(self, name: str, secret: str) -> Principal | None:
        return ZCODE if (name, secret) == ("zcode", "good") else None

    def authenticate_session(self, session_token: str) -> tuple[Principal, str] | None:
        return (ADA, CSRF) if session_token == "good" else None


def authenticator() -> Authenticator:
    return Authenticator(Keys(), FailedAttempts(lambda: 0.0, allowed=3))


def request(headers: dict[str, str], method: str = "GET", client: str = "10.0.0.1") -> Request:
    async def receive() -> Message:
        raise AssertionError("nobody reads the body")

    made = scope(method, "/", headers)
    made["client"] = (client, 1)
    return Request(made, receive)


@pytest.mark.parametrize(
    ("headers", "who"),
    [
        ({"Authorization": "Bearer good"}, ADA),
        ({"Authorization": "bearer  good "}, ADA),
        ({"X-Agent-Name": "zcode", "X-Agent-Secret": "good"}, ZCODE),
        ({"Cookie": "agentmail=good"}, ADA),
        ({"Cookie": "a=b; __Host-agentmail=good; c=d"}, ADA),
        ({"Authorization": "Bearer good", "Cookie": "agentmail=bad"}, ADA),
    ],
)
def test_each_kind_of_credential_names_its_owner(headers: dict[str, str], who: Principal) -> None:
    caller = authenticator().caller(request(headers))
    assert caller.who == who
    assert caller.valid()


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer bad"},
        {"Authorization": "Bearer"},
        {"Authorization": "Basic Z29vZA=="},
        {"Authorization": "good"},
        {"Authorization": "Bearer bad", "Cookie": "agentmail=good"},
        {"Authorization": "", "Cookie": "agentmail=good"},
        {"X-Agent-Secret": "good"},
        {"X-Agent-Name": "zcode", "X-Agent-Secret": "bad"},
        {"X-Agent-Name": "zcode"},
        {"Cookie": "agentmail=bad"},
        {"Cookie": "other=good"},
    ],
)
def test_a_wrong_credential_is_refused_whatever_else_is_sent(headers: dict[str, str]) -> None:
    with pytest.raises(Problem) as caught:
        authenticator().caller(request(headers))
    assert caught.value.code == "unauthorized"


@pytest.mark.parametrize(
    ("method", "sent", "passes"),
    [
        ("GET", None, True),
        ("POST", CSRF, True),
        ("POST", None, False),
        ("DELETE", "wrong", False),
        ("PATCH", "", False),
        ("PUT", "ä", False),
    ],
)
def test_a_change_over_a_cookie_needs_the_csrf_token(method: str, sent: str | None, passes: bool) -> None:
    headers = {"Cookie": "agentmail=good"} | ({} if sent is None else {"X-CSRF-Token": sent})
    if passes:
        assert authenticator().caller(request(headers, method)).csrf == CSRF
        return
    with pytest.raises(Problem) as caught:
        authenticator().caller(request(headers, method))
    assert caught.value.code == "forbidden"


def test_guessing_is_slowed_down_and_a_valid_key_still_passes() -> None:
    guarded = authenticator()
    codes = []
    for number in range(6):
        with pytest.raises(Problem) as caught:
            guarded.caller(request({"Authorization": f"Bearer guess{number}"}))
        codes.append(caught.value.code)
    assert codes == ["unauthorized"] * 3 + ["rate_limited"] * 3
    assert caught.value.retry_after_s == 60
    assert guarded.caller(request({"Authorization": "Bearer good"})).who == ADA
    with pytest.raises(Problem) as caught:
        guarded.caller(request({"Authorization": "Bearer guess"}, client="10.0.0.2"))
    assert caught.value.code == "unauthorized"


def test_a_request_without_any_credential_is_no_guess() -> None:
    guarded = authenticator()
    for _ in range(10):
        with pytest.raises(Problem) as caught:
            guarded.caller(request({}))
        assert caught.value.code == "unauthorized"


@pytest.mark.parametrize("name", ["token", "key", "api_key", "API_KEY", "apikey", "access_token", "secret", "auth"])
def test_a_key_in_the_address_is_refused(name: str) -> None:
    """AgentChatBus#8, mcp-memory-service#1117"""
    with pytest.raises(Problem) as caught:
        refuse_keys_in_query([("q", "x"), (name, "ama_secret")])
    assert caught.value.code == "invalid"
    assert "ama_secret" not in caught.value.detail


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "20010db800010002/64"),
        ("2001:db8:1:2::1", "20010db800010002/64"),
        ("fe80::1%eth0", "fe80000000000000/64"),
        ("unknown", "unknown"),
    ],
)
def test_a_network_of_one_client_counts_as_one(address: str, key: str) -> None:
    assert client_key(address) == (key if "/" not in key else f"{int(key[:-3], 16):x}/64")


def test_the_session_cookie_is_kept_from_scripts_and_other_sites() -> None:
    assert session_cookie("t", secure=False) == b"agentmail=t; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000"
    assert session_cookie("t", secure=True).startswith(b"__Host-agentmail=t; Path=/; HttpOnly; SameSite=Strict")
    assert session_cookie("t", secure=True).endswith(b"; Secure")
    assert b"Max-Age=0" in session_cookie("", secure=False)
