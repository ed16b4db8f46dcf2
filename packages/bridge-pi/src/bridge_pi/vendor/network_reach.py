"""What a turn may reach when the network is closed but for its model: which request goes where. Pure.

There are two ways out. A `Route` is a place of its own inside (``http://127.0.0.1:18190/NAME/…``) behind which one
service stands: the agent gets it as a base URL, and holds stand-ins for the keys, which are put in on the way. A host
on the list is reached as through any proxy, with TLS from end to end, so that its key must be inside.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from .host_port import host_and_port
from .http_head import Head

__all__ = ["PORT", "Forward", "Reach", "Refused", "Route", "Tunnel", "decide", "proxy_env"]

PORT = 18_190
HERE = f"127.0.0.1:{PORT}"
NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
# Also encoded: a server may decode the path before it looks at it.
CLIMBS = re.compile(r"(?:^|/|%2f|\\|%5c)(?:\.|%2e){1,2}(?:$|/|%2f|\\|%5c)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Route:
    """A service behind a name. `base` is its base URL; `secrets` maps what stands inside to what is sent."""

    name: str
    base: str
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def inside(self) -> str:
        """The base URL for the agent."""
        return f"http://{HERE}/{self.name}{urlsplit(self.base).path}".rstrip("/")


@dataclass(frozen=True, slots=True)
class Reach:
    """All that a turn may reach; `hosts` are ``name:port``, as `host_and_port` writes them."""

    routes: tuple[Route, ...] = ()
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tunnel:
    """Bytes in both directions."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Forward:
    """One request, with its `head` as it is to be sent."""

    host: str
    port: int
    tls: bool
    head: bytes


@dataclass(frozen=True, slots=True)
class Refused:
    """Why not, and which `place` was asked for (empty: none that makes sense)."""

    status: int
    told: str
    place: str = ""


def proxy_env() -> dict[str, str]:
    """The variables by which programs inside find the way out."""
    here, none = f"http://{HERE}", "127.0.0.1,localhost,::1"
    return {
        **dict.fromkeys(("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"), here),
        **dict.fromkeys(("NO_PROXY", "no_proxy"), none),
    }


def decide(head: Head, reach: Reach) -> Tunnel | Forward | Refused:
    """Where a request of the turn goes."""
    if head.method == "CONNECT":
        return _tunnel(head.target, reach)
    target = head.target
    if target.lower().startswith(f"http://{HERE}/"):
        target = target[len(f"http://{HERE}") :]
    if target.startswith("/"):
        return _route(head, target, reach)
    return _plain(head, target, reach)


def _tunnel(target: str, reach: Reach) -> Tunnel | Refused:
    try:
        place = host_and_port(target)
    except ValueError:
        return Refused(400, "no host to connect to")
    if place not in reach.hosts:
        return Refused(403, f"AGENTMAIL_NETWORK=model lets this turn reach no {place}", place)
    return Tunnel(*_split(place))


def _plain(head: Head, target: str, reach: Reach) -> Forward | Refused:
    try:
        parts = urlsplit(target)
        place = host_and_port(parts.netloc, 80)
    except ValueError:
        return Refused(400, "no address that can be read")
    if parts.scheme.lower() != "http":
        return Refused(400, "a request through a proxy is plain http, or CONNECT")
    if place not in reach.hosts:
        return Refused(403, f"AGENTMAIL_NETWORK=model lets this turn reach no {place}", place)
    host, port = _split(place)
    path = target[target.index("://") + 3 + len(parts.netloc) :].partition("#")[0] or "/"
    return Forward(host, port, False, _written(head, path if path.startswith("/") else f"/{path}", parts.netloc, {}))


def _route(head: Head, target: str, reach: Reach) -> Forward | Refused:
    name, _, rest = target[1:].partition("/")
    route = next((each for each in reach.routes if each.name == name), None)
    if route is None:
        return Refused(404, "there is nothing behind this name")
    parts = urlsplit(route.base)
    path, base = f"/{rest}", parts.path.rstrip("/")
    asked = path.partition("?")[0]
    if CLIMBS.search(asked) or not (asked == base or asked.startswith(f"{base}/")):
        return Refused(403, f"only what is below {base or '/'} is reached here")
    tls = parts.scheme == "https"
    host, port = parts.hostname or "", parts.port or (443 if tls else 80)
    return Forward(host, port, tls, _written(head, path, parts.netloc.rpartition("@")[2], route.secrets))


def _split(place: str) -> tuple[str, int]:
    host, _, port = place.rpartition(":")
    return host.strip("[]"), int(port)


def _written(head: Head, path: str, host: str, secrets: Mapping[str, str]) -> bytes:
    """The head for the server. It closes after the answer: what comes after the body is never taken for a request."""
    kept = [(name, _exchanged(value, secrets)) for name, value in head.kept()]
    fields = [("Host", host), *kept, ("Connection", "close")]
    lines = [f"{head.method} {_exchanged(path, secrets)} HTTP/1.1", *(f"{name}: {value}" for name, value in fields)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


def _exchanged(text: str, secrets: Mapping[str, str]) -> str:
    for shown, real in secrets.items():
        text = text.replace(shown, real)
    return text
