"""The gateway's HTTP API, typed: one method per route, structures of `wire` in and out.

Every method raises GatewayProblem (the gateway said no, and why) or GatewayUnreachable (no answer came).
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from types import NoneType
from typing import BinaryIO, Self, TypeVar
from uuid import uuid4

from msgspec import Struct

from .gateway_admin import AdminRoutes
from .gateway_errors import GatewayError, GatewayProblem, GatewayUnreachable
from .gateway_files import Upload, read, save
from .gateway_transport import Credential, Transport, part
from .sse_client import EventStream
from .wire import (
    Agent,
    Attachment,
    Claim,
    DecisionBody,
    FinishBody,
    Heartbeat,
    ListOrder,
    Mail,
    Page,
    PermissionAsk,
    PermissionDecision,
    PermissionRequest,
    ProgressBody,
    ReleaseBody,
    RenewAnswer,
    ReplyAnswer,
    ReplyBody,
    SendMail,
    SignInCode,
    StartBody,
    Thread,
    ThreadSummary,
    Turn,
    WhoAmI,
)

__all__ = ["Credential", "GatewayClient", "GatewayError", "GatewayProblem", "GatewayUnreachable", "every"]

T = TypeVar("T")
API = "/api/v1"
ATTACHMENT_LIMIT = 25 * 1024 * 1024


class _Lease(Struct, frozen=True):
    lease: int


class GatewayClient(AdminRoutes):
    """A client of the gateway at `url`, an asynchronous context manager.

    `credential` is an agent key, a turn key or a person's token, or (agent name, secret). `timeout` bounds each wait in
    seconds, `attempts` the tries of a call that may be repeated (1: fail at once). Raises ValueError at once for an
    address or a key that can't be right; no message shows the key.
    """

    def __init__(
        self,
        url: str,
        credential: Credential,
        *,
        timeout: float = 30.0,
        attempts: int = 4,
        random: Callable[[], float] = random.random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ):
        self._http = Transport(url, credential, timeout=timeout, attempts=attempts, random=random, sleep=sleep)

    def __repr__(self) -> str:
        return f"GatewayClient({self.url!r})"

    @property
    def url(self) -> str:
        """The gateway's address, without a trailing slash."""
        return self._http.url

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection."""
        await self._http.aclose()

    async def whoami(self) -> WhoAmI:
        """Who the credential belongs to."""
        return await self._http.call("GET", f"{API}/whoami", WhoAmI)

    async def sign_in_code(self) -> SignInCode:
        """A code for the sign-in page; it works once, for some minutes."""
        return await self._http.call("POST", f"{API}/sign-in-codes", SignInCode)

    def event_stream(
        self,
        last_event_id: str | None = None,
        *,
        idle_s: float = 45.0,
        connected: Callable[[], None] | None = None,
        disconnected: Callable[[str, float], None] | None = None,
    ) -> EventStream:
        """The caller's events from `last_event_id` on, over this client's connections; see EventStream."""
        return self._http.event_stream(f"{API}/events", last_event_id, idle_s, connected, disconnected)

    # -- mail --

    async def send_mail(self, body: SendMail, key: str | None = None) -> Mail:
        """Send a mail. `key` is its Idempotency-Key; without one a fresh one is made, so that a retry sends once."""
        headers = {"Idempotency-Key": key or uuid4().hex}
        return await self._http.call("POST", f"{API}/mails", Mail, body=body, headers=headers, repeatable=True)

    async def list_mails(
        self,
        *,
        box: str = "inbox",
        unread: bool | None = None,
        sender: str | None = None,
        thread: str | None = None,
        order: ListOrder | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> Page[Mail]:
        """Mails in `box` (``inbox``, ``sent``, ``all``), oldest first unless `order` says otherwise.

        Listing marks nothing read.
        """
        narrow = {"box": box, "unread": unread, "from": sender, "thread": thread}
        params = {**narrow, "order": order, "after": after, "limit": limit}
        return await self._http.call("GET", f"{API}/mails", Page[Mail], params=params)

    async def get_mail(self, mail_id: str) -> Mail:
        """One mail."""
        return await self._http.call("GET", f"{API}/mails/{part(mail_id)}", Mail)

    async def set_read(self, mail_id: str, read: bool) -> None:
        """Mark a mail read or unread."""
        await self._http.call("PUT" if read else "DELETE", f"{API}/mails/{part(mail_id)}/read", NoneType)

    async def list_threads(self, *, after: str | None = None, limit: int | None = None) -> Page[ThreadSummary]:
        """Threads, newest activity first."""
        return await self._http.call(
            "GET", f"{API}/threads", Page[ThreadSummary], params={"after": after, "limit": limit}
        )

    async def get_thread(self, thread_id: str) -> Thread:
        """A whole thread, oldest mail first."""
        return await self._http.call("GET", f"{API}/threads/{part(thread_id)}", Thread)

    async def search(self, q: str, *, after: str | None = None, limit: int | None = None) -> Page[Mail]:
        """Full-text search over what the caller may see."""
        params = {"q": q, "after": after, "limit": limit}
        return await self._http.call("GET", f"{API}/search", Page[Mail], params=params)

    async def put_attachment(self, name: str, media_type: str, data: bytes | BinaryIO | Path) -> Attachment:
        """Store an attachment: `name` is a label; a file is sent in pieces.

        An open file is read from where it stands. Raises OSError when the file can't be read.
        """
        with ExitStack() as stack:
            upload = Upload(stack.enter_context(data.open("rb")) if isinstance(data, Path) else data)
            headers = {"Content-Type": media_type, "Content-Length": str(upload.size)}
            return await self._http.call(
                "POST", f"{API}/attachments", Attachment, params={"name": name}, body=upload, headers=headers
            )

    async def get_attachment(
        self, attachment_id: str, dest: Path, *, size: int | None = None, limit: int | None = None
    ) -> int:
        """Save an attachment as the file `dest`, whole or not at all; returns its size in bytes.

        `size` is what its metadata says, `limit` the highest taken (GatewayProblem ``too_large`` above it).
        """
        return await save(self._http, f"{API}/attachments/{part(attachment_id)}", dest, size=size, limit=limit)

    async def read_attachment(self, attachment_id: str, *, limit: int = ATTACHMENT_LIMIT) -> bytes:
        """An attachment's content, at most `limit` bytes (GatewayProblem ``too_large`` above)."""
        return await read(self._http, f"{API}/attachments/{part(attachment_id)}", limit=limit)

    # -- directory --

    async def list_agents(self) -> Page[Agent]:
        """Every agent, and whether it is online."""
        return await self._http.call("GET", f"{API}/agents", Page[Agent])

    async def heartbeat(self, body: Heartbeat) -> None:
        """Say that this agent's bridge is alive, and what it can do."""
        await self._http.call("POST", f"{API}/agents/me/heartbeat", NoneType, body=body)

    # -- the turn ledger --

    async def list_turns(
        self,
        *,
        states: Iterable[str] = (),
        order: ListOrder | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> Page[Turn]:
        """Turns in any of `states` (none given: in all), oldest first unless `order` says otherwise."""
        params = {"state": ",".join(states) or None, "order": order, "after": after, "limit": limit}
        return await self._http.call("GET", f"{API}/turns", Page[Turn], params=params)

    async def get_turn(self, turn_id: str) -> Turn:
        """One turn."""
        return await self._http.call("GET", _turn(turn_id), Turn)

    async def claim(self, turn_id: str) -> Claim:
        """Take a queued turn; 409 ``not_claimable`` when it isn't to be had now."""
        return await self._http.call("POST", _turn(turn_id, "claim"), Claim)

    async def start(self, turn_id: str, body: StartBody) -> None:
        """Say that the agent took the prompt."""
        await self._http.call("POST", _turn(turn_id, "start"), NoneType, body=body, repeatable=True)

    async def renew(self, turn_id: str, lease: int) -> RenewAnswer:
        """Keep the lease; the answer says whether the sender wants the turn cancelled."""
        return await self._http.call("POST", _turn(turn_id, "renew"), RenewAnswer, body=_Lease(lease), repeatable=True)

    async def release(self, turn_id: str, body: ReleaseBody) -> None:
        """Give the turn back to the queue; this does not count as an attempt."""
        await self._http.call("POST", _turn(turn_id, "release"), NoneType, body=body, repeatable=True)

    async def progress(self, turn_id: str, body: ProgressBody) -> None:
        """Report steps of the running turn."""
        await self._http.call("POST", _turn(turn_id, "progress"), NoneType, body=body, repeatable=True)

    async def reply(self, turn_id: str, body: ReplyBody, key: str) -> ReplyAnswer:
        """Answer the mail and end the turn; the relay key `key` makes a repeated reply one reply."""
        headers = {"Idempotency-Key": key}
        return await self._http.call(
            "POST", _turn(turn_id, "reply"), ReplyAnswer, body=body, headers=headers, repeatable=True
        )

    async def finish(self, turn_id: str, body: FinishBody) -> Turn:
        """End the turn without a mail by the bridge."""
        return await self._http.call("POST", _turn(turn_id, "finish"), Turn, body=body, repeatable=True)

    async def cancel(self, turn_id: str) -> Turn:
        """Ask for a turn to be stopped; a queued one ends at once."""
        return await self._http.call("POST", _turn(turn_id, "cancel"), Turn)

    async def retry(self, turn_id: str) -> Turn:
        """Queue a dead turn again."""
        return await self._http.call("POST", _turn(turn_id, "retry"), Turn)

    async def delete_turn(self, turn_id: str) -> None:
        """Drop a dead turn."""
        await self._http.call("DELETE", _turn(turn_id), NoneType)

    # -- permission questions --

    async def ask_permission(self, body: PermissionAsk) -> PermissionRequest:
        """Ask a person whether the running turn may use a tool."""
        return await self._http.call("POST", f"{API}/permissions", PermissionRequest, body=body, repeatable=True)

    async def list_permissions(
        self, *, state: str | None = None, after: str | None = None, limit: int | None = None
    ) -> Page[PermissionRequest]:
        """Permission questions, oldest first; `state` is ``open`` or ``decided``."""
        params = {"state": state, "after": after, "limit": limit}
        return await self._http.call("GET", f"{API}/permissions", Page[PermissionRequest], params=params)

    async def get_permission(self, request_id: str) -> PermissionRequest:
        """One permission question."""
        return await self._http.call("GET", f"{API}/permissions/{part(request_id)}", PermissionRequest)

    async def decide_permission(self, request_id: str, decision: PermissionDecision) -> PermissionRequest:
        """Answer a permission question."""
        path = f"{API}/permissions/{part(request_id)}/decision"
        return await self._http.call("POST", path, PermissionRequest, body=DecisionBody(decision))


def _turn(turn_id: str, step: str = "") -> str:
    return f"{API}/turns/{part(turn_id)}" + (f"/{step}" if step else "")


async def every(list_page: Callable[[str | None], Awaitable[Page[T]]]) -> AsyncIterator[T]:
    """Every item of a list that comes in pages: ``every(lambda after: client.list_threads(after=after))``."""
    after: str | None = None
    while True:
        page = await list_page(after)
        for item in page.items:
            yield item
        if page.next is None or page.next == after:
            return
        after = page.next
