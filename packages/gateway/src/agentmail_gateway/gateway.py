"""The gateway without HTTP: every function a handler or the MCP endpoint may call, in one class."""

import time
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path

from .events import LiveEvent, StoredEvent
from .principal import Principal
from .vendor import wire

__all__ = ["Gateway"]


class Gateway:
    """Facade; being filled in."""

    person_token_path: Path

    @classmethod
    async def open(
        cls,
        data: Path,
        *,
        admin: str,
        now: Callable[[], float] = time.time,
        limits: wire.Limits | None = None,
    ) -> "Gateway":
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError

    def authenticate(self, token: str) -> Principal | None:
        raise NotImplementedError

    def authenticate_secret(self, name: str, secret: str) -> Principal | None:
        raise NotImplementedError

    async def send_mail(self, who: Principal, body: wire.SendMail, key: str | None = None) -> tuple[wire.Mail, bool]:
        raise NotImplementedError

    async def list_mails(
        self,
        who: Principal,
        *,
        box: str = "inbox",
        unread: bool | None = None,
        sender: str | None = None,
        thread: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> wire.Page[wire.Mail]:
        raise NotImplementedError

    async def get_mail(self, who: Principal, mail_id: str) -> wire.Mail:
        raise NotImplementedError

    async def set_read(self, who: Principal, mail_id: str, read: bool) -> None:
        raise NotImplementedError

    async def list_threads(
        self, who: Principal, *, after: str | None = None, limit: int = 50
    ) -> wire.Page[wire.ThreadSummary]:
        raise NotImplementedError

    async def get_thread(self, who: Principal, thread_id: str) -> wire.Thread:
        raise NotImplementedError

    async def search(
        self, who: Principal, *, q: str, after: str | None = None, limit: int = 50
    ) -> wire.Page[wire.Mail]:
        raise NotImplementedError

    async def put_attachment(
        self,
        who: Principal,
        *,
        name: str,
        type: str,  # noqa: A002 - the name on the wire
        chunks: AsyncIterator[bytes],
    ) -> wire.Attachment:
        raise NotImplementedError

    async def get_attachment(self, who: Principal, attachment_id: str) -> tuple[wire.Attachment, Path]:
        raise NotImplementedError

    async def list_agents(self, who: Principal) -> wire.Page[wire.Agent]:
        raise NotImplementedError

    async def heartbeat(self, who: Principal, body: wire.Heartbeat) -> None:
        raise NotImplementedError

    async def list_turns(
        self, who: Principal, *, states: Iterable[str] = (), after: str | None = None, limit: int = 50
    ) -> wire.Page[wire.Turn]:
        raise NotImplementedError

    async def get_turn(self, who: Principal, turn_id: str) -> wire.Turn:
        raise NotImplementedError

    async def claim(self, who: Principal, turn_id: str) -> wire.Claim:
        raise NotImplementedError

    async def start(self, who: Principal, turn_id: str, body: wire.StartBody) -> None:
        raise NotImplementedError

    async def renew(self, who: Principal, turn_id: str, lease: int) -> wire.RenewAnswer:
        raise NotImplementedError

    async def release(self, who: Principal, turn_id: str, body: wire.ReleaseBody) -> None:
        raise NotImplementedError

    async def progress(self, who: Principal, turn_id: str, body: wire.ProgressBody) -> None:
        raise NotImplementedError

    async def recent_progress(self, who: Principal, turn_id: str) -> tuple[wire.ProgressEvent, ...]:
        raise NotImplementedError

    async def reply(self, who: Principal, turn_id: str, body: wire.ReplyBody, key: str) -> wire.ReplyAnswer:
        raise NotImplementedError

    async def finish(self, who: Principal, turn_id: str, body: wire.FinishBody) -> wire.Turn:
        raise NotImplementedError

    async def cancel(self, who: Principal, turn_id: str) -> wire.Turn:
        raise NotImplementedError

    async def retry(self, who: Principal, turn_id: str) -> wire.Turn:
        raise NotImplementedError

    async def delete_turn(self, who: Principal, turn_id: str) -> None:
        raise NotImplementedError

    async def ask_permission(self, who: Principal, body: wire.PermissionAsk) -> wire.PermissionRequest:
        raise NotImplementedError

    async def list_permissions(
        self, who: Principal, *, state: str | None = None, after: str | None = None, limit: int = 50
    ) -> wire.Page[wire.PermissionRequest]:
        raise NotImplementedError

    async def get_permission(self, who: Principal, permission_id: str) -> wire.PermissionRequest:
        raise NotImplementedError

    async def decide_permission(
        self, who: Principal, permission_id: str, decision: wire.PermissionDecision
    ) -> wire.PermissionRequest:
        raise NotImplementedError

    async def add_agent(self, who: Principal, name: str, max_mode: wire.Tier = "workspace") -> tuple[wire.Agent, str]:
        raise NotImplementedError

    async def rotate_agent(self, who: Principal, name: str) -> str:
        raise NotImplementedError

    async def patch_agent(
        self,
        who: Principal,
        name: str,
        *,
        paused: bool | None = None,
        max_mode: wire.Tier | None = None,
        disabled: bool | None = None,
    ) -> wire.Agent:
        raise NotImplementedError

    async def list_people(self, who: Principal) -> wire.Page[wire.Person]:
        raise NotImplementedError

    async def add_person(
        self, who: Principal, name: str, display: str = "", admin: bool = False
    ) -> tuple[wire.Person, str]:
        raise NotImplementedError

    async def rotate_person(self, who: Principal, name: str) -> str:
        raise NotImplementedError

    async def patch_person(
        self,
        who: Principal,
        name: str,
        *,
        display: str | None = None,
        admin: bool | None = None,
        disabled: bool | None = None,
    ) -> wire.Person:
        raise NotImplementedError

    async def get_trust(self, who: Principal) -> wire.Page[wire.Trust]:
        raise NotImplementedError

    async def set_trust(self, who: Principal, sender: str, tier: wire.Tier | None) -> wire.Trust:
        raise NotImplementedError

    async def get_limits(self, who: Principal) -> wire.Limits:
        raise NotImplementedError

    async def set_limits(self, who: Principal, limits: wire.Limits) -> wire.Limits:
        raise NotImplementedError

    async def audit(self, who: Principal, *, after: str | None = None, limit: int = 50) -> wire.Page[wire.AuditEntry]:
        raise NotImplementedError

    def export(self, who: Principal) -> AsyncIterator[bytes]:
        raise NotImplementedError

    async def sign_in_code(self, who: Principal) -> wire.SignInCode:
        raise NotImplementedError

    async def sign_in(self, code: str) -> tuple[str, str, Principal]:
        raise NotImplementedError

    def authenticate_session(self, session_token: str) -> tuple[Principal, str] | None:
        raise NotImplementedError

    async def sign_out(self, session_token: str) -> None:
        raise NotImplementedError

    def on_events(self, callback: Callable[[list[StoredEvent]], None]) -> None:
        raise NotImplementedError

    async def events_after(self, who: Principal, cursor: int, limit: int = 200) -> list[StoredEvent] | None:
        raise NotImplementedError

    def last_event_id(self) -> int:
        raise NotImplementedError

    def on_live(self, callback: Callable[[LiveEvent], None]) -> None:
        raise NotImplementedError

    async def pushed(self, turn_ids: Iterable[str]) -> None:
        raise NotImplementedError

    async def ready(self) -> None:
        raise NotImplementedError

    def metrics(self) -> dict[str, float]:
        raise NotImplementedError
