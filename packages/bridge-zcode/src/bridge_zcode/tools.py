"""Every tool name of ZCode that is known, with what it could do, and which of them a tier leaves in.

The names come from the source of app 3.15.1 (CLI 0.16.9): those it registers, those of its constant of known names and
those of its ordering set. A name that is only in one of the latter two costs nothing on the deny list: unknown names
are accepted there. A test holds this registry against the lists and fails for a name that is neither denied nor
reviewed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

__all__ = [
    "NETWORK_TOOLS",
    "REGISTRY",
    "Tool",
    "full_deny_list",
    "is_mail_tool",
]

Risk = Literal["execute", "write", "network", "spawn", "persist", "leak", "ask", "mode", "read", "note"]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: its main risk, and why it may stay in the tiers `plan` and `workspace` (empty: it is denied there)."""

    name: str
    risk: Risk
    reviewed: str = ""


_SECRETS = "reads what the OS user can read, as every tier may read the workspace"
_OWN_LIST = "keeps the session's own to-do list, nothing else"
_WEB = "can't read local files; what the model knows can leave in a URL, which the README says and one setting closes"

_TOOLS = (
    Tool("Read", "read", _SECRETS),
    Tool("Glob", "read", _SECRETS),
    Tool("Grep", "read", _SECRETS),
    Tool("TodoRead", "note", _OWN_LIST),
    Tool("TodoWrite", "note", _OWN_LIST),
    Tool("WebFetch", "network", _WEB),
    Tool("WebSearch", "network", _WEB),
    Tool("web_search", "network", _WEB),
    Tool("Bash", "execute"),
    Tool("js", "execute"),
    Tool("js_reset", "execute"),
    Tool("js_add_node_module_dir", "execute"),
    Tool("mcp__node_repl__js", "execute"),
    Tool("mcp__node_repl__js_reset", "execute"),
    Tool("mcp__node_repl__js_add_node_module_dir", "execute"),
    Tool("NodeRepl", "execute"),
    Tool("node_repl", "execute"),
    Tool("LSP", "execute"),
    Tool("EvalWorkflowSnippet", "execute"),
    Tool("Write", "write"),
    Tool("Edit", "write"),
    Tool("MultiEdit", "write"),
    Tool("ApplyPatch", "write"),
    Tool("apply_patch", "write"),
    Tool("NotebookEdit", "write"),
    Tool("EnterWorktree", "write"),
    Tool("ExitWorktree", "write"),
    Tool("SaveWorkflow", "write"),
    Tool("Agent", "spawn"),
    Tool("Task", "spawn"),
    Tool("Skill", "spawn"),
    Tool("TaskCreate", "spawn"),
    Tool("TaskGet", "spawn"),
    Tool("TaskList", "spawn"),
    Tool("TaskUpdate", "spawn"),
    Tool("TaskOutput", "spawn"),
    Tool("TaskStop", "spawn"),
    # The headless broker approves these two in every mode, `plan` included: only the deny list stops them.
    Tool("CreateWorkflow", "spawn"),
    Tool("AmendWorkflow", "spawn"),
    Tool("Workflow", "spawn"),
    Tool("ResumeWorkflowRun", "spawn"),
    Tool("ResolveWorkflowQuestion", "spawn"),
    Tool("FillWorkflowHole", "spawn"),
    Tool("submit_result", "spawn"),
    Tool("escalate", "spawn"),
    Tool("CronCreate", "persist"),
    Tool("CronUpdate", "persist"),
    Tool("CronDelete", "persist"),
    Tool("CronList", "persist"),
    Tool("OffPeakCreate", "persist"),
    Tool("OffPeakList", "persist"),
    Tool("ScheduleWakeup", "persist"),
    Tool("ReadSessionContext", "leak"),
    Tool("ListWorkflowRuns", "leak"),
    Tool("GetWorkflowRun", "leak"),
    Tool("ListSavedWorkflows", "leak"),
    Tool("GoalRead", "leak"),
    Tool("ListModels", "leak"),
    Tool("SendMessage", "leak"),
    Tool("ReplyToChannel", "leak"),
    Tool("RespondToCoordinator", "leak"),
    Tool("AskUserQuestion", "ask"),
    Tool("EnterPlanMode", "mode"),
    Tool("ExitPlanMode", "mode"),
)

REGISTRY: Mapping[str, Tool] = MappingProxyType({tool.name: tool for tool in _TOOLS})
NETWORK_TOOLS = tuple(tool.name for tool in _TOOLS if tool.risk == "network")

# A direct entry in ZCode's configuration, and the same server through the plugin (`plugin:agentmail:agentmail`, with
# each run of other characters as one underscore).
_MAIL_PREFIXES = ("mcp__agentmail__", "mcp__plugin_agentmail_agentmail__")


def full_deny_list(*, network: bool) -> tuple[str, ...]:
    """The deny list that leaves no tool which executes, writes, spawns, outlives the turn or leaks; sorted, never
    empty.

    `network` says whether the web tools stay.
    """
    return tuple(sorted(tool.name for tool in _TOOLS if not tool.reviewed or (tool.risk == "network" and not network)))


def is_mail_tool(name: str) -> bool:
    """Whether `name` is one of AgentMail's own MCP tools."""
    return name.startswith(_MAIL_PREFIXES)
