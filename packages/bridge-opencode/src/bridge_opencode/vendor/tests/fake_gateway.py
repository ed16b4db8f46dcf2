"""A strict gateway in memory: the ledger's table, leases, events, and faults on demand. For tests of the driver.

`faults[method]` is a queue: "down" (not sent), "cut" (done, the answer lost), or an exception. `calls` is what came in.
"""

import asyncio
import json
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal, Self

from msgspec.structs import replace

from ..event_parser import ServerEvent
from ..gateway_errors import GatewayProblem, GatewayUnreachable
from ..turn_gateway import Events, TurnGateway
from ..wire import (
    FINAL_STATES,
    AddressRef,
    Attachment,
    AutoSubmitted,
    Claim,
    ClaimThread,
    FinishBody,
    Heartbeat,
    Kind,
    Mail,
    Page,
    PermissionAsk,
    PermissionDecision,
    PermissionRequest,
    ProgressBody,
    ProgressEvent,
    ReleaseBody,
    RenewAnswer,
    ReplyAnswer,
    ReplyBody,
    Session,
    StartBody,
    Thread,
    Tier,
    Turn,
    WhoAmI,
)

__all__ = ["FakeGateway", "within"]

AT = "2026-11-30T12:00:00.000Z"
LIMIT_S = 10.0


async def within(condition: asyncio.Condition, met: Callable[[], bool]) -> None:
    """Wait until `met`, which something that notifies `condition` brings about."""
    async with asyncio.timeout(LIMIT_S), condition:
        await condition.wait_for(met)


