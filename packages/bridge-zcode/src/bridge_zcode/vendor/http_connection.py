"""How this project's HTTP clients reach a server: which URLs are fit, which proxy settings count, how long to wait.

Proxy variables of the environment (``HTTP_PROXY``, ``ALL_PROXY``, ``NO_PROXY``) are honoured, except for a server on
this machine: a proxy can't reach it, and a bridge behind a company proxy would never find its gateway.
"""

import ssl
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

import httpx2

__all__ = ["back_off_s", "base_url", "is_loopback", "open_client", "retry_after_s"]

KEEP_ALIVE_S = 4.0
CONNECT_S = 10.0
LONGEST_RETRY_AFTER_S = 24 * 3600.0


def base_url(url: str) -> str:
    """`url` without trailing slashes, fit to have a path appended.

    Raises ValueError, with a message for people, unless it is ``http(s)://host[:port][/prefix]``. User names and
    passwords are refused (they would reach logs), and the message does not repeat them.
    """
    try:
        parts = urlsplit(url.strip())
        named, port_fits = bool(parts.hostname), parts.port != 0
    except ValueError:
        named, port_fits, parts = False, False, urlsplit("")
    if parts.username is not None or parts.password is not None:
        raise ValueError("the gateway's address must not hold a user name or password: give the key as a setting")
    if not named or not port_fits or parts.scheme not in ("http", "https"):
        raise ValueError("the gateway's address must look like http://127.0.0.1:8180 or https://mail.example.org")
    if parts.query or parts.fragment:
        raise ValueError("the gateway's address must not hold '?' or '#': give only scheme, host, port and path")
    return f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/")


def is_loopback(url: str) -> bool:
    """Whether `url` names this machine itself: ``localhost``, 127.0.0.0/8, ``::1``, or the unspecified address."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address.is_loopback or address.is_unspecified


def open_client(url: str, headers: Mapping[str, str] | None = None, timeout: float = 30.0) -> httpx2.AsyncClient:
    """A client for the server at `url`; redirects are not followed, so that a key never travels to another host.

    `timeout` bounds each wait for the server in seconds (connecting: 10 s at most). The caller closes the client.
    Raises ValueError when the environment names a proxy of a kind that can't be used.
    """
    # Reading the system's certificates costs a bridge start-up time and memory that plain http doesn't need.
    tls = httpx2.create_ssl_context() if url.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        return httpx2.AsyncClient(
            headers=dict(headers or {}),
            verify=tls,
            trust_env=not is_loopback(url),
            timeout=httpx2.Timeout(timeout, connect=min(timeout, CONNECT_S)),
            # Shorter than a server's usual 5 s, so that a request is not sent into a connection that is being closed.
            limits=httpx2.Limits(max_connections=100, max_keepalive_connections=10, keepalive_expiry=KEEP_ALIVE_S),
        )
    except ImportError:
        raise ValueError(
            "the environment names a SOCKS proxy, which is not supported: unset ALL_PROXY or add the host to NO_PROXY"
        ) from None


def back_off_s(attempt: int, random: float, *, base_s: float, cap_s: float) -> float:
    """Seconds to wait before try number `attempt` + 1: exponential with full jitter.

    `attempt` counts failed tries from 1, `random` is in [0, 1). The answer is in [0, min(`cap_s`, `base_s` * 2^(n-1))).
    """
    return random * min(cap_s, base_s * 2.0 ** min(attempt - 1, 60))


def retry_after_s(value: str | None, now: float) -> float | None:
    """Seconds that a ``Retry-After`` header asks for (RFC 9110, 10.2.3: seconds or a date), at most a day.

    `now` is in seconds since the epoch. None if there is no such header or it can't be read.
    """
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:12]), LONGEST_RETRY_AFTER_S)
    try:
        moment = parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None
    return min(max(moment - now, 0.0), LONGEST_RETRY_AFTER_S)
