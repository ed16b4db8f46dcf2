"""The argument list: what is mounted, in which order."""

from pathlib import Path

import pytest

from ..sandbox import Bind, Confinement, Host, arguments
from ..sandbox_git import GitLayout
from ..wire import Tier

HOST = Host(Path("/usr/bin/bwrap"), links=(("bin", "usr/bin"),), folders=("lib64",))
WORKSPACE = Path("/home/ada/site")


def line(tier: Tier = "plan", **changes: object) -> list[str]:
    return arguments(Confinement(tier, WORKSPACE, **changes), HOST, ["/usr/bin/agent", "--go"])  # type: ignore[arg-type]


def has(words: list[str], *sequence: str) -> bool:
    return any(tuple(words[at : at + len(sequence)]) == sequence for at in range(len(words)))


def where(words: list[str], *sequence: str) -> int:
    return next(at for at in range(len(words)) if tuple(words[at : at + len(sequence)]) == sequence)


def test_plan_mounts_the_workspace_read_only() -> None:
    words = line("plan")
    assert has(words, "--ro-bind", str(WORKSPACE), str(WORKSPACE))
    assert not has(words, "--bind", str(WORKSPACE), str(WORKSPACE))


def test_workspace_mounts_it_writable_and_git_guarded_on_top() -> None:
    git = WORKSPACE / ".git"
    words = line("workspace", git=GitLayout(((git, True), (git / "hooks", False))))
    tree = where(words, "--bind", str(WORKSPACE), str(WORKSPACE))
    own = where(words, "--bind", str(git), str(git))
    hooks = where(words, "--ro-bind", str(git / "hooks"), str(git / "hooks"))
    assert tree < own < hooks < words.index("--remount-ro")


@pytest.mark.parametrize("tier", ["plan", "workspace", "full"])
def test_every_tier_ends_with_its_namespace(tier: Tier) -> None:
    words = line(tier)
    assert {"--unshare-pid", "--die-with-parent", "--new-session", "--disable-userns"} <= set(words)
    assert words[words.index("--") :] == ["--", "/usr/bin/agent", "--go"]


@pytest.mark.parametrize("tier", ["plan", "workspace"])
def test_a_confined_tier_holds_no_capability_and_covers_the_kernel_settings(tier: Tier) -> None:
    words = line(tier)
    assert has(words, "--cap-drop", "ALL")
    assert where(words, "--proc", "/proc") < where(words, "--ro-bind", "/proc/sys", "/proc/sys")
    assert not has(words, "--ro-bind", "/", "/")
    assert not has(words, "--bind", "/", "/")


@pytest.mark.parametrize(("network", "cut"), [("open", False), ("model", True), ("off", True)])
def test_the_network_is_cut_unless_it_is_open(network: str, cut: bool) -> None:
    assert ("--unshare-net" in line("plan", network=network)) is cut


def test_a_deeper_bind_comes_after_the_one_that_would_cover_it() -> None:
    deep, shallow = Bind(Path("/a"), "/x/y/z"), Bind(Path("/b"), "/x/y", writable=True)
    words = line("plan", binds=(deep, shallow))
    assert where(words, "--bind", "/b", "/x/y") < where(words, "--ro-bind", "/a", "/x/y/z")
