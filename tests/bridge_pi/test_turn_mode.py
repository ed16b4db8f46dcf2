"""Tier → tools."""

import pytest

from bridge_pi.turn_mode import tools, unproven
from bridge_pi.vendor.wire import Tier

READ = {"read", "grep", "ls"}
ALL = READ | {"bash", "edit", "write"}


@pytest.mark.parametrize(
    ("tier", "sandboxed", "expected"),
    [
        ("plan", True, READ),
        ("plan", False, READ),
        ("workspace", True, ALL),
        ("workspace", False, READ),
        ("full", True, ALL),
        ("full", False, ALL),
    ],
)
def test_a_tier_has_these_tools_and_no_other(tier: Tier, sandboxed: bool, expected: set[str]) -> None:
    assert set(tools(tier, sandboxed=sandboxed)) == expected


@pytest.mark.parametrize(("tier", "level"), [("plan", "native"), ("workspace", "native"), ("full", "advisory")])
def test_without_a_sandbox_only_reading_tools_enforce_a_tier(tier: Tier, level: str) -> None:
    told = unproven(tier, "no bubblewrap")
    assert told.level == level
    assert level == "advisory" or "not confined (no bubblewrap)" in told.why
