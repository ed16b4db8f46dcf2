"""The common events of one turn and its outcome, and what a bridge's runner must do.

Every agent's wire format is translated into these; nothing downstream of a runner ever sees an agent's own JSON.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from .wire import Enforcement, Failure, Tier, Usage

__all__ = [
    "AskPerson",
    "Decision",
    "Emit",
    "Event",
    "Finding",
    "Outcome",
    "Question",
    "Readiness",
    "Runner",
    "Started",
    "Status",
    "StopReason",
    "StopSignal",
    "Text",
    "Thinking",
    "ToolCall",
    "ToolResult",
    "TurnRequest",
]


@dataclass(frozen=True, slots=True)
class Started:
    """The agent took the prompt. `native_session_id` is the agent's own id of the session, where known by now."""

    native_session_id: str | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of what the agent says (a delta)."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """A piece of the agent's reasoning (a delta)."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool starts; `arguments` is a short, printable form of its input."""

    call_id: str
    tool: str
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool ended; `text` is a short, printable form of its result."""

    call_id: str
    tool: str
    ok: bool
    text: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """Anything else worth showing: a retry, a wait, a compaction."""

    text: str


Event = Started | Text | Thinking | ToolCall | ToolResult | Status
Emit = Callable[[Event], None]
StopReason = Literal["cancelled", "timed_out", "shutdown", "lease_lost"]


@dataclass(slots=True)
class StopSignal:
    """Tells a runner to stop its turn. The first reason wins.

    A runner waits on `event` beside its agent; when it is set it stops the agent politely (at most 5 s), then kills the
    whole process tree, and only then returns.
    """

    event: asyncio.Event = field(default_factory=asyncio.Event)
    reason: StopReason | None = None

    def stop(self, reason: StopReason) -> None:
        """Ask the turn to stop, because of `reason`."""
        if self.reason is None:
            self.reason = reason
            self.event.set()


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of a self-check: what was looked for, what was found, and how to mend it when it is not `ok`."""

    ok: bool
    what: str
    found: str
    mend: str = ""


@dataclass(frozen=True, slots=True)
class Readiness:
    """What a runner's self-check observed.

    `ready` is false when a turn can't run; `failure` is then what a mail is answered with. `enforcement` says for each
    tier what was seen to enforce it.
    """

    ready: bool
    findings: tuple[Finding, ...]
    enforcement: Mapping[Tier, Enforcement]
    agent_version: str | None = None
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What a running agent wants a person to allow.

    `summary` is one line of it and `detail` the whole; `scope` is what an answer that is remembered covers (a command,
    a file), `needs` the lowest tier that allows such a thing at all.
    """

    tool: str
    summary: str
    detail: str = ""
    scope: str = ""
    needs: Tier = "workspace"


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether it may; `why` says in words who decided, or that nobody did."""

    allowed: bool
    why: str


AskPerson = Callable[[Question], Awaitable[Decision]]


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """All that one turn needs.

    `prompt` is the whole text for the agent, with its fixed first line. `workspace` is the real path the agent runs
    in, `turn_dir` the turn's own folder (``in`` holds attachments read-only, ``out`` takes files for the answer, the
    rest is scratch), `session_dir` a folder of this (thread, agent, workspace) that stays. `env`
    holds the ``AGENTMAIL_*`` variables for the agent. `timeout_s` is informative: the driver's clock stops the turn.
    `ask` puts a question to a person and waits for the answer; None: nobody can be asked.
    """

    turn_id: str
    attempt: int
    prompt: str
    workspace: Path
    tier: Tier
    turn_dir: Path
    session_dir: Path
    session_id: str
    native_session_id: str | None
    turn_key: str
    gateway_url: str
    env: Mapping[str, str]
    timeout_s: float
    ask: AskPerson | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn ended.

    Exactly one of: `text` and no `failure` (answered), a `failure`, or `stopped` (why it was stopped). `wait_until`
    (RFC 3339) with a failure of class `quota` asks for a release until then. `context_lost` says that a resume failed
    and a fresh session was used. `note` is added below the answer. `denied_tools` are reported with the answer.
    """

    text: str = ""
    failure: Failure | None = None
    stopped: StopReason | None = None
    usage: Usage | None = None
    native_session_id: str | None = None
    context_lost: bool = False
    wait_until: str | None = None
    denied_tools: tuple[str, ...] = ()
    note: str = ""


class Runner(Protocol):
    """Drives one turn of one agent's program. The only thing about an agent that the driver does not know."""

    @property
    def name(self) -> str:
        """The agent's default name (``zcode``)."""

    @property
    def can_ask(self) -> bool:
        """Whether a permission question of the agent can reach a person."""

    @property
    def parallel_turns(self) -> int:
        """How many turns at once by default."""

    async def check(self) -> Readiness:
        """Observe what is there and what enforces each tier. Never raises for what is missing; called again later."""

    async def run(self, request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        """Run one turn to its end. No process of the turn is alive when this returns, however it ended."""
