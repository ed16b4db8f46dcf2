"""Every known tool of ZCode is denied or reviewed."""

import pytest

from bridge_zcode.tools import NETWORK_TOOLS, REGISTRY, full_deny_list, is_mail_tool

# The names as they stand in the source of app 3.15.1: registered handlers, the constant of known names, the ordering
# set.
# fmt: off
REGISTERED = (
    "Read", "Write", "Edit", "Bash", "Glob", "Grep", "WebFetch", "WebSearch", "TodoRead", "TodoWrite",
    "CronCreate", "CronList", "CronUpdate", "CronDelete", "OffPeakCreate", "OffPeakList", "EnterPlanMode",
    "ExitPlanMode", "AskUserQuestion", "SendMessage", "RespondToCoordinator", "submit_result", "escalate",
    "TaskOutput", "TaskStop", "ReadSessionContext", "ReplyToChannel", "Agent", "Task", "Skill", "js",
    "CreateWorkflow", "AmendWorkflow", "SaveWorkflow", "EvalWorkflowSnippet", "ListWorkflowRuns", "GetWorkflowRun",
    "ResumeWorkflowRun", "ResolveWorkflowQuestion", "FillWorkflowHole", "ListSavedWorkflows", "ListModels",
)
# fmt: on
# fmt: off
KNOWN = (
    "ApplyPatch", "web_search", "GoalRead", "js_reset", "js_add_node_module_dir", "mcp__node_repl__js",
    "mcp__node_repl__js_reset", "mcp__node_repl__js_add_node_module_dir",
)
# fmt: on
# fmt: off
ORDERED = (
    "EnterWorktree", "ExitWorktree", "LSP", "NotebookEdit", "ScheduleWakeup", "TaskCreate", "TaskGet", "TaskList",
    "TaskUpdate", "Workflow",
)
# fmt: on
# The list that the bridge this one takes after is known to have had, as far as it could be reconstructed.
# fmt: off
RECONSTRUCTED = (
    "Bash", "Write", "Edit", "MultiEdit", "ApplyPatch", "NotebookEdit", "js", "js_reset", "js_add_node_module_dir",
    "mcp__node_repl__js", "mcp__node_repl__js_reset", "mcp__node_repl__js_add_node_module_dir", "WebFetch",
    "WebSearch", "Agent", "Task", "Skill", "SendMessage", "TaskOutput", "TaskStop", "AskUserQuestion",
    "ReadSessionContext", "CronCreate", "CronUpdate", "CronDelete", "OffPeakCreate", "Workflow", "CreateWorkflow",
    "AmendWorkflow", "SaveWorkflow", "ResumeWorkflowRun", "EvalWorkflowSnippet",
)
# fmt: on


@pytest.mark.parametrize("name", sorted({*REGISTERED, *KNOWN, *ORDERED, *RECONSTRUCTED}))
def test_a_name_that_zcode_knows_is_in_the_registry(name: str) -> None:
    assert name in REGISTRY


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_a_tool_is_denied_or_says_why_it_may_stay(name: str) -> None:
    denied = name in full_deny_list(network=True)
    assert denied != bool(REGISTRY[name].reviewed)


def test_only_reading_noting_and_the_web_were_reviewed_as_harmless() -> None:
    stays = {name for name, tool in REGISTRY.items() if tool.reviewed}
    assert stays == {"Read", "Glob", "Grep", "TodoRead", "TodoWrite", "WebFetch", "WebSearch", "web_search"}


def test_without_network_the_web_tools_go_too_and_the_list_is_the_reconstructed_one_and_more() -> None:
    assert set(NETWORK_TOOLS) == {"WebFetch", "WebSearch", "web_search"}
    assert set(RECONSTRUCTED) <= set(full_deny_list(network=False))
    assert set(full_deny_list(network=False)) - set(full_deny_list(network=True)) == set(NETWORK_TOOLS)


def test_workflows_are_denied_because_the_headless_broker_approves_them_in_every_mode() -> None:
    assert {"CreateWorkflow", "AmendWorkflow"} <= set(full_deny_list(network=True))


def test_the_way_out_of_plan_mode_is_denied() -> None:
    assert "ExitPlanMode" in full_deny_list(network=True)


def test_the_list_is_sorted_and_holds_each_name_once() -> None:
    names = full_deny_list(network=True)
    assert list(names) == sorted(set(names))


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("mcp__agentmail__send_mail", True),
        ("mcp__plugin_agentmail_agentmail__read_mail", True),
        ("mcp__agentmail_evil__send_mail", False),
        ("mcp__other__agentmail__x", False),
        ("Bash", False),
    ],
)
def test_mail_tools_are_known_by_their_server(name: str, ours: bool) -> None:
    assert is_mail_tool(name) is ours