@dataclass
class FakeGateway(TurnGateway):
    """One agent, `name`. Tests send by `post` and wait by `until`."""

    name: str = "zcode"
    kind: Literal["person", "agent"] = "agent"
    owner: str = "zcode"
    turns: dict[str, Turn] = field(default_factory=dict)
    mails: dict[str, Mail] = field(default_factory=dict)
    trust: dict[str, Tier] = field(default_factory=dict)
    native: dict[tuple[str, str], str] = field(default_factory=dict)
    last_workspace: dict[str, str] = field(default_factory=dict)
    keys: dict[str, tuple[str, ReplyAnswer]] = field(default_factory=dict)
    replies: list[tuple[str, ReplyBody]] = field(default_factory=list)
    finishes: list[tuple[str, FinishBody]] = field(default_factory=list)
    releases: list[tuple[str, ReleaseBody]] = field(default_factory=list)
    starts: list[tuple[str, StartBody]] = field(default_factory=list)
    shown: dict[str, list[ProgressEvent]] = field(default_factory=lambda: defaultdict(list))
    beats: list[Heartbeat] = field(default_factory=list)
    files: dict[str, tuple[str, str, bytes]] = field(default_factory=dict)
    events: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    faults: dict[str, deque[str | Exception]] = field(default_factory=lambda: defaultdict(deque))
    calls: list[tuple[str, str]] = field(default_factory=list)
    streams: list["FakeStream"] = field(default_factory=list)
    questions: dict[str, PermissionRequest] = field(default_factory=dict)
    agent_mailed: set[str] = field(default_factory=set)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    online: bool = True

    @property
    def url(self) -> str:
        return "http://127.0.0.1:8180"

    # -- for tests --

    async def post(
        self,
        body: str = "hello",
        *,
        sender: str = "ada",
        kind: Kind = "person",
        workspace: str | None = None,
        mode: Tier = "plan",
        thread: str | None = None,
        auto: AutoSubmitted = "no",
        attachments: tuple[Attachment, ...] = (),
    ) -> str:
        """Store a mail to the agent with its turn; the turn's id."""
        number = len(self.turns) + 1
        thread = thread or f"thr_{number:04}"
        turn_id, mail_id = f"turn_{number:04}", f"mail_{number:04}"
        self.mails[mail_id] = Mail(
            id=mail_id,
            thread_id=thread,
            from_=AddressRef(sender, kind),
            to=(AddressRef(self.name, "agent"),),
            cc=(),
            subject=body[:20],
            body=body,
            created_at=AT,
            in_reply_to=None,
            auto_submitted=auto,
            permission_mode=mode,
            workspace=workspace,
            attachments=attachments,
        )
        self.turns[turn_id] = Turn(
            turn_id, mail_id, thread, self.name, "queued", 0, 0, AT, effective_mode=mode, workspace=workspace
        )
        await self.tell("new_mail", mail_id=mail_id, thread_id=thread, turn_id=turn_id)
        return turn_id

    async def tell(self, kind: str, **data: object) -> None:
        """Add an event to the stream."""
        self.events.append((kind, data))
        await self._notify()

    async def repeat_events(self) -> None:
        """Every open stream gives all events again, with their old ids."""
        for stream in self.streams:
            stream.position = 0
        await self._notify()

    async def cut_streams(self) -> None:
        """Every open stream breaks and connects again."""
        for stream in self.streams:
            stream.cut = True
        await self._notify()

    async def expire(self, turn_id: str) -> None:
        """The turn's lease runs out."""
        turn = self.turns[turn_id]
        assert turn.state in ("leased", "running")
        if turn.cancel_requested:
            await self._to(turn_id, "cancelled")
        elif turn.attempt >= 3:
            await self._to(turn_id, "dead")
        else:
            await self._to(turn_id, "queued")

    async def cancel(self, turn_id: str, *, tell: bool = True) -> None:
        """The sender cancels; without `tell` the event is lost."""
        if self.turns[turn_id].state == "queued":
            await self._to(turn_id, "cancelled")
            return
        self.turns[turn_id] = replace(self.turns[turn_id], cancel_requested=True)
        if tell:
            await self.tell("turn_cancel", turn_id=turn_id)

    async def retry(self, turn_id: str) -> None:
        """A person retries a dead turn."""
        assert self.turns[turn_id].state == "dead"
        self.turns[turn_id] = replace(self.turns[turn_id], attempt=0)
        await self._to(turn_id, "queued")

    async def decide(
        self, request_id: str, decision: PermissionDecision, *, by: str = "ada", tell: bool = True
    ) -> None:
        """A person answers a question; without `tell` the event is lost."""
        self.questions[request_id] = replace(self.questions[request_id], decision=decision, decided_by=by)
        if tell:
            await self.tell("permission_decision", id=request_id, decision=decision)

    async def go(self, *, online: bool) -> None:
        """The gateway goes away, or comes back."""
        self.online = online
        await self._notify()

    async def until(self, met: Callable[[], bool]) -> None:
        """Wait until something that came in makes `met` true."""
        await within(self.changed, met)

    async def until_state(self, turn_id: str, *states: str) -> Turn:
        """Wait until the turn is in one of `states` (default: any final one)."""
        await self.until(lambda: self.turns[turn_id].state in (states or FINAL_STATES))
        return self.turns[turn_id]

    def count(self, method: str) -> int:
        """How often a method was called."""
        return sum(1 for called, _ in self.calls if called == method)

    # -- the ledger --

    def event_stream(
        self,
        last_event_id: str | None = None,
        *,
        connected: Callable[[], None] | None = None,
        disconnected: Callable[[str, float], None] | None = None,
    ) -> Events:
        return FakeStream(self, last_event_id, connected, disconnected)

    async def whoami(self) -> WhoAmI:
        await self._in("whoami")
        return WhoAmI(self.owner, self.kind, False)

    async def list_turns(
        self, *, states: Iterable[str] = (), after: str | None = None, limit: int | None = None
    ) -> Page[Turn]:
        await self._in("list_turns")
        wanted = set(states)
        found = [t for t in self.turns.values() if t.state in wanted and (after is None or t.id > after)][:3]
        return Page(tuple(found), found[-1].id if len(found) == 3 else None)

    async def get_turn(self, turn_id: str) -> Turn:
        await self._in("get_turn", turn_id)
        return self.turns[turn_id]

    async def get_thread(self, thread_id: str) -> Thread:
        await self._in("get_thread", thread_id)
        mails = tuple(mail for mail in self.mails.values() if mail.thread_id == thread_id)
        return Thread(thread_id, "", mails, tuple(t for t in self.turns.values() if t.thread_id == thread_id))

    async def claim(self, turn_id: str) -> Claim:
        cut = await self._in("claim", turn_id)
        turn = self.turns[turn_id]
        earlier = [t for t in self.turns.values() if t.thread_id == turn.thread_id and t.id < turn.id]
        if turn.state != "queued" or turn.not_before or any(t.state not in FINAL_STATES for t in earlier):
            raise GatewayProblem(409, "not_claimable", "", f"the turn is {turn.state}")
        self.turns[turn_id] = turn = replace(turn, attempt=turn.attempt + 1, lease=turn.lease + 1, leased_at=AT)
        await self._to(turn_id, "leased")
        mail = self.mails[turn.mail_id]
        place = mail.workspace or self.last_workspace.get(turn.thread_id)
        session = Session("ses_x", self.native.get((turn.thread_id, place or "")), place)
        trust: Tier = self.trust.get(mail.from_.name, "full")
        thread = ClaimThread(turn.thread_id, tuple(m for m in self.mails.values() if m.thread_id == turn.thread_id))
        self._cut(cut)
        return Claim(
            turn_id, turn.lease, AT, turn.attempt, f"amt_{turn_id}_{turn.lease}", mail, thread, session,
            turn.effective_mode, "asked", mail.from_.kind == "person", trust,
        )  # fmt: skip

    async def start(self, turn_id: str, body: StartBody) -> None:
        await self._in("start", turn_id)
        self._fence(turn_id, body.lease)
        self.starts.append((turn_id, body))
        if body.workspace:
            self.last_workspace[self.turns[turn_id].thread_id] = body.workspace
        await self._to(turn_id, "running")

    async def renew(self, turn_id: str, lease: int) -> RenewAnswer:
        await self._in("renew", turn_id)
        self._fence(turn_id, lease)
        return RenewAnswer(self.turns[turn_id].cancel_requested, AT)

    async def release(self, turn_id: str, body: ReleaseBody) -> None:
        cut = await self._in("release", turn_id)
        self._fence(turn_id, body.lease)
        self.releases.append((turn_id, body))
        turn = self.turns[turn_id]
        self.turns[turn_id] = replace(turn, attempt=turn.attempt - 1, not_before=body.not_before)
        await self._to(turn_id, "queued")
        self._cut(cut)

    async def progress(self, turn_id: str, body: ProgressBody) -> None:
        await self._in("progress", turn_id)
        self._fence(turn_id, body.lease)
        self.shown[turn_id] += body.events
        await self._notify()

    async def reply(self, turn_id: str, body: ReplyBody, key: str) -> ReplyAnswer:
        cut = await self._in("reply", turn_id)
        if key in self.keys:
            self._cut(cut)
            return self.keys[key][1]
        self._fence(turn_id, body.lease)
        assert all(id_ in self.files for id_ in body.attachments)
        turn = self.turns[turn_id]
        if body.native_session_id:
            self.native[turn.thread_id, body.workspace or ""] = body.native_session_id
        if body.workspace:
            self.last_workspace[turn.thread_id] = body.workspace
        if body.outcome == "ok" and turn_id in self.agent_mailed:
            answer = ReplyAnswer(None, "answered_by_agent")
        else:
            self.replies.append((turn_id, body))
            answer = ReplyAnswer(self.mails[turn.mail_id], "answered" if body.outcome == "ok" else "failed")
        self.keys[key] = (turn_id, answer)
        self.turns[turn_id] = replace(turn, failure=body.failure)
        await self._to(turn_id, answer.state)
        self._cut(cut)
        return answer

    async def finish(self, turn_id: str, body: FinishBody) -> Turn:
        cut = await self._in("finish", turn_id)
        self._fence(turn_id, body.lease)
        self.finishes.append((turn_id, body))
        await self._to(turn_id, body.outcome)
        self._cut(cut)
        return self.turns[turn_id]

    async def heartbeat(self, body: Heartbeat) -> None:
        await self._in("heartbeat")
        self.beats.append(body)
        await self._notify()

    async def ask_permission(self, body: PermissionAsk) -> PermissionRequest:
        await self._in("ask_permission", body.turn_id)
        self._fence(body.turn_id, body.lease)
        thread = self.turns[body.turn_id].thread_id
        asked = PermissionRequest(
            f"perm_{len(self.questions) + 1:04}",
            *(body.turn_id, thread, self.name, body.tool, body.summary, AT, body.detail, body.scope_hint),
        )
        self.questions[asked.id] = asked
        await self._notify()
        return asked

    async def get_permission(self, request_id: str) -> PermissionRequest:
        await self._in("get_permission", request_id)
        return self.questions[request_id]

    async def get_attachment(
        self, attachment_id: str, dest: Path, *, size: int | None = None, limit: int | None = None
    ) -> int:
        await self._in("get_attachment", attachment_id)
        return dest.write_bytes(self.files[attachment_id][2])

    async def put_attachment(self, name: str, media_type: str, data: bytes | BinaryIO | Path) -> Attachment:
        await self._in("put_attachment", name)
        content = data if isinstance(data, bytes) else data.read_bytes() if isinstance(data, Path) else data.read()
        attachment = Attachment(f"att_{len(self.files):04}", name, media_type, len(content))
        self.files[attachment.id] = (name, media_type, content)
        return attachment

    async def _in(self, method: str, about: str = "") -> bool:
        """A request comes in; whether its answer shall be lost."""
        self.calls.append((method, about))
        await self._notify()
        fault = self.faults[method].popleft() if self.faults[method] else None
        if not self.online or fault == "down":
            raise GatewayUnreachable("no gateway answers", sent=False)
        if isinstance(fault, Exception):
            raise fault
        return fault == "cut"

    def _cut(self, cut: bool) -> None:
        if cut:
            raise GatewayUnreachable("the connection broke before the answer was complete")

    def _fence(self, turn_id: str, lease: int) -> None:
        turn = self.turns[turn_id]
        if turn.state in FINAL_STATES:
            raise GatewayProblem(409, "turn_final", "", f"the turn is {turn.state}")
        if turn.lease != lease:
            raise GatewayProblem(409, "lease_stale", "", "there is a newer lease")

    async def _to(self, turn_id: str, state: str) -> None:
        self.turns[turn_id] = replace(self.turns[turn_id], state=state)
        await self.tell("turn_state", turn_id=turn_id, state=state)
        if state in FINAL_STATES:
            thread = self.turns[turn_id].thread_id
            waiting = [t.id for t in self.turns.values() if t.thread_id == thread and t.state == "queued"]
            for next_id in waiting[:1]:
                await self.tell("turn_state", turn_id=next_id, state="queued")

    async def _notify(self) -> None:
        async with self.changed:
            self.changed.notify_all()


