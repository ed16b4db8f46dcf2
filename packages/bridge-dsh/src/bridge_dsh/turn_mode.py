"""Permission tier → dsh's permission mode, and the patch that makes the mode hold for each run. Pure."""

from typing import Literal

from .vendor.wire import Enforcement, Tier

__all__ = ["PATCH", "Mode", "mode", "obeyed", "unproven"]

Mode = Literal["read-only", "workspace-write", "danger-full-access"]

# `permission` writes the mode of a session's first run into its log, where it outlives any other; without that row the
# environment decides anew for each run. The rest sends what no mail asked for: one more request for a title, and the
# session's events and the list of plugins along with each request.
PATCH = """\
- id: permission
  disabled: true
- id: session-title-llm
  disabled: true
- id: session-log-deepseek
  disabled: true
- id: plugin-package-inventory-deepseek
  disabled: true
"""


def mode(tier: Tier, *, sandboxed: bool) -> Mode:
    """The mode for ``DSH_PERMISSION_MODE``, which takes any word and runs without tools when it doesn't know it.

    Inside the bridge's own sandbox dsh's does not start: its commands would then be refused one by one, in a turn that
    ends well. So there it is off, and the outer one holds.
    """
    if sandboxed or tier == "full":
        return "danger-full-access"
    return "read-only" if tier == "plan" else "workspace-write"


def unproven(tier: Tier, why: str, *, root: bool) -> Enforcement:
    """What holds in `tier` without the bridge's sandbox; `why` there is none."""
    if tier == "full":
        return Enforcement("advisory", "nothing is forbidden in this tier")
    if root:
        told = "dsh's own sandbox does not hold against root: its commands can mount everything writable"
    else:
        told = f"dsh is told {mode(tier, sandboxed=False)}, which was not seen to hold here"
    return Enforcement("advisory", f"{told} ({why})")


def obeyed(config: str) -> str:
    """Why `config` (dsh's print of its composed profile) would not let the environment set the mode; empty: it would.

    A patch of the user's can undo the bridge's.
    """
    rows = _rows(config)
    permission, policy = rows.get("permission"), rows.get("sandbox-policy")
    if policy is None or "process.env.DSH_PERMISSION_MODE" not in policy:
        return "its sandbox policy does not read the mode from the environment"
    if permission is not None and "\n  disabled: true" not in permission:
        return "its row `permission` is on, which keeps a session's first mode for ever"
    return ""


def _rows(config: str) -> dict[str, str]:
    """The top rows of the printed list, by id, as text."""
    rows: dict[str, str] = {}
    for part in f"\n{config}".split("\n- id: ")[1:]:
        name, _, rest = part.partition("\n")
        rows[name.strip().strip("'\"")] = f"\n{rest}"
    return rows
