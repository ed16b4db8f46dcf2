"""What `agentmail up` says of each agent: ready, or what it lacks. Pure."""

from datetime import datetime

from ..terminal import safe
from ..vendor.wire import Agent

__all__ = ["agent_line", "is_back", "missing_line", "unready_line"]

# What a bridge's first heartbeat says, before it has looked at its agent.
_CHECKING = "the first self-check is running"
_ORDER = ("plan", "workspace", "full")


def is_back(agent: Agent, since: datetime) -> bool:
    """Whether the agent's bridge told what it found, at or after `since`: an older heartbeat may be a dead bridge's."""
    if not agent.online or not agent.last_seen or (not agent.ready and _CHECKING in agent.lacks):
        return False
    try:
        seen = datetime.fromisoformat(agent.last_seen)
    except ValueError:
        return True
    return seen.timestamp() >= since.timestamp() - 0.002


def agent_line(agent: Agent) -> str:
    """`ready` with the agent's version and what enforces each tier; or what it lacks, with the next step."""
    if not agent.ready:
        lacks = "; ".join(safe(lack) for lack in agent.lacks) or "its self-check failed"
        return f"not ready: {lacks}"
    if agent.paused:
        return f"ready but paused; to go on: agentmail agent resume {safe(agent.name)}"
    facts = [safe(agent.agent_version)] if agent.agent_version else []
    allowed = _ORDER[: _ORDER.index(agent.max_mode) + 1]
    facts += [f"{tier}: {agent.mode_enforcement[tier].level}" for tier in allowed if tier in agent.mode_enforcement]
    return f"ready ({', '.join(facts)})" if facts else "ready"


def missing_line(label: str, name: str) -> str:
    """For an agent whose program is not on this machine."""
    return f"{label} is not on this machine; install it, or name it in AGENTMAIL_{name.upper()}_COMMAND"


def unready_line(why_ended: str, last_line: str, log: str) -> str:
    """For a bridge that ended instead of getting ready."""
    cause = safe(last_line) if last_line else why_ended
    return f"its bridge ended: {cause} (see {log})"
