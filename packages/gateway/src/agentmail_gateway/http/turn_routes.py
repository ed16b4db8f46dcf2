"""The turn ledger, the agents' directory and permission questions."""

from ..vendor.wire import (
    Agent,
    Claim,
    DecisionBody,
    FinishBody,
    Heartbeat,
    Page,
    PermissionAsk,
    PermissionRequest,
    ProgressBody,
    ReleaseBody,
    RenewAnswer,
    ReplyAnswer,
    ReplyBody,
    StartBody,
    Turn,
)
from .exchange import Reply
from .queries import LeaseBody, PageQuery, PermissionQuery, TurnQuery, page_of, turn_states
from .route import AGENT, ANYBODY, MAILBOX, PERSON, Call, route

__all__ = ["ROUTES"]

API = "/api/v1"
TURN = f"{API}/turns/{{turn_id}}"
LEASED = ("lease_stale", "not_found")


async def list_turns(call: Call, query: TurnQuery) -> Page[Turn]:
    """List turns, oldest first unless told: an agent's own, a person's those of mail they sent or got."""
    return await call.services.gateway.list_turns(
        call.who, states=turn_states(query.state), order=query.order, after=query.after, limit=query.limit
    )


async def get_turn(call: Call, turn_id: str) -> Turn:
    """One turn."""
    return await call.services.gateway.get_turn(call.who, turn_id)


async def claim(call: Call, turn_id: str) -> Claim:
    """Take a queued turn: gives the lease, the turn key and all that the turn needs."""
    return await call.services.gateway.claim(call.who, turn_id)


async def start(call: Call, turn_id: str, body: StartBody) -> None:
    """Say that the agent took the prompt."""
    await call.services.gateway.start(call.who, turn_id, body)


async def renew(call: Call, turn_id: str, body: LeaseBody) -> RenewAnswer:
    """Keep the lease; the answer says whether the sender wants the turn cancelled."""
    return await call.services.gateway.renew(call.who, turn_id, body.lease)


async def release(call: Call, turn_id: str, body: ReleaseBody) -> None:
    """Give the turn back to the queue; this does not count as an attempt."""
    await call.services.gateway.release(call.who, turn_id, body)


async def progress(call: Call, turn_id: str, body: ProgressBody) -> None:
    """Report steps of the running turn; they are never mail."""
    await call.services.gateway.progress(call.who, turn_id, body)


async def reply(call: Call, turn_id: str, body: ReplyBody, key: str) -> ReplyAnswer:
    """Answer the mail and end the turn; the relay key as Idempotency-Key makes a repeated reply one reply."""
    return await call.services.gateway.reply(call.who, turn_id, body, key)


async def finish(call: Call, turn_id: str, body: FinishBody) -> Turn:
    """End the turn without a mail by the bridge."""
    return await call.services.gateway.finish(call.who, turn_id, body)


async def cancel(call: Call, turn_id: str) -> Turn:
    """Stop a turn; a queued one ends at once, a running one is asked to."""
    return await call.services.gateway.cancel(call.who, turn_id)


async def retry(call: Call, turn_id: str) -> Turn:
    """Queue a dead turn again."""
    return await call.services.gateway.retry(call.who, turn_id)


async def delete_turn(call: Call, turn_id: str) -> None:
    """Drop a dead turn from the list of dead letters."""
    await call.services.gateway.delete_turn(call.who, turn_id)


async def list_agents(call: Call, query: PageQuery) -> Page[Agent]:
    """The agents, and which of them are online."""
    page = await call.services.gateway.list_agents(call.who)
    return page_of(page.items, query, lambda agent: agent.name)


async def heartbeat(call: Call, body: Heartbeat) -> None:
    """Say that the agent's bridge is alive, and what it can do."""
    await call.services.gateway.heartbeat(call.who, body)


async def ask_permission(call: Call, body: PermissionAsk) -> Reply[PermissionRequest]:
    """Ask a person whether the running turn may use a tool."""
    asked = await call.services.gateway.ask_permission(call.who, body)
    return Reply(asked, 201, ((b"location", f"{API}/permissions/{asked.id}".encode()),))


async def list_permissions(call: Call, query: PermissionQuery) -> Page[PermissionRequest]:
    """List permission questions, oldest first."""
    return await call.services.gateway.list_permissions(
        call.who, state=query.state, after=query.after, limit=query.limit
    )


async def get_permission(call: Call, permission_id: str) -> PermissionRequest:
    """One permission question."""
    return await call.services.gateway.get_permission(call.who, permission_id)


async def decide_permission(call: Call, permission_id: str, body: DecisionBody) -> PermissionRequest:
    """Answer a permission question: once, for this thread, always, or reject."""
    return await call.services.gateway.decide_permission(call.who, permission_id, body.decision)


ROUTES = (
    route("GET", f"{API}/turns", list_turns, who=ANYBODY),
    route("GET", TURN, get_turn, who=ANYBODY, problems=("not_found",)),
    route("DELETE", TURN, delete_turn, who=PERSON, problems=("conflict", "not_found")),
    route("POST", f"{TURN}/claim", claim, who=AGENT, problems=("not_claimable", "not_found")),
    route("POST", f"{TURN}/start", start, who=AGENT, problems=LEASED),
    route("POST", f"{TURN}/renew", renew, who=AGENT, problems=LEASED),
    route("POST", f"{TURN}/release", release, who=AGENT, problems=LEASED),
    route("POST", f"{TURN}/progress", progress, who=AGENT, problems=LEASED),
    route(
        "POST",
        f"{TURN}/reply",
        reply,
        who=AGENT,
        problems=(*LEASED, "turn_final"),
        body_limit=8 * 1024 * 1024,
    ),
    route("POST", f"{TURN}/finish", finish, who=AGENT, problems=(*LEASED, "conflict", "turn_final")),
    route("POST", f"{TURN}/cancel", cancel, who=MAILBOX, problems=("not_found", "turn_final")),
    route("POST", f"{TURN}/retry", retry, who=MAILBOX, problems=("conflict", "not_found")),
    route("GET", f"{API}/agents", list_agents, who=ANYBODY),
    route("POST", f"{API}/agents/me/heartbeat", heartbeat, who=AGENT),
    route(
        "POST",
        f"{API}/permissions",
        ask_permission,
        who=AGENT,
        status=201,
        problems=(*LEASED, "conflict"),
    ),
    route("GET", f"{API}/permissions", list_permissions, who=MAILBOX),
    route("GET", f"{API}/permissions/{{permission_id}}", get_permission, who=MAILBOX, problems=("not_found",)),
    route(
        "POST",
        f"{API}/permissions/{{permission_id}}/decision",
        decide_permission,
        who=PERSON,
        problems=("conflict", "not_found"),
    ),
)
