"""bridge-opencode: finds the program, refuses versions that don't fit, and fails turns with what is the matter."""

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from bridge_opencode.runner import OpencodeRunner, misfit
from bridge_opencode.vendor.settings import load


def stand_in(tmp_path: Path, prints: str) -> str:
    program = tmp_path / "opencode"
    program.write_text(f"#!/bin/sh\necho '{prints}'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


def runner_with(tmp_path: Path, command: str) -> OpencodeRunner:
    environ = {"AGENTMAIL_HOME": str(tmp_path), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    return OpencodeRunner(replace(load(environ, "opencode"), command=command))


@pytest.mark.parametrize(
    ("version", "fits"),
    [
        ("1.18.0", True),
        ("1.18.33", True),
        ("1.19.3", True),
        ("1.17.9", False),
        ("0.9.0", False),
        ("2.0.0", False),
        ("x", False),
    ],
)
def test_only_the_first_generation_from_its_floor_on_fits(version: str, fits: bool) -> None:
    assert (misfit(version) == "") is fits


async def test_a_fitting_opencode_is_found_and_turns_are_failed_honestly(tmp_path: Path) -> None:
    readiness = await runner_with(tmp_path, stand_in(tmp_path, "1.18.33")).check()
    assert (readiness.ready, readiness.agent_version) == (False, "1.18.33")
    assert [finding.ok for finding in readiness.findings] == [True, False]
    assert readiness.failure is not None
    assert readiness.failure.class_ == "bridge_error"
    assert "can't run turns for it yet" in readiness.failure.message


@pytest.mark.parametrize(
    ("prints", "class_"), [("2.0.1", "bad_option"), ("1.2.3", "bad_option"), ("no version", "cli_missing")]
)
async def test_one_that_does_not_fit_is_a_finding_with_its_mend(tmp_path: Path, prints: str, class_: str) -> None:
    readiness = await runner_with(tmp_path, stand_in(tmp_path, prints)).check()
    assert readiness.failure is not None
    assert readiness.failure.class_ == class_
    assert not readiness.findings[0].ok
    assert "npm install" in readiness.findings[0].mend


async def test_a_missing_opencode_is_a_finding(tmp_path: Path) -> None:
    readiness = await runner_with(tmp_path, str(tmp_path / "nothing")).check()
    assert readiness.failure is not None
    assert readiness.failure.class_ == "cli_missing"
