"""What a driver needs of the gateway: the part of `gateway_client.GatewayClient` that turns use."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO, Protocol, Self

from .event_parser import ServerEvent
from .wire import (
    Attachment,
    Claim,
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
    Thread,
    Turn,
    WhoAmI,
)

__all__ = ["Events", "TurnGateway"]


class Events(Protocol):
    """An event stream that reconnects by itself; see `sse_client.EventStream`."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...

    def __aiter__(self) -> Self: ...

    async def __anext__(self) -> ServerEvent: ...


class TurnGateway(Protocol):
    """The gateway as a bridge sees it. Every call raises `GatewayProblem` or `GatewayUnreachable`."""

    @property
    def url(self) -> str:
        """The gateway's address."""

    def event_stream(
        self,
        last_event_id: str | None = None,
        *,
        connected: Callable[[], None] | None = None,
        disconnected: Callable[[str, float], None] | None = None,
    ) -> Events: ...

    async def whoami(self) -> WhoAmI: ...

    async def list_turns(
        self, *, states: Iterable[str] = (), after: str | None = None, limit: int | None = None
    ) -> Page[Turn]: ...

    async def get_turn(self, turn_id: str) -> Turn: ...

    async def get_thread(self, thread_id: str) -> Thread: ...

    async def claim(self, turn_id: str) -> Claim: ...

    async def start(self, turn_id: str, body: StartBody) -> None: ...

    async def renew(self, turn_id: str, lease: int) -> RenewAnswer: ...

    async def release(self, turn_id: str, body: ReleaseBody) -> None: ...

    async def progress(self, turn_id: str, body: ProgressBody) -> None: ...

    async def reply(self, turn_id: str, body: ReplyBody, key: str) -> ReplyAnswer: ...

    async def finish(self, turn_id: str, body: FinishBody) -> Turn: ...

    async def heartbeat(self, body: Heartbeat) -> None: ...

    async def ask_permission(self, body: PermissionAsk) -> PermissionRequest: ...

    async def get_permission(self, request_id: str) -> PermissionRequest: ...

    async def get_attachment(
        self, attachment_id: str, dest: Path, *, size: int | None = None, limit: int | None = None
    ) -> int: ...

    async def put_attachment(self, name: str, media_type: str, data: bytes | BinaryIO | Path) -> Attachment: ...
