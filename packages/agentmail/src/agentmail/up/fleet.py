"""Which processes `agentmail up` runs, with which arguments and environment. Pure but for `is_installed`."""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass

from ..home import Home
from .service import Program

__all__ = ["AGENTS", "GATEWAY", "AgentKind", "bridge_program", "gateway_program", "is_installed"]

GATEWAY = "agentmail_gateway"
# A bridge stops a turn politely, then gives it back: bridges promise to be gone after 15 s.
_BRIDGE_GRACE_S = 16.0
_GATEWAY_GRACE_S = 6.0

# Credentials of somebody else, and what belongs to a single bridge: none of it may come from the terminal.
_NOT_INHERITED = (
    "AGENTMAIL_AGENT_KEY",
    "AGENTMAIL_AGENT_NAME",
    "AGENTMAIL_AGENT_SECRET",
    "AGENTMAIL_PERMISSION_MODE",
    "AGENTMAIL_SESSION_ID",
    "AGENTMAIL_TOKEN",
)


@dataclass(frozen=True, slots=True)
class AgentKind:
    """An agent with a bridge. `runs_programs`: its turns start an agent's program; `label` is the product's name."""

    name: str
    module: str
    label: str
    runs_programs: bool = True


AGENTS: tuple[AgentKind, ...] = (
    AgentKind("echo", "bridge_echo", "echo", runs_programs=False),
    AgentKind("zcode", "bridge_zcode", "ZCode"),
    AgentKind("opencode", "bridge_opencode", "opencode"),
    AgentKind("pi", "bridge_pi", "pi"),
    AgentKind("dsh", "bridge_dsh", "dsh"),
)


def is_installed(module: str) -> bool:
    """Whether `module` can be started with this interpreter."""
    try:
        return importlib.util.find_spec(f"{module}.__main__") is not None
    except ModuleNotFoundError:
        return False


def _inherited(environ: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in environ.items() if name not in _NOT_INHERITED}
    # What a process prints is read line by line as it comes.
    return {**kept, "PYTHONUNBUFFERED": "1"}


def gateway_program(home: Home, environ: Mapping[str, str], port: int) -> Program:
    """The gateway on `port` of the loopback address (0: any free one)."""
    return Program(
        name="gateway",
        module=GATEWAY,
        arguments=("--data", str(home.gateway), "--port", str(port)),
        env=_inherited(environ),
        log=home.log("gateway"),
        cwd=home.root,
        grace_s=_GATEWAY_GRACE_S,
    )


def bridge_program(home: Home, environ: Mapping[str, str], kind: AgentKind, url: str, *, allow_root: bool) -> Program:
    """The bridge of an agent, told where the gateway is and where its key lies. The key itself is in no argument."""
    env = _inherited(environ)
    env |= {
        "AGENTMAIL_GATEWAY_URL": url,
        "AGENTMAIL_AGENT_KEY_FILE": str(home.key_file(kind.name)),
        "AGENTMAIL_STATE_DIR": str(home.bridge(kind.name)),
    }
    return Program(
        name=kind.name,
        module=kind.module,
        arguments=("--allow-root",) if allow_root else (),
        env=env,
        log=home.log(kind.name),
        cwd=home.root,
        grace_s=_BRIDGE_GRACE_S,
    )
