"""The agents' keys: made once, kept in files of mode 0600, made again when they are lost or no longer valid."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import RefusedError
from ..home import Home, write_private

if TYPE_CHECKING:
    from ..vendor.gateway_client import GatewayClient
    from ..vendor.wire import Agent

__all__ = ["ensure_key"]


async def ensure_key(admin: "GatewayClient", home: Home, name: str) -> None:
    """Afterwards the key file of agent `name` holds a key that works.

    Raises `RefusedError` when the agent was taken out of service, and the gateway's errors.
    """
    from ..vendor.gateway_client import GatewayProblem

    agents: Mapping[str, Agent] = {agent.name: agent for agent in (await admin.list_agents()).items}
    known = agents.get(name)
    if known is not None and known.disabled:
        raise RefusedError("was removed", f"To have it back: agentmail agent resume {name}", code="disabled")
    file = home.key_file(name)
    if known is not None:
        key = _read(file)
        if key and await _works(admin.url, key, name):
            return
        issued = await admin.rotate_agent(name)
    else:
        try:
            issued = await admin.add_agent(name)
        except GatewayProblem as problem:
            if problem.code != "conflict":
                raise
            issued = await admin.rotate_agent(name)
    write_private(file, issued.key + "\n")


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


async def _works(url: str, key: str, name: str) -> bool:
    from ..vendor.gateway_client import GatewayClient, GatewayProblem

    try:
        async with GatewayClient(url, key) as client:
            who = await client.whoami()
    except GatewayProblem as problem:
        if problem.status in {401, 403}:
            return False
        raise
    except ValueError:
        return False
    return who.kind == "agent" and who.name == name
