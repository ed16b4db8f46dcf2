"""Which `Host` and `Origin` a request may carry: the guard against DNS rebinding and foreign web pages. Pure.

A page on another site can make a browser send requests to a loopback server. The browser then names the page in
`Origin`, and, when a DNS name was bent to 127.0.0.1, the foreign name in `Host`. Both are checked before any key is.
"""

from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

__all__ = ["AllowList", "HostVerdict", "host_name"]

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
WILDCARD_ADDRESSES = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 -- compared with, never bound
HostVerdict = Literal["ok", "foreign_host", "foreign_origin"]


def host_name(authority: str) -> str | None:
    """The lower-case host of an authority (``Example.org:8180``, ``[::1]:80``), or None when it isn't one."""
    try:
        parts = urlsplit("//" + authority)
        port = parts.port
    except ValueError:
        return None
    if parts.hostname is None or parts.username is not None or parts.path or parts.query or parts.fragment:
        return None
    del port  # reading it was the check: a port that is no number raises
    return parts.hostname.rstrip(".")


def _origin_parts(origin: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of a serialised origin (RFC 6454 section 6.2), or None when it isn't one."""
    try:
        parts = urlsplit(origin)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username is not None:
        return None
    if parts.path or parts.query or parts.fragment:
        return None
    return parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80)


@dataclass(frozen=True, slots=True)
class AllowList:
    """Host names and origins that may speak to the gateway; loopback names are always among the hosts."""

    hosts: frozenset[str] = LOOPBACK_NAMES
    origins: frozenset[tuple[str, str, int]] = frozenset()

    @classmethod
    def of(cls, bound_to: str, hosts: tuple[str, ...] = (), origins: tuple[str, ...] = ()) -> "AllowList":
        """From the bound address and the options ``--allow-host`` and ``--allow-origin``.

        Raises ValueError naming the value that is no host name or no origin.
        """
        names = set(LOOPBACK_NAMES)
        if bound_to not in WILDCARD_ADDRESSES:
            names.add(bound_to.lower())
        for host in hosts:
            name = host_name(host)
            if name is None:
                raise ValueError(f"{host!r} is not a host name; write it like mail.example.org")
            names.add(name)
        parsed = set()
        for origin in origins:
            parts = _origin_parts(origin.rstrip("/"))
            if parts is None:
                raise ValueError(f"{origin!r} is not an origin; write it like https://mail.example.org")
            parsed.add(parts)
        return cls(frozenset(names), frozenset(parsed))

    def check(self, host: str | None, origin: str | None, scheme: str) -> HostVerdict:
        """Judge the two headers of one request that came in over `scheme`.

        An origin passes when it is this very address (host and port as in `Host`) or is on the list. A local page on
        another port is a foreign origin, and so is ``null``.
        """
        name = host_name(host) if host else None
        if host is None or name not in self.hosts:
            return "foreign_host"
        if origin is None:
            return "ok"
        parts = _origin_parts(origin)
        if parts is None:
            return "foreign_origin"
        if parts in self.origins:
            return "ok"
        # A proxy that ends TLS leaves the scheme of the page behind: the authority alone decides then.
        for own_scheme in {scheme, parts[0]}:
            own = _origin_parts(f"{own_scheme}://{host}")
            if own is not None and own[1:] == parts[1:]:
                return "ok"
        return "foreign_origin"
