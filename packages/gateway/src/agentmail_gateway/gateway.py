"""The gateway without HTTP: every function a handler or the MCP endpoint may call, in one class."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path

from . import (
    administration,
    attachments,
    audit,
    claiming,
    event_log,
    export,
    identities,
    mail_reads,
    metrics,
    permissions,
    search,
    sending,
    sweeper,
    threads,
    turn_control,
    turn_reads,
    turn_results,
    turn_work,
)
from .chores import Chores
from .core import Core
from .directory import Directory
from .events import LiveEvent, StoredEvent
from .opening import open_core
from .principal import Principal
from .store.interface import EventRow
from .vendor import wire
from .web_sessions import WebSessions

__all__ = ["Gateway"]


class Gateway:
    """One store and everything that may be done with it. Made by `open`, on the event loop that it stays on.

    Whatever is refused is a `Problem`; its codes are in `problems`. Ids that a caller may not see are ``not_found``.
    """

    def __init__(self, core: Core, token_path: Path) -> None:
        later = asyncio.get_running_loop().call_later
        self._core = core
        self._sessions = WebSessions(core)
        self._directory = Directory(core, later)
        self._sweeper = sweeper.Sweeper(core, later)
        self._chores = Chores(core)
        self.person_token_path = token_path

    @classmethod
    async def open(
        cls, data: Path, *, admin: str, now: Callable[[], float] = time.time, limits: wire.Limits | None = None
    ) -> "Gateway":
        """Open the store in the folder `data`, making it when it is not there.

        A new store gets one administrator, called `admin`, whose token is written to `person_token_path`. `limits` are
        used instead of the stored ones. Raises Problem ``unavailable`` or ``invalid``, and `SchemaTooNewError` for the
        store of a newer gateway.
        """
        core, token_path = await open_core(data, admin, now, limits)
        gateway = cls(core, token_path)
        try:
            await gateway._start()
        except BaseException:
            await gateway.close()
            raise
        return gateway

    async def _start(self) -> None:
        core = self._core
        core.wake = self._sweeper.wake
        core.agent_changed = self._directory.changed
        core.store.read(self._directory.load)
        core.store.read(self._sessions.load)
        core.store.on_quiet(search.index_some)
        core.store.on_quiet(event_log.trim_events)
        await core.store.write(lambda tx: sweeper.load_timers(core, tx))
        self._sweeper.wake()

    async def close(self) -> None:
        """Answer every write that was taken and leave one clean file."""
        await self._sweeper.close()
        self._directory.close()
        await self._chores.close()
        await self._core.store.close()

    # Who is asking

    def authenticate(self, token: str) -> Principal | None:
        """Who holds the bearer secret `token`; None for nobody."""
        return identities.authenticate(self._core, token)

    def authenticate_secret(self, name: str, secret: str) -> Principal | None:
        """The agent `name` if `secret` is its key; None otherwise."""
        return identities.authenticate_secret(self._core, name, secret)

    def authenticate_session(self, session_token: str) -> tuple[Principal, str] | None:
        """Who holds the cookie, and the CSRF token of that session; None for nobody."""
        return self._sessions.authenticate(session_token)

    async def sign_in_code(self, who: Principal) -> wire.SignInCode:
        """A code that signs `who` in with a browser, once, within ten minutes."""
        return self._sessions.code(who)

    async def sign_in(self, code: str) -> tuple[str, str, Principal]:
        """The secret for the cookie, the CSRF token, and who signed in. Raises Problem ``unauthorized``."""
        return await self._sessions.sign_in(code)

    async def sign_out(self, session_token: str) -> None:
        """End the session of a cookie."""
        await self._sessions.sign_out(session_token)

    # Mail

    async def send_mail(self, who: Principal, body: wire.SendMail, key: str | None = None) -> tuple[wire.Mail, bool]:
        """Send a mail; see `sending.send_mail`."""
        return await sending.send_mail(self._core, who, body, key)

    async def list_mails(
        self,
        who: Principal,
        *,
        box: str = "inbox",
        unread: bool | None = None,
        sender: str | None = None,
        thread: str | None = None,
        order: wire.ListOrder = "oldest",
        after: str | None = None,
        limit: int = 50,
    ) -> wire.Page[wire.Mail]:
        """A page of mail; see `mail_reads.list_mails`."""
        return await mail_reads.list_mails(
            self._core, who, box=box, unread=unread, sender=sender, thread=thread, order=order, after=after, limit=limit
        )

    async def get_mail(self, who: Principal, mail_id: str) -> wire.Mail:
        """One mail."""
        return await mail_reads.get_mail(self._core, who, mail_id)

    async def set_read(self, who: Principal, mail_id: str, read: bool) -> None:
        """Mark a mail as read or unread."""
        await mail_reads.set_read(self._core, who, mail_id, read)

    async def list_threads(
        self, who: Principal, *, after: str | None = None, limit: int = 50
    ) -> wire.Page[wire.ThreadSummary]:
        """A page of threads, newest activity first."""
        return await threads.list_threads(self._core, who, after, limit)

    async def get_thread(self, who: Principal, thread_id: str) -> wire.Thread:
        """A thread with its mails and turns."""
        return await threads.get_thread(self._core, who, thread_id)

    async def search(
        self, who: Principal, *, q: str, after: str | None = None, limit: int = 50
    ) -> wire.Page[wire.Mail]:
        """Mails in which all words of `q` occur."""
        return await search.search(self._core, who, q, after, limit)

    @property
    def attachment_limit(self) -> int:
        """The most bytes that an attachment may have now."""
        return self._core.limits.attachment_bytes

    async def put_attachment(
        self,
        who: Principal,
        *,
        name: str,
        type: str,  # noqa: A002 - the name on the wire
        chunks: AsyncIterator[bytes],
    ) -> wire.Attachment:
        """Store a file to attach."""
        return await attachments.put_attachment(self._core, who, name, type, chunks)

    async def get_attachment(self, who: Principal, attachment_id: str) -> tuple[wire.Attachment, Path]:
        """An attachment and its file."""
        return await attachments.get_attachment(self._core, who, attachment_id)

    # Agents and turns

    async def list_agents(self, who: Principal) -> wire.Page[wire.Agent]:
        """The directory."""
        return await self._directory.list_agents(who)

    async def heartbeat(self, who: Principal, body: wire.Heartbeat) -> None:
        """A bridge is there."""
        await self._directory.heartbeat(who, body)

    async def list_turns(
        self,
        who: Principal,
        *,
        states: Iterable[str] = (),
        order: wire.ListOrder = "oldest",
        after: str | None = None,
        limit: int = 50,
    ) -> wire.Page[wire.Turn]:
        """A page of turns."""
        return await turn_reads.list_turns(self._core, who, states, order, after, limit)

    async def get_turn(self, who: Principal, turn_id: str) -> wire.Turn:
        """One turn."""
        return await turn_reads.get_turn(self._core, who, turn_id)

    async def claim(self, who: Principal, turn_id: str) -> wire.Claim:
        """Take a queued turn under a new lease."""
        return await claiming.claim(self._core, who, turn_id)

    async def start(self, who: Principal, turn_id: str, body: wire.StartBody) -> None:
        """The agent's process starts."""
        await turn_work.start(self._core, who, turn_id, body)

    async def renew(self, who: Principal, turn_id: str, lease: int) -> wire.RenewAnswer:
        """Keep the lease."""
        return await turn_work.renew(self._core, who, turn_id, lease)

    async def release(self, who: Principal, turn_id: str, body: wire.ReleaseBody) -> None:
        """Give the turn back."""
        await turn_work.release(self._core, who, turn_id, body)

    async def progress(self, who: Principal, turn_id: str, body: wire.ProgressBody) -> None:
        """Show what the agent does."""
        await turn_work.progress(self._core, who, turn_id, body)

    async def recent_progress(self, who: Principal, turn_id: str) -> tuple[wire.ProgressEvent, ...]:
        """The latest progress of a running turn, oldest first; nothing of one that doesn't run."""
        return await turn_reads.recent_progress(self._core, who, turn_id)

    async def reply(self, who: Principal, turn_id: str, body: wire.ReplyBody, key: str) -> wire.ReplyAnswer:
        """End the turn with the bridge's mail."""
        return await turn_results.reply(self._core, who, turn_id, body, key)

    async def finish(self, who: Principal, turn_id: str, body: wire.FinishBody) -> wire.Turn:
        """End the turn without one."""
        return await turn_results.finish(self._core, who, turn_id, body)

    async def cancel(self, who: Principal, turn_id: str) -> wire.Turn:
        """End a turn, at once or through its bridge."""
        return await turn_control.cancel(self._core, who, turn_id)

    async def retry(self, who: Principal, turn_id: str) -> wire.Turn:
        """Queue a dead turn again."""
        return await turn_control.retry(self._core, who, turn_id)

    async def delete_turn(self, who: Principal, turn_id: str) -> None:
        """Delete a dead turn."""
        await turn_control.delete_turn(self._core, who, turn_id)

    async def ask_permission(self, who: Principal, body: wire.PermissionAsk) -> wire.PermissionRequest:
        """A running turn asks a person."""
        return await permissions.ask_permission(self._core, who, body)

    async def list_permissions(
        self, who: Principal, *, state: str | None = None, after: str | None = None, limit: int = 50
    ) -> wire.Page[wire.PermissionRequest]:
        """A page of permission questions."""
        return await permissions.list_permissions(self._core, who, state, after, limit)

    async def get_permission(self, who: Principal, permission_id: str) -> wire.PermissionRequest:
        """One permission question."""
        return await permissions.get_permission(self._core, who, permission_id)

    async def decide_permission(
        self, who: Principal, permission_id: str, decision: wire.PermissionDecision
    ) -> wire.PermissionRequest:
        """A person answers."""
        return await permissions.decide_permission(self._core, who, permission_id, decision)

    # Administration

    async def add_agent(self, who: Principal, name: str, max_mode: wire.Tier = "workspace") -> tuple[wire.Agent, str]:
        """A new agent, and its key, shown this once."""
        account, key = await identities.add_account(self._core, who, "agent", name, max_mode=max_mode)
        return self._core.store.read(lambda reader: self._directory.entry(reader, account)), key

    async def rotate_agent(self, who: Principal, name: str) -> str:
        """A new key for an agent; the old one ends."""
        return await identities.rotate(self._core, who, "agent", name)

    async def patch_agent(
        self,
        who: Principal,
        name: str,
        *,
        paused: bool | None = None,
        max_mode: wire.Tier | None = None,
        disabled: bool | None = None,
    ) -> wire.Agent:
        """Pause, resume, cap, disable or enable an agent."""
        account = await administration.patch_agent(
            self._core, who, name, paused=paused, max_mode=max_mode, disabled=disabled
        )
        return self._core.store.read(lambda reader: self._directory.entry(reader, account))

    async def list_people(self, who: Principal) -> wire.Page[wire.Person]:
        """All people."""
        return await administration.list_people(self._core, who)

    async def add_person(
        self, who: Principal, name: str, display: str = "", admin: bool = False
    ) -> tuple[wire.Person, str]:
        """A new person, and their token, shown this once."""
        account, token = await identities.add_account(self._core, who, "person", name, display=display, admin=admin)
        return administration.shown_person(account), token

    async def rotate_person(self, who: Principal, name: str) -> str:
        """A new token for a person; the old one and their signed-in browsers end."""
        token = await identities.rotate(self._core, who, "person", name)
        self._sessions.end_all(identities.the_account(self._core, "person", name).id)
        return token

    async def patch_person(
        self,
        who: Principal,
        name: str,
        *,
        display: str | None = None,
        admin: bool | None = None,
        disabled: bool | None = None,
    ) -> wire.Person:
        """Rename, promote, demote, disable or enable a person."""
        return await administration.patch_person(
            self._core, who, self._sessions, name, display=display, admin=admin, disabled=disabled
        )

    async def get_trust(self, who: Principal) -> wire.Page[wire.Trust]:
        """How far each sender is trusted."""
        return await administration.get_trust(self._core, who)

    async def set_trust(self, who: Principal, sender: str, tier: wire.Tier | None) -> wire.Trust:
        """Trust a sender with a tier; None goes back to the default."""
        return await administration.set_trust(self._core, who, sender, tier)

    async def get_limits(self, who: Principal) -> wire.Limits:
        """The limits in force."""
        return await administration.get_limits(self._core, who)

    async def set_limits(self, who: Principal, limits: wire.Limits) -> wire.Limits:
        """Put other limits in force."""
        return await administration.set_limits(self._core, who, limits)

    async def audit(self, who: Principal, *, after: str | None = None, limit: int = 50) -> wire.Page[wire.AuditEntry]:
        """A page of the administration's record."""
        return await audit.list_audit(self._core, who, after, limit)

    def export(self, who: Principal) -> AsyncIterator[bytes]:
        """Everything as JSON lines."""
        return export.export(self._core, who)

    # Events

    def on_events(self, callback: Callable[[list[StoredEvent]], None]) -> None:
        """Pass stored events to `callback` after their commit, in the order of ids."""

        def listen(rows: list[EventRow]) -> None:
            callback(event_log.events_of(self._core, rows))

        self._core.store.on_events(listen)

    def on_live(self, callback: Callable[[LiveEvent], None]) -> None:
        """Pass events that are not stored to `callback`."""
        self._core.tell_live = callback

    async def events_after(self, who: Principal, cursor: int, limit: int = 200) -> list[StoredEvent] | None:
        """The caller's next stored events; None when the cursor is none of this store's, or too old."""
        return await event_log.events_after(self._core, who, cursor, limit)

    def last_event_id(self) -> int:
        """The id of the newest stored event, 0 when there never was one."""
        return self._core.store.last_event

    async def pushed(self, turn_ids: Iterable[str]) -> None:
        """Note that new turns were written to their agents' streams; stored within a moment, together."""
        numbers = (self._core.ids.head("turn", turn_id) for turn_id in turn_ids)
        self._chores.pushed(number for number in numbers if number is not None)

    # The machine

    async def sweep(self) -> None:
        """Do what is due by now; runs by itself when something is."""
        await self._sweeper.sweep()

    async def ready(self) -> None:
        """Return when the store can be written. Raises Problem ``unavailable`` that says why not."""
        await metrics.try_to_write(self._core)

    def metrics(self) -> dict[str, float]:
        """Numbers for the metrics page, by name."""
        return metrics.numbers(self._core)
