"""Permission tier -> ZCode's mode and deny list. Pure.

There are two ways to weaken a tier, both the person's own settings: `AGENTMAIL_ZCODE_MODE_MAP` and
`AGENTMAIL_ZCODE_DISALLOWED_TOOLS`. Neither does it silently: `weaknesses` names what is missing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from .tools import NETWORK_TOOLS, REGISTRY, full_deny_list, is_mail_tool
from .vendor.settings import SettingsError
from .vendor.wire import Tier

__all__ = [
    "DISALLOWED_TOOLS_VARIABLE",
    "MODE_MAP_VARIABLE",
    "Mode",
    "TurnMode",
    "is_forbidden",
    "limits_note",
    "parse_deny_list",
    "parse_mode_map",
    "required_deny_list",
    "turn_mode",
    "weaknesses",
]

MODE_MAP_VARIABLE = "AGENTMAIL_ZCODE_MODE_MAP"
DISALLOWED_TOOLS_VARIABLE = "AGENTMAIL_ZCODE_DISALLOWED_TOOLS"

Mode = Literal["plan", "build", "edit", "yolo", "guarded"]
_DEFAULT_MODES: Mapping[Tier, Mode] = {"plan": "plan", "workspace": "yolo", "full": "yolo"}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class TurnMode:
    """What a turn is started with.

    `deny` may be empty only with `unrestricted`, the word for "on purpose": ZCode takes an empty list silently as no
    list at all, so that an empty one must never come about by accident. Raises ValueError otherwise, and for a name
    that could end the list or smuggle an option into it.
    """

    mode: Mode
    deny: tuple[str, ...]
    unrestricted: bool = False

    def __post_init__(self) -> None:
        if not self.deny and not self.unrestricted:
            raise ValueError("an empty deny list must be asked for: ZCode reads it as none")
        if self.deny and self.unrestricted:
            raise ValueError("unrestricted means no deny list")
        for name in self.deny:
            if not _NAME.fullmatch(name):
                raise ValueError(f"not a tool name: {name!r}")


def parse_mode_map(text: str) -> Mapping[Tier, Mode]:
    """Read `workspace:yolo,full:yolo`: entries of tier and mode, separated by commas, semicolons or blanks.

    Returns the default map with these entries replaced. Raises SettingsError for anything else.
    """
    modes = dict(_DEFAULT_MODES)
    for entry in re.split(r"[,;\s]+", text.strip()):
        if not entry:
            continue
        tier, separator, mode = (part.strip().lower() for part in entry.partition(":"))
        if not separator or tier not in _DEFAULT_MODES or mode not in get_args(Mode):
            tiers, known = ", ".join(_DEFAULT_MODES), ", ".join(get_args(Mode))
            raise SettingsError(
                MODE_MAP_VARIABLE,
                f"{entry[:80]!r} is not tier:mode",
                f"Tiers: {tiers}; modes: {known}. Example: workspace:yolo,full:yolo",
            )
        modes[_tier(tier)] = _mode(mode)
    return modes


def parse_deny_list(text: str | None) -> tuple[str, ...] | None:
    """Read a list of tool names separated by blanks or commas: None for None (unset), `()` for a blank text.

    A rule such as ``Bash(git *)`` is the whole tool, as ZCode reads it. Raises SettingsError for what is no tool name.
    """
    if text is None:
        return None
    names = dict.fromkeys(name for name in re.split(r"[,\s]+", re.sub(r"\([^()]*\)", "", text)) if name)
    for name in names:
        if not _NAME.fullmatch(name):
            raise SettingsError(
                DISALLOWED_TOOLS_VARIABLE, f"{name[:80]!r} is no tool name", "Separate names such as Bash with commas"
            )
    return tuple(names)


def _tier(text: str) -> Tier:
    return next(tier for tier in _DEFAULT_MODES if tier == text)


def _mode(text: str) -> Mode:
    return next(mode for mode in get_args(Mode) if mode == text)


def required_deny_list(tier: Tier, *, network: bool) -> tuple[str, ...]:
    """The names that must be denied for `tier` to hold without a sandbox. `full` needs none but the closed network."""
    if tier == "full":
        return () if network else tuple(sorted(NETWORK_TOOLS))
    return full_deny_list(network=network)


def turn_mode(
    tier: Tier,
    *,
    modes: Mapping[Tier, Mode] = _DEFAULT_MODES,
    denied: tuple[str, ...] | None = None,
    network: bool = True,
) -> TurnMode:
    """Mode and deny list of `tier`.

    `denied` is the person's own list: None when the setting is unset, `()` when it is set to nothing, which is obeyed
    and shows in `weaknesses`. `network` False adds the web tools to the list that is made here.
    """
    deny = required_deny_list(tier, network=network) if denied is None else tuple(dict.fromkeys(denied))
    return TurnMode(modes[tier], deny, unrestricted=not deny)


def weaknesses(tier: Tier, sent: tuple[str, ...], *, network: bool) -> tuple[str, ...]:
    """The names that `tier` needs denied and that are not in `sent`, the deny list as it was read from an argv.

    ZCode reads `web_search` as `WebSearch`: one of the two is enough.
    """
    names = set(sent)
    if "web_search" in names or "WebSearch" in names:
        names |= {"web_search", "WebSearch"}
    return tuple(name for name in required_deny_list(tier, network=network) if name not in names)


def is_forbidden(tool: str, tier: Tier, mode: TurnMode, *, servers: tuple[str, ...] = ()) -> bool:
    """Whether a tool that was seen to run must not run in `tier`: then the deny list failed, or ZCode has a new tool.

    A deny list lets pass what it does not know. Known tools that are not on it were reviewed, or left by the person's
    own list; `servers` are the MCP servers of the person's own configuration.
    """
    if tier == "full" or mode.unrestricted:
        return False
    if tool in mode.deny:
        return True
    own = tuple(_plain(f"mcp__{server}__") for server in servers)
    return not (tool in REGISTRY or is_mail_tool(tool) or (own and _plain(tool).startswith(own)))


def _plain(name: str) -> str:
    """A tool's name as ZCode may spell it: other characters become underscores, runs of which are one."""
    return re.sub(r"[^A-Za-z0-9]+", "_", name)


def limits_note(tier: Tier, mode: TurnMode) -> str:
    """What the agent has to know of the run beside its tier: that tools it may miss are switched off. May be empty."""
    if tier != "workspace" or not {"Bash", "Edit", "Write"} <= set(mode.deny):
        return ""
    return (
        "In this run the tools that write files or run programs are switched off. Where the mail asks for a change, "
        "say exactly what to change and where."
    )
