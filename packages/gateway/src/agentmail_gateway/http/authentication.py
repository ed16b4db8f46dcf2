"""Who is asking: bearer keys, the agent's name and secret, and the browser's cookie session.

The first kind of credential that a request carries decides; there is no falling back to another one. A credential in
an address is refused whether it is right or not, since addresses end up in logs and histories (AgentChatBus#8,
mcp-memory-service#1117).
"""

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Protocol

from ..principal import Principal
from ..problems import Problem
from .attempts import FailedAttempts
from .exchange import Request

__all__ = ["Authenticator", "Caller", "KeyRing", "client_key", "refuse_keys_in_query", "session_cookie"]

KEY_PARAMETERS = frozenset(
    {"access_token", "api-key", "api_key", "apikey", "auth", "authorization", "key", "password", "secret", "token"}
)
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
SESSION_S = 30 * 24 * 3600


class KeyRing(Protocol):
    """What the gateway answers about credentials; each answer costs no input or output."""

    def authenticate(self, token: str) -> Principal | None: ...
    def authenticate_secret(self, name: str, secret: str) -> Principal | None: ...
    def authenticate_session(self, session_token: str) -> tuple[Principal, str] | None: ...


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller; `valid` tells whether the credential still holds, `csrf` is set for cookie sessions."""

    who: Principal
    valid: Callable[[], bool]
    csrf: str | None = None
    session: str | None = None


def cookie_name(secure: bool) -> str:
    """The session cookie's name; the prefix makes browsers refuse it from anywhere but this host over https."""
    return "__Host-agentmail" if secure else "agentmail"


def session_cookie(session_token: str, *, secure: bool, max_age_s: int = SESSION_S) -> bytes:
    """`Set-Cookie` of a session; an empty token ends it."""
    age = max_age_s if session_token else 0
    text = f"{cookie_name(secure)}={session_token}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}"
    return (text + "; Secure" if secure else text).encode()


def refuse_keys_in_query(pairs: list[tuple[str, str]]) -> None:
    """Raise Problem ``invalid`` when a parameter is named like a credential."""
    for name, _ in pairs:
        if name.lower() in KEY_PARAMETERS:
            raise Problem(
                "invalid",
                "A key never travels in an address, where logs and histories keep it: send it as "
                "`Authorization: Bearer <key>`. If this one was real, have it rotated.",
            )


def client_key(address: str) -> str:
    """What failures are counted by: the address, or the /64 network of an IPv6 one."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is None:
        return f"{int(parsed) >> 64:x}/64"
    return str(parsed)


class Authenticator:
    """Finds the caller of a request in `keys`, and slows guessing down."""

    def __init__(self, keys: KeyRing, attempts: FailedAttempts) -> None:
        self._keys = keys
        self._attempts = attempts

    def caller(self, request: Request) -> Caller:
        """The caller. Raises Problem ``unauthorized``, ``rate_limited``, or ``forbidden`` for a missing CSRF token."""
        caller = self._bearer(request) or self._secret(request) or self._session(request)
        if caller is None:
            raise Problem(
                "unauthorized",
                "No key was sent: send `Authorization: Bearer <key>`. `agentmail up` writes a person's token to "
                "person.token in its data folder; an administrator issues agent keys.",
            )
        return caller

    def failed(self, request: Request, detail: str) -> Problem:
        """Count a failed attempt; returns the problem to raise for it."""
        wait = self._attempts.failed(client_key(request.client))
        return _slow_down(wait) if wait else Problem("unauthorized", detail)

    def check_wait(self, request: Request) -> None:
        """Raise Problem ``rate_limited`` when this client's attempts are used up."""
        wait = self._attempts.wait_s(client_key(request.client))
        if wait:
            raise _slow_down(wait)

    def _bearer(self, request: Request) -> Caller | None:
        value = request.header(b"authorization")
        if value is None:
            return None
        scheme, _, token = value.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise self.failed(request, "The Authorization header has to read `Bearer <key>`.")
        who = self._keys.authenticate(token)
        if who is None:
            raise self.failed(
                request,
                "This key is not known, or no longer: it was replaced, its owner was disabled or its turn has ended. "
                "Ask an administrator for a new one.",
            )
        return Caller(who, lambda: self._keys.authenticate(token) == who)

    def _secret(self, request: Request) -> Caller | None:
        secret = request.header(b"x-agent-secret")
        if secret is None:
            return None
        name = request.header(b"x-agent-name") or ""
        who = self._keys.authenticate_secret(name, secret)
        if who is None:
            raise self.failed(request, "X-Agent-Name and X-Agent-Secret do not belong to a known agent.")
        return Caller(who, lambda: self._keys.authenticate_secret(name, secret) == who)

    def _session(self, request: Request) -> Caller | None:
        token = _cookie(request)
        if not token:
            return None
        found = self._keys.authenticate_session(token)
        if found is None:
            raise self.failed(request, "The session has ended: sign in again.")
        who, csrf = found
        if request.method not in SAFE_METHODS:
            sent = request.header(b"x-csrf-token") or ""
            if not hmac.compare_digest(sent.encode(), csrf.encode()):
                raise Problem(
                    "forbidden",
                    "A change over a cookie session needs the header X-CSRF-Token; GET /api/v1/whoami tells its value.",
                )
        return Caller(who, lambda: self._keys.authenticate_session(token) is not None, csrf, token)


def _cookie(request: Request) -> str:
    text = request.header(b"cookie")
    if text is None:
        return ""
    names = {cookie_name(True), cookie_name(False)}
    for pair in text.split(";"):
        name, _, value = pair.strip().partition("=")
        if name in names:
            return value.strip()
    return ""


def _slow_down(wait_s: float) -> Problem:
    return Problem(
        "rate_limited",
        "Too many failed attempts from this address; a request with a valid key passes at any time.",
        retry_after_s=wait_s,
    )
