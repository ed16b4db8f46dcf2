"""The gateway's JSON contract as typed structures, used by the gateway and by all of its clients.

Times are RFC 3339 UTC strings with milliseconds (``2026-11-30T23:59:15.000Z``). Ids are opaque strings: a type prefix
(``mail_``, ``thr_``, ``turn_``, ``ses_``, ``att_``, ``perm_``) and a UUID in hex. Fields may be added, names never
change: a decoder ignores what it doesn't know.
"""

from typing import Generic, Literal, TypeVar

from msgspec import Struct, field

__all__ = [
    "FINAL_STATES",
    "AddAgent",
    "AddPerson",
    "AddressRef",
    "Agent",
    "AgentPatch",
    "Attachment",
    "AuditEntry",
    "Claim",
    "ClaimThread",
    "DecisionBody",
    "Enforcement",
    "Failure",
    "FailureClass",
    "FinishBody",
    "FinishOutcome",
    "Heartbeat",
    "IssuedKey",
    "Limits",
    "ListOrder",
    "Mail",
    "Page",
    "PermissionAsk",
    "PermissionDecision",
    "PermissionRequest",
    "Person",
    "ProblemBody",
    "ProgressBody",
    "ProgressEvent",
    "Receipt",
    "ReleaseBody",
    "RenewAnswer",
    "ReplyAnswer",
    "ReplyBody",
    "SendMail",
    "Session",
    "SetTrust",
    "SignInCode",
    "StartBody",
    "Thread",
    "ThreadSummary",
    "Tier",
    "Trust",
    "Turn",
    "TurnState",
    "Usage",
    "WhoAmI",
]

T = TypeVar("T")
Tier = Literal["plan", "workspace", "full"]
Kind = Literal["person", "agent", "system"]
AutoSubmitted = Literal["no", "auto-replied", "auto-generated"]
TurnState = Literal[
    "queued", "leased", "running", "answered", "answered_by_agent", "failed", "no_reply", "cancelled", "dead"
]
FINAL_STATES: frozenset[TurnState] = frozenset(
    {"answered", "answered_by_agent", "failed", "no_reply", "cancelled", "dead"}
)
ListOrder = Literal["oldest", "newest"]
FinishOutcome = Literal["answered_by_agent", "no_reply", "cancelled"]
EnforcementLevel = Literal["sandbox", "native", "advisory"]
FailureClass = Literal[
    "cli_missing",  # the agent's program was not found
    "runtime_too_old",  # its runtime lacks something (Node without node:sqlite)
    "provider_missing",  # its provider file or configuration is missing
    "not_signed_in",  # no login, no key
    "no_model",
    "quota",  # used up until a time
    "rate_limited",
    "overloaded",
    "context_too_long",
    "content_filtered",
    "tool_denied",  # tools were denied and no text came
    "empty_answer",
    "cancelled",
    "timed_out",
    "crashed",
    "bad_option",  # bridge and agent program don't fit each other
    "workspace_gone",
    "workspace_unknown",
    "tier_unenforceable",
    "session_elsewhere",  # the agent's session is pinned to another directory
    "agent_error",  # any other error that the agent itself reported
    "bridge_error",  # a fault of the bridge
]


class AddressRef(Struct, frozen=True, omit_defaults=True):
    """Somebody who writes or gets mail; `name` is unique over people and agents."""

    name: str
    kind: Kind
    display: str | None = None


class Attachment(Struct, frozen=True):
    """An attachment as stored; `size` in bytes. `name` is a label, never a path."""

    id: str
    name: str
    type: str
    size: int


class Failure(Struct, frozen=True):
    """Why a turn failed: its class, the agent's own cause in one or two sentences, and what to do next."""

    class_: FailureClass = field(name="class")
    message: str
    next_step: str = ""


class Receipt(Struct, frozen=True):
    """What became of a mail at one agent: the turn's state and the time of each step, null until it happened."""

    to: str
    turn_id: str
    state: TurnState
    outcome: str | None = None
    accepted_at: str | None = None
    pushed_at: str | None = None
    leased_at: str | None = None
    started_at: str | None = None
    last_output_at: str | None = None
    finished_at: str | None = None
    reply_id: str | None = None
    attempt: int = 0
    failure: Failure | None = None


class Mail(Struct, frozen=True):
    """One mail as the asking principal sees it (`unread` and `receipts` are theirs)."""

    id: str
    thread_id: str
    from_: AddressRef = field(name="from")
    to: tuple[AddressRef, ...]
    cc: tuple[AddressRef, ...]
    subject: str
    body: str
    created_at: str
    in_reply_to: str | None
    auto_submitted: AutoSubmitted
    permission_mode: Tier
    workspace: str | None
    attachments: tuple[Attachment, ...] = ()
    unread: bool = False
    receipts: tuple[Receipt, ...] = ()


