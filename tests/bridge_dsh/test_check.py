"""The self-check with the real dsh: what is found, what is missing, and how to mend it."""

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge_dsh.vendor.turn import Finding, StopSignal
from bridge_dsh.vendor.wire import FailureClass

from .machine import Machine, machine

pytestmark = pytest.mark.slow


@pytest.fixture
async def dsh(tmp_path: Path) -> AsyncIterator[Machine]:
    async with machine(tmp_path) as made:
        yield made


def missing(findings: tuple[Finding, ...]) -> list[str]:
    assert all(finding.mend for finding in findings if not finding.ok)
    return [finding.what for finding in findings if not finding.ok]


async def test_what_is_there_is_found_and_the_sandbox_is_proven(dsh: Machine) -> None:
    _, readiness = await dsh.ready()
    assert readiness.ready
    assert missing(readiness.findings) == []
    assert readiness.agent_version == "0.2.1-rc.2"
    levels = [readiness.enforcement[tier].level for tier in ("plan", "workspace", "full")]
    assert levels == ["sandbox", "sandbox", "advisory"]
    # The program itself, not the script that starts it: a signal has to reach it.
    assert "deepseek-harness-sdk-runtime" in readiness.findings[0].found


async def test_another_program_of_the_same_name_is_passed_over(dsh: Machine) -> None:
    """Debian has a distributed shell of that name."""
    own = Path(dsh.env["AGENTMAIL_DSH_COMMAND"]).parent
    debian = dsh.write(dsh.root / "bin" / "dsh", "#!/bin/sh\necho 'dsh: distributed shell'\n")
    debian.chmod(0o755)
    dsh.env |= {"AGENTMAIL_DSH_COMMAND": "", "PATH": f"{debian.parent}:{own}:/usr/bin:/bin"}
    readiness = await dsh.runner().check()
    assert readiness.ready
    assert str(debian) not in readiness.findings[0].found


UNHARMED = (
    "#!/bin/sh\ncase \"$*\" in *dump-config*) echo '{config}';; *headless*) echo '{flags}';; *) echo '{name}';; esac\n"
)
OBEYS = "- id: sandbox-policy\n  config:\n    mode: !!js process.env.DSH_PERMISSION_MODE\n"
FLAGS = "--json --session-id"


@pytest.mark.parametrize(
    ("name", "flags", "config", "class_", "what"),
    [
        ("dsh: distributed shell 0.25", FLAGS, OBEYS, "cli_missing", "DeepSeek Harness"),
        ("DeepSeek Harness 0.1.5", "-h", OBEYS, "bad_option", "dsh's version"),
        ("DeepSeek Harness 0.3.0", FLAGS, "- id: other", "bad_option", "dsh's permission mode"),
    ],
)
async def test_a_dsh_that_does_not_fit_runs_no_turn(
    dsh: Machine, name: str, flags: str, config: str, class_: FailureClass, what: str
) -> None:
    program = dsh.write(dsh.root / "deepseek-dsh", UNHARMED.format(name=name, flags=flags, config=config))
    program.chmod(0o755)
    dsh.env["AGENTMAIL_DSH_COMMAND"] = str(program)
    runner = dsh.runner()
    readiness = await runner.check()
    assert not readiness.ready
    assert readiness.failure is not None
    assert readiness.failure.class_ == class_
    assert missing(readiness.findings)[0] == what
    outcome = await runner.run(dsh.request("x"), lambda _: None, StopSignal())
    assert outcome.failure is not None
    assert outcome.failure.class_ == class_


async def test_a_patch_of_the_user_s_that_undoes_the_tiers_is_noticed(dsh: Machine) -> None:
    policy = (
        "- id: sandbox-policy\n  name: '@deepseek-ai/dsh-sandbox-policy'\n  config:\n    mode: danger-full-access\n"
    )
    dsh.write(dsh.root / "quick.yml", policy)
    readiness = await dsh.runner().check()
    assert not readiness.ready
    assert missing(readiness.findings)[0] == "dsh's permission mode"


async def test_a_patch_that_is_not_there_is_named(dsh: Machine) -> None:
    dsh.env["AGENTMAIL_DSH_PATCH"] = "/nowhere.yml"
    readiness = await dsh.runner().check()
    assert not readiness.ready
    assert any("/nowhere.yml" in finding.found for finding in readiness.findings)


async def test_a_missing_key_is_named(dsh: Machine) -> None:
    dsh.env["DEEPSEEK_API_KEY"] = ""
    readiness = await dsh.runner().check()
    assert not readiness.ready
    assert readiness.failure is not None
    assert readiness.failure.class_ == "not_signed_in"
    assert missing(readiness.findings)[0] == "dsh's key"


async def test_without_a_sandbox_nothing_is_claimed(dsh: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge_dsh.vendor.sandbox_guard.find_bwraps", lambda: iter(()))
    monkeypatch.setattr("bridge_dsh.runner.os.geteuid", lambda: 0)
    readiness = await dsh.runner().check()
    assert readiness.ready
    assert [readiness.enforcement[tier].level for tier in ("plan", "workspace")] == ["advisory", "advisory"]
    assert "root" in readiness.enforcement["plan"].why


def test_the_command_says_all_of_it(tmp_path: Path) -> None:
    """`bridge-dsh --check` on a machine without dsh."""
    env = {"HOME": str(tmp_path), "PATH": "/nowhere", "AGENTMAIL_STATE_DIR": str(tmp_path / "state")}
    env["AGENTMAIL_DSH_COMMAND"] = "/nowhere/dsh"
    done = subprocess.run([sys.executable, "-m", "bridge_dsh", "--check"], env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert "missing  dsh: the command that is set" in done.stdout
    assert "deepseek-harness-runtime-bin" in done.stdout
