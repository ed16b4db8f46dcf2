"""Administration: agents, people, trust, limits, the audit log and the export."""

from ..vendor.wire import (
    AddAgent,
    AddPerson,
    Agent,
    AgentPatch,
    AuditEntry,
    IssuedKey,
    Limits,
    Page,
    Person,
    SetTrust,
    Trust,
)
from .exchange import Reply, Send
from .queries import PageQuery, PersonPatch, page_of
from .route import PERSON, Call, route

__all__ = ["ROUTES"]

ADMIN = "/api/v1/admin"


async def add_agent(call: Call, body: AddAgent) -> Reply[IssuedKey]:
    """Make an agent; its key is shown this once."""
    agent, key = await call.services.gateway.add_agent(call.who, body.name, body.max_mode)
    return Reply(IssuedKey(agent.name, key), 201)


async def rotate_agent(call: Call, name: str) -> IssuedKey:
    """Give an agent a new key; the old one stops working at once."""
    key = await call.services.gateway.rotate_agent(call.who, name)
    call.services.hub.recheck()
    return IssuedKey(name, key)


async def patch_agent(call: Call, name: str, body: AgentPatch) -> Agent:
    """Pause, disable or cap an agent."""
    agent = await call.services.gateway.patch_agent(
        call.who, name, paused=body.paused, max_mode=body.max_mode, disabled=body.disabled
    )
    call.services.hub.recheck()
    return agent


async def list_people(call: Call, query: PageQuery) -> Page[Person]:
    """The people who have a mailbox."""
    page = await call.services.gateway.list_people(call.who)
    return page_of(page.items, query, lambda person: person.name)


async def add_person(call: Call, body: AddPerson) -> Reply[IssuedKey]:
    """Make a person; their token is shown this once."""
    person, token = await call.services.gateway.add_person(call.who, body.name, body.display, body.admin)
    return Reply(IssuedKey(person.name, token), 201)


async def rotate_person(call: Call, name: str) -> IssuedKey:
    """Give a person a new token; the old one stops working at once."""
    token = await call.services.gateway.rotate_person(call.who, name)
    call.services.hub.recheck()
    return IssuedKey(name, token)


async def patch_person(call: Call, name: str, body: PersonPatch) -> Person:
    """Change a person's display name or rights, or disable them."""
    person = await call.services.gateway.patch_person(
        call.who, name, display=body.display, admin=body.admin, disabled=body.disabled
    )
    call.services.hub.recheck()
    return person


async def list_trust(call: Call, query: PageQuery) -> Page[Trust]:
    """Which tier each sender's mail may ask for."""
    page = await call.services.gateway.get_trust(call.who)
    return page_of(page.items, query, lambda trust: trust.sender)


async def set_trust(call: Call, body: SetTrust) -> Trust:
    """Set the highest tier that a sender's mail may ask for."""
    return await call.services.gateway.set_trust(call.who, body.sender, body.tier)


async def get_limits(call: Call) -> Limits:
    """What bounds the mail of agents."""
    return await call.services.gateway.get_limits(call.who)


async def set_limits(call: Call, body: Limits) -> Limits:
    """Replace the limits."""
    return await call.services.gateway.set_limits(call.who, body)


async def audit(call: Call, query: PageQuery) -> Page[AuditEntry]:
    """The administration's record, oldest first."""
    return await call.services.gateway.audit(call.who, after=query.after, limit=query.limit)


async def export(call: Call, send: Send) -> None:
    """Everything in the store but its secrets, as JSON lines."""
    lines = call.services.gateway.export(call.who)
    headers = [
        (b"content-type", b"application/x-ndjson"),
        (b"content-disposition", b'attachment; filename="agentmail.jsonl"'),
        (b"cache-control", b"no-store"),
    ]
    # The first line is fetched before the status is sent: what is refused still gets its problem document.
    chunk = await anext(lines, b"")
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": chunk, "more_body": True})
    async for chunk in lines:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


ROUTES = (
    route("POST", f"{ADMIN}/agents", add_agent, who=PERSON, admin=True, status=201, problems=("conflict",)),
    route("POST", f"{ADMIN}/agents/{{name}}/rotate", rotate_agent, who=PERSON, admin=True, problems=("not_found",)),
    route("PATCH", f"{ADMIN}/agents/{{name}}", patch_agent, who=PERSON, admin=True, problems=("not_found",)),
    route("GET", f"{ADMIN}/people", list_people, who=PERSON, admin=True),
    route("POST", f"{ADMIN}/people", add_person, who=PERSON, admin=True, status=201, problems=("conflict",)),
    route("POST", f"{ADMIN}/people/{{name}}/rotate", rotate_person, who=PERSON, admin=True, problems=("not_found",)),
    route(
        "PATCH", f"{ADMIN}/people/{{name}}", patch_person, who=PERSON, admin=True, problems=("conflict", "not_found")
    ),
    route("GET", f"{ADMIN}/trust", list_trust, who=PERSON, admin=True),
    route("PUT", f"{ADMIN}/trust", set_trust, who=PERSON, admin=True, problems=("not_found",)),
    route("GET", f"{ADMIN}/limits", get_limits, who=PERSON, admin=True),
    route("PUT", f"{ADMIN}/limits", set_limits, who=PERSON, admin=True),
    route("GET", f"{ADMIN}/audit", audit, who=PERSON, admin=True),
    route("GET", f"{ADMIN}/export", export, who=PERSON, admin=True, gives="application/x-ndjson"),
)
