"""The self-check with the real pi: what is found, what is missing, and how to mend it."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge_pi.vendor.turn import Finding, StopSignal
from bridge_pi.vendor.wire import FailureClass

from ..agents.install import agents_or_skip
from .machine import Machine, machine

pytestmark = pytest.mark.slow


@pytest.fixture
async def pi(tmp_path: Path) -> AsyncIterator[Machine]:
    async with machine(tmp_path) as made:
        yield made


def missing(findings: tuple[Finding, ...]) -> list[str]:
    assert all(finding.mend for finding in findings if not finding.ok)
    return [finding.what for finding in findings if not finding.ok]


async def test_what_is_there_is_found_and_the_sandbox_is_proven(pi: Machine) -> None:
    _, readiness = await pi.ready()
    assert readiness.ready
    assert readiness.failure is None
    assert missing(readiness.findings) == []
    assert readiness.agent_version == "1.6.0"
    assert [readiness.enforcement[tier].level for tier in ("plan", "workspace", "full")] == [
        "sandbox",
        "sandbox",
        "advisory",
    ]


async def test_pi_s_own_command_is_found_by_its_link_and_with_another_node(pi: Machine) -> None:
    found = agents_or_skip()
    bin_ = pi.root / "bin"
    bin_.mkdir()
    (bin_ / "pi").symlink_to(found.pi)
    pi.write(
        bin_ / "node", '#!/bin/sh\n[ "$1" = -e ] && echo \'{"version":"20.19.2","path":"/old/node","has":true}\'\n'
    )
    (bin_ / "node").chmod(0o755)
    pi.env |= {"AGENTMAIL_PI_COMMAND": "", "PATH": f"{bin_}:{found.node.parent}:{found.rg.parent}:/usr/bin:/bin"}
    runner, readiness = await pi.ready()
    assert readiness.ready
    assert any("24.19.0" in finding.found for finding in readiness.findings)
    assert (await pi.run("x", runner=runner))[0].failure is None


@pytest.mark.parametrize(
    ("env", "class_", "what"),
    [
        ({"AGENTMAIL_PI_COMMAND": "/nowhere/pi"}, "cli_missing", "pi"),
        ({"AGENTMAIL_PI_COMMAND": "{root}/shim"}, "cli_missing", "pi"),
        ({"AGENTMAIL_PI_COMMAND": "{root}/old-node {pi}"}, "runtime_too_old", "Node.js"),
        ({"AGENTMAIL_PI_COMMAND": "{node} {root}/old.js"}, "bad_option", "pi's version"),
        ({"AGENTMAIL_PI_COMMAND": "{node} {root}/digits.js"}, "bad_option", "pi's version"),
        ({"AGENTMAIL_PI_COMMAND": "{node} {root}/broken.js"}, "crashed", "pi's version"),
        ({"AGENTMAIL_PI_ENV": ""}, "not_signed_in", "pi's models"),
    ],
    ids=["nowhere", "shim", "old node", "old pi", "another pi", "broken pi", "no key"],
)
async def test_what_is_missing_is_named_and_mail_is_answered_with_it(
    pi: Machine, env: dict[str, str], class_: FailureClass, what: str
) -> None:
    found = agents_or_skip()
    pi.write(pi.root / "shim", "#!/bin/sh\nexec something\n").chmod(0o755)
    said = '{"version":"20.19.2","path":"/old/node","has":true}'
    pi.write(pi.root / "old-node", f"#!/bin/sh\necho '{said}'\n").chmod(0o755)
    pi.write(pi.root / "old.js", "console.log('0.73.1')")
    pi.write(pi.root / "digits.js", "console.log('3.14159')")
    pi.write(pi.root / "broken.js", "process.exit(3)")
    pi.env |= {name: text.format(root=pi.root, pi=found.pi, node=found.node) for name, text in env.items()}
    runner = pi.runner()
    readiness = await runner.check()
    assert not readiness.ready
    assert readiness.failure is not None
    assert readiness.failure.class_ == class_
    assert what in missing(readiness.findings)
    outcome = await runner.run(pi.request("x"), lambda _: None, StopSignal())
    assert outcome.failure is not None
    assert outcome.failure.class_ == class_
    assert pi.model.asked == []


async def test_without_ripgrep_turns_run_and_the_check_says_what_is_lacking(pi: Machine) -> None:
    pi.env["PATH"] = "/nowhere"
    readiness = await pi.runner().check()
    if any(finding.what == "ripgrep" for finding in readiness.findings):
        assert readiness.ready
        assert missing(readiness.findings) == ["ripgrep"]


async def test_a_login_that_has_run_out_is_told(pi: Machine) -> None:
    pi.write(pi.own / "auth.json", {"anthropic": {"type": "oauth", "access": "a", "refresh": "r", "expires": 1}})
    readiness = await pi.runner().check()
    assert "pi's logins" in missing(readiness.findings)


async def test_without_a_sandbox_pi_gets_reading_tools_only(pi: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge_pi.vendor.sandbox_guard.find_bwraps", lambda: iter(()))
    runner = pi.runner()
    readiness = await runner.check()
    assert readiness.ready
    assert readiness.enforcement["workspace"].level == "native"
    assert "sandbox" in missing(readiness.findings)
    step = {"tool": "write", "arguments": {"path": "x.txt", "content": "x"}}
    outcome = await pi.steps(step, {"text": "tried"}, tier="workspace", runner=runner)
    assert outcome.text == "tried"
    assert outcome.denied_tools == ("write",)
    assert pi.model.asked[0].tools == ("grep", "ls", "read")
    assert [path.name for path in pi.workspace.iterdir()] == ["readme"]


def test_the_command_says_all_of_it(tmp_path: Path) -> None:
    """`bridge-pi --check` on a machine without pi."""
    import subprocess

    env = {"HOME": str(tmp_path), "PATH": "/nowhere", "AGENTMAIL_STATE_DIR": str(tmp_path / "state")}
    env["AGENTMAIL_PI_COMMAND"] = "/nowhere/pi"
    done = subprocess.run([sys.executable, "-m", "bridge_pi", "--check"], env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert "missing  pi: the command that is set" in done.stdout
    assert "npm install -g @earendil-works/pi-coding-agent" in done.stdout
