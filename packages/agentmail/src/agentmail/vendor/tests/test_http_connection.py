"""Which URLs are fit, which proxy settings count, how long to wait."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ..http_connection import __all__ as exported
from ..http_connection import back_off_s, base_url, is_loopback, open_client, retry_after_s
from .loopback_server import answer, serving


def test_the_public_names_are_sorted() -> None:
    assert exported == sorted(exported)


@pytest.mark.parametrize(
    ("url", "fit"),
    [
        ("http://127.0.0.1:8180", "http://127.0.0.1:8180"),
        (" http://127.0.0.1:8180/ ", "http://127.0.0.1:8180"),
        ("https://mail.example.org/box//", "https://mail.example.org/box"),
        ("http://[::1]:8180", "http://[::1]:8180"),
    ],
)
def test_an_address_loses_its_trailing_slashes(url: str, fit: str) -> None:
    assert base_url(url) == fit


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8180",
        "ftp://host",
        "http://",
        "http://host:99999",
        "http://host:0",
        "http://h?x=1",
        "http://h#x",
        "http://[",
    ],
)
def test_an_address_that_cannot_be_one_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(ValueError, match="the gateway's address must"):
        base_url(url)


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    """mcp-memory-service#1117"""
    with pytest.raises(ValueError, match="must not hold a user name or password") as caught:
        base_url("http://ada:s3cret@127.0.0.1:8180")
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://localhost:8180", True),
        ("http://LOCALHOST.", True),
        ("http://mail.localhost", True),
        ("http://127.8.9.10", True),
        ("http://[::1]:1", True),
        ("http://[::ffff:127.0.0.1]", True),
        ("http://0.0.0.0:8180", True),
        ("http://localhost.example.org", False),
        ("http://10.0.0.1", False),
        ("https://example.org", False),
        ("http://127.0.0.1.example.org", False),
    ],
)
def test_this_machine_is_told_from_others(url: str, loopback: bool) -> None:
    assert is_loopback(url) is loopback


async def test_proxy_settings_are_ignored_for_a_server_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bridge behind a company proxy finds its gateway: agentapi#69"""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with serving([answer(200, b"direct")]) as server, open_client(server.url) as client:
        assert (await client.get(server.url)).content == b"direct"


async def test_proxy_settings_are_honoured_for_any_other_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    async with serving([answer(200, b"by proxy")]) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        async with open_client("http://mail.example.test") as client:
            assert (await client.get("http://mail.example.test/x")).content == b"by proxy"
        assert proxy.requests[0].target == "http://mail.example.test/x"


def test_a_proxy_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:1")
    monkeypatch.delenv("ALL_PROXY", raising=False)
    with pytest.raises(ValueError, match="SOCKS proxy"):
        open_client("http://mail.example.test")


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True), st.floats(0.01, 10), st.floats(0.01, 300))
def test_back_off_stays_below_its_doubling_and_its_cap(attempt: int, random: float, base: float, cap: float) -> None:
    delay = back_off_s(attempt, random, base_s=base, cap_s=cap)
    assert 0 <= delay <= min(cap, base * 2.0 ** min(attempt - 1, 60))


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("30", 30.0),
        (" 0 ", 0.0),
        ("9" * 40, 24 * 3600.0),
        ("Thu, 01 Jan 1970 00:02:00 GMT", 20.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("soon", None),
        ("-5", None),
        ("", None),
        ("٣", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(value: str | None, seconds: float | None) -> None:
    assert retry_after_s(value, now=100.0) == seconds