class SendMail(Struct, frozen=True, forbid_unknown_fields=True):
    """Body of ``POST /api/v1/mails``. `to` and `cc` hold addresses (``zcode``, ``Ada <ada>``)."""

    to: tuple[str, ...]
    subject: str = ""
    body: str = ""
    cc: tuple[str, ...] = ()
    in_reply_to: str | None = None
    workspace: str | None = None
    permission_mode: Tier | None = None
    attachments: tuple[str, ...] = ()


class Usage(Struct, frozen=True, omit_defaults=True):
    """What a turn used: tokens, US dollars where the agent tells, wall-clock milliseconds."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    duration_ms: int | None = None


class Turn(Struct, frozen=True):
    """One row of the turn ledger: (mail, agent) from `queued` to one final state."""

    id: str
    mail_id: str
    thread_id: str
    agent: str
    state: TurnState
    attempt: int
    lease: int
    created_at: str
    not_before: str | None = None
    expires_at: str | None = None
    cancel_requested: bool = False
    effective_mode: Tier = "plan"
    workspace: str | None = None
    pushed_at: str | None = None
    leased_at: str | None = None
    started_at: str | None = None
    last_output_at: str | None = None
    finished_at: str | None = None
    reply_id: str | None = None
    failure: Failure | None = None
    usage: Usage | None = None
    reason: str | None = None
    subject: str = ""
    sender: str = ""


class Thread(Struct, frozen=True):
    """A whole thread, oldest first."""

    id: str
    subject: str
    mails: tuple[Mail, ...]
    turns: tuple[Turn, ...]


class ThreadSummary(Struct, frozen=True):
    """A thread in a list, newest activity first."""

    id: str
    subject: str
    last_mail_at: str
    mails: int
    unread: int
    participants: tuple[str, ...]
    running: int = 0


class Page(Struct, Generic[T], frozen=True):
    """One page of a list; `next` is the cursor for ``after=``, or null at the end."""

    items: tuple[T, ...]
    next: str | None = None


class Session(Struct, frozen=True):
    """AgentMail's session of (thread, agent, workspace) and the agent's native one."""

    id: str | None
    native_session_id: str | None = None
    workspace: str | None = None


class ClaimThread(Struct, frozen=True):
    """The thread's recent mails, oldest first, bounded in number and size."""

    id: str
    mails: tuple[Mail, ...]


class Claim(Struct, frozen=True):
    """Answer of ``POST /turns/{id}/claim``: the lease and all that the turn needs."""

    turn_id: str
    lease: int
    expires_at: str
    attempt: int
    turn_key: str
    mail: Mail
    thread: ClaimThread
    session: Session
    effective_mode: Tier
    why_mode: str
    reply_owed: bool
    sender_trust: Tier = "plan"

    def __repr__(self) -> str:
        return f"Claim(turn_id={self.turn_id!r}, lease={self.lease}, attempt={self.attempt}, turn_key=hidden)"


class StartBody(Struct, frozen=True):
    lease: int
    native_session_id: str | None = None
    workspace: str | None = None


class RenewAnswer(Struct, frozen=True):
    cancel_requested: bool
    expires_at: str


class ReleaseBody(Struct, frozen=True):
    """Give a turn back to the queue; `notice` asks the gateway to tell the sender once why it waits."""

    lease: int
    reason: str
    not_before: str | None = None
    failure: Failure | None = None


class ProgressEvent(Struct, frozen=True, omit_defaults=True):
    """One step of a running turn; `seq` counts up from 1 within the attempt."""

    seq: int
    at: str
    type: Literal["text", "thinking", "tool_call", "tool_result", "status"]
    text: str = ""
    tool: str | None = None
    call_id: str | None = None
    ok: bool | None = None


class ProgressBody(Struct, frozen=True):
    lease: int
    events: tuple[ProgressEvent, ...]


class ReplyBody(Struct, frozen=True):
    """Body of ``POST /turns/{id}/reply``; the relay key travels as ``Idempotency-Key``."""

    lease: int
    outcome: Literal["ok", "failed"]
    body: str
    attachments: tuple[str, ...] = ()
    failure: Failure | None = None
    usage: Usage | None = None
    native_session_id: str | None = None
    workspace: str | None = None
    context_lost: bool = False


class ReplyAnswer(Struct, frozen=True):
    mail: Mail | None
    state: TurnState


class FinishBody(Struct, frozen=True):
    lease: int
    outcome: FinishOutcome
    usage: Usage | None = None
    native_session_id: str | None = None
    workspace: str | None = None


class Enforcement(Struct, frozen=True):
    """What enforces a tier at an agent, as observed at start, and why this level was reported."""

    level: EnforcementLevel
    why: str


