"""The rules that opencode gets for a tier."""

import fnmatch

import pytest

from bridge_opencode.turn_mode import Rule, rules, tool_key, unproven
from bridge_opencode.vendor.wire import Tier


def action(made: list[Rule], permission: str, pattern: str = "x") -> str:
    """What opencode makes of `made`: the last rule that fits both names."""
    fitting = [
        rule["action"]
        for rule in made
        if fnmatch.fnmatchcase(permission, rule["permission"]) and fnmatch.fnmatchcase(pattern, rule["pattern"])
    ]
    return fitting[-1]


CASES = ["read", "grep", "webfetch", "edit", "bash", "task", "question", "external_directory", "mcp_tool"]
A, D = "allow", "deny"


@pytest.mark.parametrize(
    ("tier", "sandboxed", "expected"),
    [
        ("plan", True, [A, A, A, D, D, D, D, D, D]),
        ("plan", False, [A, A, A, D, D, D, D, D, D]),
        ("workspace", True, [A, A, A, A, A, D, D, D, A]),
        ("workspace", False, [A, A, A, D, D, D, D, D, D]),
        ("full", True, [A, A, A, A, A, A, D, A, A]),
        ("full", False, [A, A, A, A, A, A, D, A, A]),
    ],
)
def test_each_tier_allows_and_denies_what_it_means(tier: Tier, sandboxed: bool, expected: list[str]) -> None:
    """opencode#28467: plan through the agent of that name let the shell write"""
    made = rules(tier, sandboxed=sandboxed)
    assert [action(made, name) for name in CASES] == expected


@pytest.mark.parametrize("tier", ["plan", "workspace", "full"])
@pytest.mark.parametrize("sandboxed", [True, False])
def test_nothing_is_left_to_opencode_s_own_asking(tier: Tier, sandboxed: bool) -> None:
    """opencode#14473, vercel/ai#19800: what nobody is there to answer waits for ever"""
    made = rules(tier, sandboxed=sandboxed)
    assert all(rule["action"] in ("allow", "deny") for rule in made)
    assert made[0]["permission"] == made[0]["pattern"] == "*"
    assert action(made, "question") == "deny"


def test_only_the_turn_s_own_places_lie_outside_of_the_workspace() -> None:
    made = rules("plan", sandboxed=True, places=["/state/turns/t1"])
    assert action(made, "external_directory", "/state/turns/t1/in/*") == "allow"
    assert action(made, "external_directory", "/state/turns/t2/*") == "deny"
    assert action(made, "external_directory", "/etc/*") == "deny"


@pytest.mark.parametrize(
    ("pattern", "expected"), [(".env", D), ("a/.env", D), (".env.local", D), (".env.example", A), ("a.py", A)]
)
def test_files_that_hold_secrets_are_not_read_below_full(pattern: str, expected: str) -> None:
    for tier in ("plan", "workspace"):
        assert action(rules(tier, sandboxed=True), "read", pattern) == expected
    assert action(rules("full", sandboxed=True), "read", ".env") == "allow"


@pytest.mark.parametrize(
    ("tier", "ask", "asked"),
    [
        ("workspace", ["bash"], {"bash"}),
        ("workspace", ["Bash", "write"], {"bash", "edit"}),
        ("plan", ["bash", "webfetch"], {"webfetch"}),
        ("workspace", ["task", "question"], set()),
        ("full", ["edit", "question"], {"edit"}),
        ("plan", ["*"], {"read", "grep", "webfetch"}),
        ("workspace", ["*"], {"read", "grep", "webfetch", "edit", "bash", "mcp_tool"}),
    ],
)
def test_asking_narrows_a_tier_and_never_widens_it(tier: Tier, ask: list[str], asked: set[str]) -> None:
    made = rules(tier, sandboxed=True, ask=ask)
    plain = rules(tier, sandboxed=True)
    assert action(made, "task") == "deny"
    for name in set(CASES) - {"task"}:
        if name in asked:
            assert (action(made, name), action(plain, name)) == ("ask", "allow")
        else:
            assert action(made, name) == action(plain, name)


def test_a_list_of_one_s_own_replaces_the_tier_s() -> None:
    made = rules("plan", sandboxed=True, instead=["Write"])
    assert [action(made, name) for name in ("edit", "bash", "question")] == ["deny", "allow", "deny"]
    assert action(rules("plan", sandboxed=True, instead=[]), "bash") == "allow"


@pytest.mark.parametrize(
    ("name", "key"), [("Bash", "bash"), (" Write ", "edit"), ("apply_patch", "edit"), ("WebFetch", "webfetch")]
)
def test_tools_are_known_by_the_names_that_people_use(name: str, key: str) -> None:
    assert tool_key(name) == key


@pytest.mark.parametrize("tier", ["plan", "workspace", "full"])
def test_without_a_sandbox_nothing_is_promised(tier: Tier) -> None:
    """A workspace's plugins run whatever opencode is told: its own rules are no protection from them."""
    assert unproven(tier, "no bubblewrap").level == "advisory"
