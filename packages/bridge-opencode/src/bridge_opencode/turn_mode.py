"""Permission tier → opencode's rules for a session. Pure.

Rules go with the session (``POST /session``), where opencode looks last: no file of a workspace can loosen them
(opencode#7136), and unlike ``--agent plan`` they hold for the shell too (opencode#28467). A tool that is denied is not
offered to the model at all. Nothing is left at opencode's ``ask``, which waits for ever where nobody looks
(opencode#14473), but for the tools that the bridge's settings name.
"""

from collections.abc import Iterable, Sequence

from .vendor.wire import Enforcement, Tier

__all__ = ["DENIED", "READ_TOOLS", "Rule", "rules", "tool_key", "unproven"]

Rule = dict[str, str]

# `invalid` only tells the model which of its calls was none.
READ_TOOLS = ("invalid", "read", "grep", "glob", "list", "webfetch", "websearch", "codesearch", "todoread", "todowrite")
# What leaves the turn or its workspace, or waits for somebody at a screen.
DENIED = ("task", "question", "plan_enter", "plan_exit")
SAME = {
    "write": "edit",
    "patch": "edit",
    "apply_patch": "edit",
    "multiedit": "edit",
    "shell": "bash",
    "ls": "list",
}


def tool_key(name: str) -> str:
    """The name under which opencode's rules know a tool, however a person writes it (``Bash``, ``write``)."""
    key = name.strip().lower()
    return SAME.get(key, key)


def rules(
    tier: Tier,
    *,
    sandboxed: bool,
    places: Sequence[str] = (),
    ask: Iterable[str] = (),
    instead: Sequence[str] | None = None,
) -> list[Rule]:
    """The rules of a turn in `tier`, in order: the last one that fits counts.

    `sandboxed`: the bridge's sandbox was seen to hold. `places` are folders outside of the workspace that the turn
    works with. `ask` are tools that a person is asked about: what the tier denies stays denied, and no sub-agent goes
    around it. `instead` replaces the tier's own list of denied tools (None: it does not).
    """
    asked = [tool_key(name) for name in ask]
    # A sub-agent's session has rules of its own, in which what this one asks about is simply allowed.
    alone = [_rule("task", "deny")] if asked else []
    if instead is not None:
        made = [_rule("*", "allow"), *_asking(asked, None), *(_rule(tool_key(name), "deny") for name in instead)]
        return [*made, _rule("question", "deny"), *alone]
    match tier:
        case "full":
            return [_rule("*", "allow"), *_asking(asked, None), _rule("question", "deny"), *alone]
        case "workspace" if sandboxed:
            made = [_rule("*", "allow"), *_asking(asked, None), *(_rule(name, "deny") for name in DENIED)]
        case _:
            made = [_rule("*", "deny"), *(_rule(name, "allow") for name in READ_TOOLS), *_asking(asked, READ_TOOLS)]
    made += [_rule("read", "deny", pattern) for pattern in ("*.env", "*.env.*")]
    made += [_rule("read", "allow", "*.env.example"), _rule("external_directory", "deny")]
    return [*made, *(_rule("external_directory", "allow", f"{place}/*") for place in places)]


def unproven(tier: Tier, why: str) -> Enforcement:
    """What holds in `tier` without a sandbox; `why` there is none.

    opencode's rules bind the model, and not the plugins of a workspace: their top-level code runs whatever it is told.
    """
    if tier == "full":
        return Enforcement("advisory", "nothing is forbidden in this tier")
    told = "opencode offers reading tools only, but code in a workspace's .opencode/plugin folder runs when it starts"
    return Enforcement("advisory", f"{told} ({why})")


def _asking(asked: Sequence[str], of: Sequence[str] | None) -> list[Rule]:
    """Rules that ask, for those of the tools `of` (None: all) that are named, or all of them for ``*``."""
    if "*" in asked:
        return [_rule(name, "ask") for name in (of if of is not None else ("*",))]
    return [_rule(name, "ask") for name in asked if of is None or name in of]


def _rule(permission: str, action: str, pattern: str = "*") -> Rule:
    return {"permission": permission, "pattern": pattern, "action": action}
