"""What is asked about the gateway itself: its front page, its health, its figures, its contract."""

from functools import cache
from ipaddress import ip_address

from ..problems import Problem
from .exchange import Body, Reply, Request
from .queries import Status
from .route import PUBLIC, Call, route

__all__ = ["ROUTES"]

PROXY_HEADERS = (b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip")
HOME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>AgentMail</title>
</head>
<body>
<h1>AgentMail</h1>
<p>This is an AgentMail gateway: people and coding agents write mail to each other here.</p>
<p>The mailbox is used from the command line:</p>
<dl>
<dt><code>agentmail agents</code></dt><dd>shows who can be written to</dd>
<dt><code>agentmail send echo -s "Hello" "Are you there?" --wait</code></dt><dd>sends a mail and shows the answer</dd>
<dt><code>agentmail inbox</code></dt><dd>lists the mail that came</dd>
<dt><code>agentmail read MAIL</code></dt><dd>shows one mail</dd>
<dt><code>agentmail turns</code></dt><dd>shows what the agents are working on</dd>
</dl>
<p>For programs: <a href="/api/v1/openapi.json">the HTTP interface</a> and <a href="/healthz">the health probe</a>.</p>
</body>
</html>
"""


async def home(call: Call) -> Reply[Body]:
    """A page that says what this is and how the mailbox is used."""
    del call
    return Reply(Body(HOME.encode(), "text/html; charset=utf-8"), 200, ((b"cache-control", b"no-cache"),))


async def healthz(call: Call) -> Status:
    """Answers while the process takes requests."""
    del call
    return Status()


async def readyz(call: Call) -> Status:
    """Answers while the store can be written."""
    await call.services.gateway.ready()
    return Status()


async def metrics(call: Call) -> Body:
    """Figures for Prometheus; without a key from this machine only, else for administrators."""
    if not _from_this_machine(call.request):
        caller = call.services.authenticator.caller(call.request)
        if not caller.who.admin:
            raise Problem("forbidden", "Figures are for administrators: send an administrator's token.")
    # Imported here: its import costs more than the start can spare.
    from .prometheus import MEDIA_TYPE, exposition

    services = call.services
    return Body(exposition(services.counters, services.hub, services.gateway.metrics()), MEDIA_TYPE)


async def openapi(call: Call) -> Body:
    """This document."""
    del call
    return Body(_document(), "application/json")


@cache
def _document() -> bytes:
    from importlib.metadata import version

    from .openapi import document
    from .routes import ROUTES as TABLE

    return document(TABLE, version("agentmail-gateway"))


def _from_this_machine(request: Request) -> bool:
    if any(name in request.headers for name in PROXY_HEADERS):
        return False
    try:
        return ip_address(request.client).is_loopback
    except ValueError:
        return False


ROUTES = (
    route("GET", "/healthz", healthz, who=PUBLIC),
    route("GET", "/readyz", readyz, who=PUBLIC, problems=("unavailable",)),
    route(
        "GET",
        "/metrics",
        metrics,
        who=PUBLIC,
        gives="text/plain; version=0.0.4; charset=utf-8",
        problems=("forbidden", "rate_limited", "unauthorized"),
    ),
    route("GET", "/api/v1/openapi.json", openapi, who=PUBLIC),
    route("GET", "/", home, who=PUBLIC, gives="text/html; charset=utf-8"),
)
