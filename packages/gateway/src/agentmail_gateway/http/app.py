"""The gateway's ASGI application: the table of routes behind the guard."""

import asyncio
import time
from collections.abc import Iterable
from contextlib import suppress

from starlette.routing import BaseRoute, Router
from starlette.routing import Route as StarletteRoute

from ..events import LiveEvent, StoredEvent
from ..gateway import Gateway
from ..problems import Problem
from .attempts import FailedAttempts
from .authentication import Authenticator
from .counters import Counters
from .endpoint import PathEndpoint
from .event_hub import Hub
from .event_stream import keep_pinging
from .exchange import Receive, Scope, Send
from .guard import Guard
from .route import Route
from .routes import ROUTES
from .settings import HttpSettings, Services

__all__ = ["App"]


class App:
    """The application over an open gateway; `start` before the first request, `close` before the server waits."""

    def __init__(self, gateway: Gateway, settings: HttpSettings) -> None:
        self.hub = Hub(gateway.last_event_id, gateway.pushed)
        counters = Counters()
        self.services = Services(
            gateway=gateway,
            hub=self.hub,
            authenticator=Authenticator(gateway, FailedAttempts(time.monotonic)),
            counters=counters,
            settings=settings,
        )
        router = Router(list(_by_path(ROUTES, self.services)), redirect_slashes=False, default=_not_found)
        self._guard = Guard(router, settings.allowed, counters, slow_s=settings.slow_s)
        self._pinging: asyncio.Task[None] | None = None
        gateway.on_events(self._stored)
        gateway.on_live(self._live)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._guard(scope, receive, send)

    def start(self) -> None:
        """Begin to show life to event streams. Needs the running loop."""
        self._pinging = asyncio.get_running_loop().create_task(keep_pinging(self.hub))

    def close(self) -> None:
        """End every event stream, so that the server need not wait for their clients (sse-starlette#132)."""
        self.hub.close()
        if self._pinging is not None:
            self._pinging.cancel()

    async def closed(self) -> None:
        """Return when nothing that this object started runs any more."""
        if self._pinging is not None:
            with suppress(asyncio.CancelledError):
                await self._pinging

    def _stored(self, events: list[StoredEvent]) -> None:
        for event in events:
            self.hub.publish(event.id, event.to, event.type, event.data)

    def _live(self, event: LiveEvent) -> None:
        self.hub.publish_live(event.to, event.type, event.data)


def _by_path(routes: Iterable[Route], services: Services) -> Iterable[BaseRoute]:
    paths: dict[str, list[Route]] = {}
    for each in routes:
        paths.setdefault(each.path, []).append(each)
    for path, same in paths.items():
        yield StarletteRoute(path, PathEndpoint(same, services))


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    del scope, receive, send
    raise Problem("not_found", "There is nothing at this path; /api/v1/openapi.json lists what there is.")
