"""The probe notices each protection that is taken away, with the real bubblewrap of this machine."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ..sandbox import Confinement, Host
from ..sandbox_git import layout
from ..sandbox_guard import prove
from ..sandbox_host import find_bwraps, host
from ..sandbox_probe import CHECKS, probe
from ..wire import Tier

Edit = Callable[[list[str]], list[str]]


@pytest.fixture
async def machine(tmp_path: Path) -> Host:
    proof = await prove(tmp_path / "probe", confine)
    if proof.host is not None:
        return proof.host
    if os.environ.get("AGENTMAIL_TESTS_REQUIRE_ALL"):
        pytest.fail(proof.seen["plan"].why)
    pytest.skip(proof.seen["plan"].why)


def confine(tier: Tier, workspace: Path) -> Confinement:
    return Confinement(tier, workspace, git=layout(workspace))


def without(*words: str, instead: tuple[str, ...] = ()) -> Edit:
    def edit(line: list[str]) -> list[str]:
        for at in range(len(line)):
            if tuple(line[at : at + len(words)]) == words:
                return [*line[:at], *instead, *line[at + len(words) :]]
        raise AssertionError(f"{words} is not in the arguments")

    return edit


def writable_workspace(line: list[str]) -> list[str]:
    at = next(i for i, word in enumerate(line) if word == "--ro-bind" and line[i + 1].endswith("/workspace"))
    return [*line[:at], "--bind", *line[at + 1 :]]


def whole_disk(line: list[str]) -> list[str]:
    everything = ["--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc"]
    return [line[0], *everything, *line[line.index("--chdir") :]]


@pytest.mark.parametrize("tier", ["plan", "workspace"])
async def test_everything_forbidden_is_refused(machine: Host, tmp_path: Path, tier: Tier) -> None:
    seen = await probe(tmp_path / "probe", machine, lambda workspace: confine(tier, workspace))
    assert seen.holds, seen.why


@pytest.mark.parametrize(
    ("tier", "edit", "noticed"),
    [
        ("plan", without("--unshare-pid"), {"signal-outside", "see-outside", "leave-behind"}),
        ("plan", without("--cap-drop", "ALL"), {"capabilities"}),
        ("plan", without("--disable-userns"), {"own-namespace"}),
        ("plan", without("--remount-ro", "/"), {"write-nowhere"}),
        ("plan", writable_workspace, {"write-workspace", "git-hooks", "git-moved"}),
        ("workspace", whole_disk, {"write-outside", "read-secret", "signal-outside", "git-hooks", "leave-behind"}),
    ],
    ids=[
        "process namespace",
        "capabilities",
        "user namespaces",
        "read-only root",
        "read-only workspace",
        "file system",
    ],
)
async def test_a_protection_that_is_off_is_noticed(
    machine: Host, tmp_path: Path, tier: Tier, edit: Edit, noticed: set[str]
) -> None:
    seen = await probe(tmp_path / "probe", machine, lambda workspace: confine(tier, workspace), edit)
    expected = noticed if os.geteuid() == 0 else noticed - {"capabilities"}
    assert expected <= set(seen.failed), seen.why


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may open the kernel's settings at all")
async def test_open_kernel_settings_are_noticed(machine: Host, tmp_path: Path) -> None:
    edit = without("--ro-bind", "/proc/sys", "/proc/sys")
    seen = await probe(tmp_path / "probe", machine, lambda workspace: confine("plan", workspace), edit)
    assert seen.failed == ("kernel-settings",)


async def test_a_network_that_is_shared_in_spite_of_the_setting_is_noticed(machine: Host, tmp_path: Path) -> None:
    def closed(workspace: Path) -> Confinement:
        return Confinement("plan", workspace, network="model")

    assert (await probe(tmp_path / "probe", machine, closed)).holds
    seen = await probe(tmp_path / "probe", machine, closed, without("--unshare-net"))
    assert seen.failed == ("own-network",)


async def test_unguarded_git_is_noticed(machine: Host, tmp_path: Path) -> None:
    seen = await probe(tmp_path / "probe", machine, lambda workspace: Confinement("workspace", workspace))
    assert set(seen.failed) == {"git-hooks", "git-moved"}


async def test_a_bubblewrap_that_only_runs_the_command_proves_nothing(tmp_path: Path) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
    fake.chmod(0o755)
    proof = await prove(tmp_path / "probe", confine, [fake])
    assert proof.host is None
    assert proof.seen["plan"].level == "advisory"
    assert CHECKS["read-secret"] in proof.seen["plan"].why


async def test_a_bubblewrap_that_says_it_succeeded_without_running_is_not_believed(tmp_path: Path) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\nexit 0\n")
    fake.chmod(0o755)
    proof = await prove(tmp_path / "probe", confine, [fake, tmp_path / "missing"])
    assert proof.host is None
    assert "without a word" in proof.seen["workspace"].why
    assert "missing" in proof.seen["workspace"].why


def test_only_real_programs_are_offered() -> None:
    assert all(path.exists() and host(path).bwrap == path for path in find_bwraps())
