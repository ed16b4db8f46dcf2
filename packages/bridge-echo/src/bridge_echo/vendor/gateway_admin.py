"""The half of the gateway's HTTP API that administrators and operators use, typed."""

from pathlib import Path
from types import NoneType

from .gateway_files import save
from .gateway_transport import Transport, part
from .wire import (
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
    Tier,
    Trust,
)

__all__ = ["AdminRoutes"]

ADMIN = "/api/v1/admin"


class AdminRoutes:
    """Administration, health and figures. All raise GatewayProblem (403 ``forbidden``) and GatewayUnreachable."""

    _http: Transport

    async def add_agent(self, name: str, max_mode: Tier = "workspace") -> IssuedKey:
        """Make an agent; its key is shown this once."""
        return await self._http.call("POST", f"{ADMIN}/agents", IssuedKey, body=AddAgent(name, max_mode))

    async def rotate_agent(self, name: str) -> IssuedKey:
        """Give an agent a new key; the old one stops working."""
        return await self._http.call("POST", f"{ADMIN}/agents/{part(name)}/rotate", IssuedKey)

    async def patch_agent(
        self, name: str, *, paused: bool | None = None, max_mode: Tier | None = None, disabled: bool | None = None
    ) -> Agent:
        """Change an agent; None leaves as it is."""
        body = AgentPatch(paused=paused, max_mode=max_mode, disabled=disabled)
        return await self._http.call("PATCH", f"{ADMIN}/agents/{part(name)}", Agent, body=body)

    async def list_people(self, *, after: str | None = None, limit: int | None = None) -> Page[Person]:
        """The people who have a mailbox."""
        return await self._http.call("GET", f"{ADMIN}/people", Page[Person], params={"after": after, "limit": limit})

    async def add_person(self, name: str, *, display: str = "", admin: bool = False) -> IssuedKey:
        """Make a person; their token is shown this once."""
        return await self._http.call("POST", f"{ADMIN}/people", IssuedKey, body=AddPerson(name, display, admin))

    async def rotate_person(self, name: str) -> IssuedKey:
        """Give a person a new token; the old one stops working."""
        return await self._http.call("POST", f"{ADMIN}/people/{part(name)}/rotate", IssuedKey)

    async def list_trust(self, *, after: str | None = None, limit: int | None = None) -> Page[Trust]:
        """Which tier each sender's mail may ask for."""
        return await self._http.call("GET", f"{ADMIN}/trust", Page[Trust], params={"after": after, "limit": limit})

    async def set_trust(self, sender: str, tier: Tier | None) -> Trust:
        """Set the highest tier of `sender`'s mail; None goes back to the default."""
        return await self._http.call("PUT", f"{ADMIN}/trust", Trust, body=SetTrust(sender, tier))

    async def get_limits(self) -> Limits:
        """What bounds the mail of agents."""
        return await self._http.call("GET", f"{ADMIN}/limits", Limits)

    async def set_limits(self, limits: Limits) -> Limits:
        """Replace the limits."""
        return await self._http.call("PUT", f"{ADMIN}/limits", Limits, body=limits)

    async def audit(self, *, after: str | None = None, limit: int | None = None) -> Page[AuditEntry]:
        """The administration's record, oldest first."""
        return await self._http.call("GET", f"{ADMIN}/audit", Page[AuditEntry], params={"after": after, "limit": limit})

    async def export(self, dest: Path) -> int:
        """Write everything in the store to `dest` as JSON lines; the number of bytes written."""
        return await save(self._http, f"{ADMIN}/export", dest)

    async def metrics(self) -> str:
        """The gateway's figures, in Prometheus' text format."""
        return await self._http.call("GET", "/metrics", str)

    async def health(self) -> None:
        """Return when the gateway answers."""
        await self._http.call("GET", "/healthz", NoneType)

    async def ready(self) -> None:
        """Return when the gateway can store mail."""
        await self._http.call("GET", "/readyz", NoneType)
