"""Tier → dsh's mode, and the guard that dsh obeys it."""

import pytest

from bridge_dsh.turn_mode import PATCH, mode, obeyed, unproven
from bridge_dsh.vendor.wire import Tier

POLICY = "- id: sandbox-policy\n  config:\n    mode: !!js process.env.DSH_PERMISSION_MODE ?? 'workspace-write'\n"
OFF = "- id: permission\n  name: x\n  config:\n    presets: {}\n  disabled: true\n"


@pytest.mark.parametrize(
    ("tier", "sandboxed", "expected"),
    [
        ("plan", True, "danger-full-access"),
        ("workspace", True, "danger-full-access"),
        ("full", True, "danger-full-access"),
        ("plan", False, "read-only"),
        ("workspace", False, "workspace-write"),
        ("full", False, "danger-full-access"),
    ],
)
def test_dsh_s_own_sandbox_is_off_only_inside_the_bridge_s_or_where_nothing_is_forbidden(
    tier: Tier, sandboxed: bool, expected: str
) -> None:
    assert mode(tier, sandboxed=sandboxed) == expected


@pytest.mark.parametrize("root", [True, False])
@pytest.mark.parametrize("tier", ["plan", "workspace", "full"])
def test_without_a_proof_nothing_is_claimed(tier: Tier, root: bool) -> None:
    told = unproven(tier, "no bubblewrap", root=root)
    assert told.level == "advisory"
    assert tier == "full" or "no bubblewrap" in told.why
    assert tier == "full" or ("root" in told.why) == root


@pytest.mark.parametrize(
    ("config", "holds"),
    [
        (OFF + POLICY, True),
        (POLICY, True),
        (POLICY + OFF.replace("  disabled: true\n", ""), False),
        (OFF.replace("disabled: true", "disabled: false") + POLICY, False),
        (OFF, False),
        (OFF + POLICY.replace("process.env.DSH_PERMISSION_MODE ?? ", ""), False),
        ("", False),
        ("Error: dsh: failed to read overlay", False),
    ],
)
def test_a_profile_in_which_the_mode_would_not_hold_is_noticed(config: str, holds: bool) -> None:
    assert (obeyed(config) == "") == holds


def test_the_bridge_s_patch_takes_the_sticky_row_out() -> None:
    assert PATCH.startswith("- id: permission\n  disabled: true\n")