class FakeStream(Events):
    """The events from a position on, as fast as they come."""

    def __init__(
        self,
        gateway: FakeGateway,
        last_event_id: str | None,
        connected: Callable[[], None] | None,
        disconnected: Callable[[str, float], None] | None,
    ):
        self._gateway = gateway
        self._connected = connected
        self._disconnected = disconnected
        self.position = int(last_event_id) if last_event_id else len(gateway.events)
        self.up = False
        self.cut = False

    async def __aenter__(self) -> Self:
        self._gateway.streams.append(self)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._gateway.streams.remove(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ServerEvent:
        gateway = self._gateway
        while True:
            if self.up and (self.cut or not gateway.online):
                self.up = self.cut = False
                if self._disconnected is not None:
                    self._disconnected("it broke", 0.0)
            if not self.up and gateway.online:
                self.up = True
                if self._connected is not None:
                    self._connected()
            if self.up and self.position < len(gateway.events):
                kind, data = gateway.events[self.position]
                self.position += 1
                return ServerEvent(str(self.position), kind, json.dumps(data))
            async with gateway.changed:
                await gateway.changed.wait_for(self._news)

    def _news(self) -> bool:
        gateway = self._gateway
        if not self.up:
            return gateway.online
        return self.cut or not gateway.online or self.position < len(gateway.events)
