"""Tier to options, and what the self-check has to see refused."""

from pathlib import Path

from bridge_echo.turn_mode import PROBE_NAME, options, probe_mail


def test_the_tier_is_always_there_and_a_session_can_not_pass_for_an_option() -> None:
    assert options("plan", Path("/o"), None, None) == ["--tier=plan", "--out=/o"]
    assert options("full", Path("/o"), Path("/m"), "--tier=full")[-1] == "--session=--tier=full"
    assert options("full", Path("/o"), Path("/m"), "")[-1] == "--memory=/m"


def test_each_probe_asks_for_what_its_tier_forbids() -> None:
    assert probe_mail("plan") == f"echo: write {PROBE_NAME} x"
    assert probe_mail("workspace") == f"echo: write ../{PROBE_NAME} x"
