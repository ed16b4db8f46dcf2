"""Permission tier → pi's tools. pi asks nobody and confines no path: what a tier forbids is not offered at all."""

from .vendor.wire import Enforcement, Tier

__all__ = ["ALL_TOOLS", "READ_TOOLS", "tools", "unproven"]

READ_TOOLS = ("read", "grep", "ls")
ALL_TOOLS = (*READ_TOOLS, "bash", "edit", "write")


def tools(tier: Tier, *, sandboxed: bool) -> tuple[str, ...]:
    """The tools to name in ``--tools``, in order: pi then has these and no other.

    Without a proven sandbox only full has more than the reading tools, since pi's shell and its editing tools write
    wherever the user may. ``find`` is left out: it needs a program that most systems have too old.
    """
    match tier:
        case "full":
            return ALL_TOOLS
        case "workspace" if sandboxed:
            return ALL_TOOLS
        case _:
            return READ_TOOLS


def unproven(tier: Tier, why: str) -> Enforcement:
    """What holds in `tier` without a sandbox; `why` there is none. `native` if no tool on offer can change a thing."""
    if set(tools(tier, sandboxed=False)) <= set(READ_TOOLS):
        told = "pi is offered reading tools only, so it changes nothing; what it reads is not confined"
        return Enforcement("native", f"{told} ({why})")
    return Enforcement("advisory", "nothing is forbidden in this tier")