class Heartbeat(Struct, frozen=True):
    """Body of ``POST /agents/me/heartbeat``; `ready` and `lacks` carry what the self-check said."""

    bridge_version: str
    agent_version: str | None
    mode_enforcement: dict[str, Enforcement]
    max_mode: Tier
    can_ask: bool
    busy: int
    queue: int = 0
    ready: bool = True
    lacks: tuple[str, ...] = ()


class Agent(Struct, frozen=True):
    """A directory entry. `busy` counts running turns, `queue` waiting ones."""

    name: str
    kind: Kind
    online: bool
    paused: bool = False
    busy: int = 0
    queue: int = 0
    max_mode: Tier = "workspace"
    mode_enforcement: dict[str, Enforcement] = {}
    can_ask: bool = False
    bridge_version: str | None = None
    agent_version: str | None = None
    last_seen: str | None = None
    ready: bool = True
    lacks: tuple[str, ...] = ()
    disabled: bool = False


PermissionDecision = Literal["once", "thread", "always", "reject"]


class PermissionAsk(Struct, frozen=True):
    """Body of ``POST /permissions``: a running turn asks a person."""

    turn_id: str
    lease: int
    tool: str
    summary: str
    detail: str = ""
    scope_hint: str = ""


class PermissionRequest(Struct, frozen=True):
    """A permission question as stored; `decision` is null while it is open."""

    id: str
    turn_id: str
    thread_id: str
    agent: str
    tool: str
    summary: str
    created_at: str
    detail: str = ""
    scope_hint: str = ""
    expires_at: str | None = None
    decision: PermissionDecision | None = None
    decided_by: str | None = None
    decided_at: str | None = None


class ProblemBody(Struct, frozen=True, omit_defaults=True):
    """RFC 9457 problem document with a stable `code`."""

    status: int
    code: str
    title: str = ""
    detail: str = ""
    type: str = "about:blank"
    retry_after_s: float | None = None


class WhoAmI(Struct, frozen=True):
    """Answer of ``GET /whoami``; `kind` ``turn`` is an agent's own process during a turn (`name` is the agent's).

    `csrf` is what a browser's cookie session sends as ``X-CSRF-Token`` with every change; null for other credentials.
    """

    name: str
    kind: Literal["person", "agent", "turn"]
    admin: bool = False
    turn_id: str | None = None
    csrf: str | None = None


class SignInCode(Struct, frozen=True):
    """Answer of ``POST /sign-in-codes``: a code for the sign-in page that works once."""

    code: str
    expires_at: str

    def __repr__(self) -> str:
        return f"SignInCode(code=hidden, expires_at={self.expires_at!r})"


class DecisionBody(Struct, frozen=True):
    """Body of ``POST /permissions/{id}/decision``."""

    decision: PermissionDecision


class AddAgent(Struct, frozen=True, forbid_unknown_fields=True):
    """Body of ``POST /admin/agents``."""

    name: str
    max_mode: Tier = "workspace"


class AgentPatch(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Body of ``PATCH /admin/agents/{name}``; what is absent or null stays as it is."""

    paused: bool | None = None
    max_mode: Tier | None = None
    disabled: bool | None = None


class AddPerson(Struct, frozen=True, forbid_unknown_fields=True):
    """Body of ``POST /admin/people``."""

    name: str
    display: str = ""
    admin: bool = False


class IssuedKey(Struct, frozen=True):
    """A new key of an agent or token of a person: shown this once, stored hashed."""

    name: str
    key: str

    def __repr__(self) -> str:
        return f"IssuedKey(name={self.name!r}, key=hidden)"


class Person(Struct, frozen=True):
    """A person as an administrator sees them; `trust` is the highest tier their mail may ask for."""

    name: str
    display: str = ""
    admin: bool = False
    trust: Tier = "workspace"
    disabled: bool = False
    created_at: str | None = None


class Trust(Struct, frozen=True):
    """The highest tier that mail of `sender` may ask for; `explicit` is false when it is the default."""

    sender: str
    tier: Tier
    explicit: bool = True


class SetTrust(Struct, frozen=True, forbid_unknown_fields=True):
    """Body of ``PUT /admin/trust``; `tier` null goes back to the default."""

    sender: str
    tier: Tier | None = None


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """What bounds the mail that agents send: ``GET`` and ``PUT /admin/limits``.

    `hops` since the last mail by a person in a thread, `cool_down_s` seconds between two agents in one thread,
    `mails_per_hour` of one agent, `queue_length` waiting turns of one agent, `attachment_bytes` of one attachment.
    """

    hops: int = 6
    cool_down_s: float = 5.0
    mails_per_hour: int = 60
    queue_length: int = 200
    attachment_bytes: int = 25 * 1024 * 1024


class AuditEntry(Struct, frozen=True):
    """One line of the administration's record: who did what to whom."""

    id: str
    at: str
    actor: str
    action: str
    target: str = ""
    detail: str = ""
