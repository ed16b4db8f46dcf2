"""Tier to mode and deny list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge_zcode.tools import REGISTRY, full_deny_list
from bridge_zcode.turn_mode import (
    TurnMode,
    is_forbidden,
    limits_note,
    parse_deny_list,
    parse_mode_map,
    required_deny_list,
    turn_mode,
    weaknesses,
)
from bridge_zcode.vendor.settings import SettingsError
from bridge_zcode.vendor.wire import Tier

TIERS: list[Tier] = ["plan", "workspace", "full"]
FULL_LIST = full_deny_list(network=True)


@pytest.mark.parametrize(
    ("tier", "mode", "deny"), [("plan", "plan", FULL_LIST), ("workspace", "yolo", FULL_LIST), ("full", "yolo", ())]
)
def test_a_tier_has_its_mode_and_list(tier: Tier, mode: str, deny: tuple[str, ...]) -> None:
    made = turn_mode(tier)
    assert (made.mode, made.deny, made.unrestricted) == (mode, deny, tier == "full")


def test_the_mode_map_replaces_what_it_names() -> None:
    assert parse_mode_map(" workspace:YOLO,full:guarded; plan:build") == {
        "plan": "build",
        "workspace": "yolo",
        "full": "guarded",
    }
    assert parse_mode_map("") == {"plan": "plan", "workspace": "yolo", "full": "yolo"}


@pytest.mark.parametrize("text", ["workspace", "workspace:", ":yolo", "root:yolo", "full:sudo", "plan=plan", "a:b:c"])
def test_a_mode_map_that_is_not_understood_names_the_variable_and_the_entry(text: str) -> None:
    with pytest.raises(SettingsError, match=r"AGENTMAIL_ZCODE_MODE_MAP.*Example: workspace:yolo,full:yolo"):
        parse_mode_map(text)


def test_an_unset_list_is_not_an_empty_one() -> None:
    assert parse_deny_list(None) is None
    assert parse_deny_list("") == ()
    assert parse_deny_list(" , ") == ()
    assert turn_mode("plan", denied=None).deny == FULL_LIST
    assert turn_mode("plan", denied=()) == TurnMode("plan", (), unrestricted=True)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Bash", ("Bash",)),
        ("Bash, Write Edit\nBash", ("Bash", "Write", "Edit")),
        ("Bash(git *),Write", ("Bash", "Write")),
        ("mcp__mail__send", ("mcp__mail__send",)),
    ],
)
def test_a_list_is_read_with_blanks_or_commas(text: str, names: tuple[str, ...]) -> None:
    assert parse_deny_list(text) == names


@pytest.mark.parametrize("text", ["--mode", "Bash;Write", "mcp__x__*", "Bash=1", "(", "Ba\x00sh"])
def test_what_is_no_tool_name_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="AGENTMAIL_ZCODE_DISALLOWED_TOOLS"):
        parse_deny_list(text)


@pytest.mark.parametrize("tier", TIERS)
def test_the_persons_own_list_replaces_the_whole_list_in_every_tier(tier: Tier) -> None:
    assert turn_mode(tier, denied=("Write", "Bash", "Write")).deny == ("Write", "Bash")


def test_an_empty_list_never_comes_about_by_accident() -> None:
    """`--disallowed-tools=` is accepted by ZCode and means none."""
    with pytest.raises(ValueError, match="empty"):
        TurnMode("plan", ())
    with pytest.raises(ValueError, match="unrestricted"):
        TurnMode("plan", ("Bash",), unrestricted=True)


@given(st.text(min_size=1))
def test_a_deny_list_holds_tool_names_only(name: str) -> None:
    try:
        made = TurnMode("plan", (name,))
    except ValueError:
        assert not name.isidentifier() or not name.isascii() or name.startswith("_")
    else:
        assert made.deny == (name,)
        assert name.replace("_", "a").isalnum()


@pytest.mark.parametrize("tier", ["plan", "workspace"])
def test_the_full_list_has_no_weakness_and_each_missing_name_is_one(tier: Tier) -> None:
    assert weaknesses(tier, FULL_LIST, network=True) == ()
    assert weaknesses(tier, (), network=True) == FULL_LIST
    for name in FULL_LIST:
        assert weaknesses(tier, tuple(one for one in FULL_LIST if one != name), network=True) == (name,)


def test_with_a_closed_network_the_web_tools_are_needed_and_one_spelling_is_enough() -> None:
    closed = required_deny_list("plan", network=False)
    assert {"WebFetch", "WebSearch"} <= set(closed)
    assert weaknesses("plan", tuple(name for name in closed if name != "web_search"), network=False) == ()
    assert set(weaknesses("plan", FULL_LIST, network=False)) == {"WebFetch", "WebSearch", "web_search"}
    assert required_deny_list("full", network=False) == ("WebFetch", "WebSearch", "web_search")


@pytest.mark.parametrize("tier", ["plan", "workspace"])
@pytest.mark.parametrize("tool", sorted(REGISTRY))
def test_a_known_tool_that_runs_is_forbidden_exactly_if_it_is_denied(tier: Tier, tool: str) -> None:
    assert is_forbidden(tool, tier, turn_mode(tier)) is (tool in FULL_LIST)


@pytest.mark.parametrize(
    ("tool", "forbidden"),
    [
        ("BrandNewTool", True),
        ("mcp__shell__run", True),
        ("mcp__my-files__read", False),
        ("mcp__my_files__read", False),
        ("mcp__my_filesystem__write", True),
        ("mcp__agentmail__send_mail", False),
    ],
)
def test_a_tool_that_nobody_reviewed_is_forbidden_unless_the_person_configured_its_server(
    tool: str, forbidden: bool
) -> None:
    assert is_forbidden(tool, "plan", turn_mode("plan"), servers=("my-files",)) is forbidden


def test_nothing_is_forbidden_in_full_or_with_a_list_that_is_empty_on_purpose() -> None:
    assert not is_forbidden("Bash", "full", turn_mode("full"))
    assert not is_forbidden("BrandNewTool", "plan", turn_mode("plan", denied=()))


def test_what_the_persons_own_list_leaves_in_may_run() -> None:
    own = turn_mode("plan", denied=("Write",))
    assert not is_forbidden("Bash", "plan", own)
    assert is_forbidden("Write", "plan", own)


def test_the_agent_is_told_when_a_tier_that_may_edit_has_no_tool_for_it() -> None:
    assert "switched off" in limits_note("workspace", turn_mode("workspace"))
    assert limits_note("workspace", turn_mode("workspace", denied=("Task",))) == ""
    assert limits_note("plan", turn_mode("plan")) == ""
    assert limits_note("full", turn_mode("full")) == ""
