"""Host and Origin: DNS rebinding and foreign pages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmail_gateway.http.origins import AllowList, host_name

DEFAULT = AllowList.of("127.0.0.1")
OPEN = AllowList.of("0.0.0.0", ("mail.example.org",), ("https://mail.example.org", "https://pages.example.org:8443"))


@pytest.mark.parametrize(
    ("allowed", "host", "origin", "verdict"),
    [
        (DEFAULT, "127.0.0.1:8180", None, "ok"),
        (DEFAULT, "localhost", None, "ok"),
        (DEFAULT, "LocalHost:9", None, "ok"),
        (DEFAULT, "localhost.", None, "ok"),
        (DEFAULT, "[::1]:8180", None, "ok"),
        (DEFAULT, None, None, "foreign_host"),
        (DEFAULT, "", None, "foreign_host"),
        (DEFAULT, "evil.example:8180", None, "foreign_host"),
        (DEFAULT, "127.0.0.1.evil.example", None, "foreign_host"),
        (DEFAULT, "localhost,evil.example", None, "foreign_host"),
        (DEFAULT, "user@localhost", None, "foreign_host"),
        (DEFAULT, "localhost:port", None, "foreign_host"),
        (DEFAULT, "localhost/path", None, "foreign_host"),
        (DEFAULT, "[::1", None, "foreign_host"),
        (DEFAULT, "localhost:8180", "http://localhost:8180", "ok"),
        (DEFAULT, "localhost:8180", "https://localhost:8180", "ok"),
        (DEFAULT, "localhost", "http://localhost:80", "ok"),
        (DEFAULT, "localhost:8180", "http://localhost:3000", "foreign_origin"),
        (DEFAULT, "localhost:8180", "http://127.0.0.1:8180", "foreign_origin"),
        (DEFAULT, "localhost:8180", "http://evil.example", "foreign_origin"),
        (DEFAULT, "localhost:8180", "null", "foreign_origin"),
        (DEFAULT, "localhost:8180", "", "foreign_origin"),
        (DEFAULT, "localhost:8180", "file://localhost:8180", "foreign_origin"),
        (DEFAULT, "localhost:8180", "http://localhost:8180/path", "foreign_origin"),
        (DEFAULT, "localhost:8180", "http://localhost:8180,http://evil.example", "foreign_origin"),
        (OPEN, "mail.example.org", "https://mail.example.org", "ok"),
        (OPEN, "mail.example.org", "https://pages.example.org:8443", "ok"),
        (OPEN, "mail.example.org", "https://pages.example.org", "foreign_origin"),
        (OPEN, "0.0.0.0:8180", None, "foreign_host"),
    ],
)
def test_a_request_is_judged_by_host_and_origin(
    allowed: AllowList, host: str | None, origin: str | None, verdict: str
) -> None:
    assert allowed.check(host, origin, "http") == verdict


def test_the_bound_address_is_an_allowed_host() -> None:
    assert AllowList.of("192.168.1.5").check("192.168.1.5:8180", None, "http") == "ok"


@pytest.mark.parametrize("host", ["a/b", "http://mail.example.org", "", "a b:x"])
def test_an_option_that_is_no_host_is_named(host: str) -> None:
    with pytest.raises(ValueError, match="is not a host name"):
        AllowList.of("127.0.0.1", (host,))


@pytest.mark.parametrize("origin", ["mail.example.org", "ftp://a", "https://a/b", "https://", "https://a:b"])
def test_an_option_that_is_no_origin_is_named(origin: str) -> None:
    with pytest.raises(ValueError, match="is not an origin"):
        AllowList.of("127.0.0.1", (), (origin,))


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_header_text_is_judged_without_an_error(host: str, origin: str) -> None:
    verdict = DEFAULT.check(host, origin, "http")
    assert verdict in {"foreign_host", "foreign_origin"} or host_name(host) in DEFAULT.hosts
