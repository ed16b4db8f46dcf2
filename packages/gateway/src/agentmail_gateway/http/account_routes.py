"""Who the caller is, and the browser's session."""

from ..problems import Problem
from ..vendor.wire import SignInCode, WhoAmI
from .authentication import session_cookie
from .exchange import Reply
from .queries import SignedIn, SignIn
from .route import ANYBODY, PERSON, PUBLIC, Call, route

__all__ = ["ROUTES"]

API = "/api/v1"


async def whoami(call: Call) -> WhoAmI:
    """Who the credential belongs to; a cookie session also gets its CSRF token."""
    assert call.caller is not None
    who = call.who
    return WhoAmI(who.name, who.kind, who.admin, who.turn_id, call.caller.csrf)


async def make_code(call: Call) -> Reply[SignInCode]:
    """A code for the sign-in page; it works once, for some minutes."""
    return Reply(await call.services.gateway.sign_in_code(call.who), 201)


async def sign_in(call: Call, body: SignIn) -> Reply[SignedIn]:
    """Trade a code for a cookie session."""
    authenticator = call.services.authenticator
    authenticator.check_wait(call.request)
    try:
        token, csrf, who = await call.services.gateway.sign_in(body.code)
    except Problem as problem:
        if problem.code == "unauthorized":
            raise authenticator.failed(call.request, problem.detail) from None
        raise
    cookie = session_cookie(token, secure=call.request.scope["scheme"] == "https")
    return Reply(SignedIn(who.name, csrf), 200, ((b"set-cookie", cookie),))


async def sign_out(call: Call) -> Reply[None]:
    """End the cookie session that the request carries."""
    assert call.caller is not None
    if call.caller.session is None:
        raise Problem("conflict", "Only a cookie session can be signed out of; a key is ended by rotating it.")
    await call.services.gateway.sign_out(call.caller.session)
    call.services.hub.recheck()
    cookie = session_cookie("", secure=call.request.scope["scheme"] == "https")
    return Reply(None, 204, ((b"set-cookie", cookie),))


ROUTES = (
    route("GET", f"{API}/whoami", whoami, who=ANYBODY),
    route("POST", f"{API}/sign-in-codes", make_code, who=PERSON, status=201),
    route("POST", f"{API}/sign-in", sign_in, who=PUBLIC, problems=("rate_limited", "unauthorized", "unavailable")),
    route("POST", f"{API}/sign-out", sign_out, who=PERSON, status=204, problems=("conflict",)),
)
