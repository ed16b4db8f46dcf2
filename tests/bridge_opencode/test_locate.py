"""Finding opencode: the program behind npm's scripts, versions that don't fit, and whether anybody set it up."""

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from bridge_opencode.locate import look, misfit
from bridge_opencode.runner import OpencodeRunner
from bridge_opencode.vendor.settings import Settings, load


def script(path: Path, prints: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{prints}'\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def settings(tmp_path: Path, command: Path | None = None, **environ: str) -> Settings:
    home = {"AGENTMAIL_HOME": str(tmp_path / "data"), "HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    made = load({**home, **environ}, "opencode")
    return replace(made, command=None if command is None else str(command))


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


@pytest.mark.parametrize(
    ("prints", "class_", "words"),
    [
        ("2.0.1", "bad_option", "second generation"),
        ("1.2.3", "bad_option", "older than 1.18"),
        ("no version", "cli_missing", "does not start"),
    ],
)
async def test_one_that_does_not_fit_is_a_finding_with_its_mend(
    tmp_path: Path, prints: str, class_: str, words: str
) -> None:
    found = await look(settings(tmp_path, script(tmp_path / "opencode", prints)))
    assert found.installation is None
    assert found.failure is not None
    assert found.failure.class_ == class_
    assert words in found.failure.message
    assert "npm install" in found.findings[0].mend


async def test_a_missing_opencode_is_a_finding(tmp_path: Path) -> None:
    found = await look(settings(tmp_path, tmp_path / "nothing"))
    assert found.failure is not None
    assert found.failure.class_ == "cli_missing"


async def test_the_program_is_found_behind_npm_s_script(tmp_path: Path) -> None:
    """npm without scripts leaves a stub that only says so; a signal must reach the program, not a shell before it."""
    modules = tmp_path / "lib" / "node_modules"
    real = script(modules / "opencode-linux-x64" / "bin" / "opencode", "1.18.33")
    with real.open("ab") as file:
        file.truncate(1 << 21)
    stub = script(modules / "opencode-ai" / "bin" / "opencode", "postinstall script was not run")
    link = tmp_path / "bin" / "opencode"
    link.parent.mkdir()
    link.symlink_to(stub)
    found = await look(settings(tmp_path, link, AGENTMAIL_OPENCODE_MODEL="fake/x"))
    assert found.installation is not None
    assert found.installation.command == (str(real.resolve()),)
    assert found.version == "1.18.33"
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("files", "environ", "ready"),
    [
        ((), {}, False),
        ((".config/opencode/opencode.json",), {}, True),
        ((".config/opencode/opencode.jsonc",), {}, True),
        ((".local/share/opencode/auth.json",), {}, True),
        ((), {"AGENTMAIL_OPENCODE_ENV": "SOME_KEY", "SOME_KEY": "k"}, True),
        ((), {"AGENTMAIL_OPENCODE_ENV": "SOME_KEY"}, False),
        ((), {"AGENTMAIL_OPENCODE_MODEL": "opencode/big-pickle"}, True),
    ],
)
async def test_one_that_nobody_set_up_is_not_signed_in(
    tmp_path: Path, files: tuple[str, ...], environ: dict[str, str], ready: bool
) -> None:
    for name in files:
        path = tmp_path / "home" / name
        path.parent.mkdir(parents=True)
        path.write_text("{}")
    found = await look(settings(tmp_path, script(tmp_path / "opencode", "1.18.33"), **environ))
    assert (found.failure is None) is ready
    if found.failure is not None:
        assert found.failure.class_ == "not_signed_in"


async def test_a_network_of_its_own_is_refused_with_a_reason(tmp_path: Path) -> None:
    command = script(tmp_path / "opencode", "1.18.33")
    runner = OpencodeRunner(settings(tmp_path, command, AGENTMAIL_OPENCODE_MODEL="a/b", AGENTMAIL_NETWORK="off"))
    readiness = await runner.check()
    assert not readiness.ready
    assert readiness.failure is not None
    assert "AGENTMAIL_NETWORK" in readiness.failure.next_step
