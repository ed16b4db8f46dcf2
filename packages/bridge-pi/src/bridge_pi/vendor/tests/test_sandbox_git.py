"""What of a repository a turn may write, read from its files alone."""

from pathlib import Path

import pytest

from ..sandbox_git import GitError, layout, planted


def repository(folder: Path) -> Path:
    git = folder / ".git"
    for name in ("hooks", "objects", "refs"):
        (git / name).mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text("[core]\n")
    return git


def worktree(common: Path, tree: Path) -> Path:
    own = common / "worktrees" / tree.name
    own.mkdir(parents=True)
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {own}\n")
    (own / "commondir").write_text("../..\n")
    (own / "gitdir").write_text(f"{tree / '.git'}\n")
    return own


def test_a_folder_without_git_has_no_layout(tmp_path: Path) -> None:
    assert layout(tmp_path) is None


def test_hooks_and_configuration_lie_read_only_on_a_git_folder_of_its_own(tmp_path: Path) -> None:
    git = repository(tmp_path)
    found = layout(tmp_path)
    assert found is not None
    assert found.mounts == ((git, True), (git / "hooks", False), (git / "config", False))


def test_missing_hooks_are_made_so_that_they_can_be_mounted(tmp_path: Path) -> None:
    git = repository(tmp_path)
    (git / "hooks").rmdir()
    assert layout(tmp_path) is not None
    assert (git / "hooks").is_dir()


def test_submodules_are_guarded_too(tmp_path: Path) -> None:
    git = repository(tmp_path)
    module = git / "modules" / "lib"
    (module / "hooks").mkdir(parents=True)
    (module / "HEAD").touch()
    (module / "config").touch()
    found = layout(tmp_path)
    assert found is not None
    assert {(module / "hooks", False), (module / "config", False)} <= set(found.mounts)


@pytest.mark.parametrize("name", ["hooks", "config"])
def test_a_linked_hook_folder_or_configuration_is_refused(tmp_path: Path, name: str) -> None:
    git = repository(tmp_path)
    (git / name).rmdir() if name == "hooks" else (git / name).unlink()
    (git / name).symlink_to(tmp_path)
    with pytest.raises(GitError, match=name):
        layout(tmp_path)


def test_a_submodule_link_out_of_the_repository_is_never_mounted(tmp_path: Path) -> None:
    git = repository(tmp_path / "site")
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    module = git / "modules" / "lib"
    module.mkdir(parents=True)
    (module / "HEAD").touch()
    (module / "hooks").symlink_to(secrets)
    found = layout(tmp_path / "site")
    assert found is not None
    assert all("lib" not in path.parts for path, _ in found.mounts)


def test_a_git_link_is_refused(tmp_path: Path) -> None:
    repository(tmp_path / "elsewhere")
    (tmp_path / ".git").symlink_to(tmp_path / "elsewhere" / ".git")
    with pytest.raises(GitError, match="symbolic link"):
        layout(tmp_path)


def test_a_worktree_can_commit_and_nothing_else_of_the_repository_is_writable(tmp_path: Path) -> None:
    common = repository(tmp_path / "main")
    own = worktree(common, tmp_path / "feature")
    found = layout(tmp_path / "feature")
    assert found is not None
    assert found.mounts[0] == (common, False)
    assert {path for path, writable in found.mounts if writable} == {
        common / "objects",
        common / "refs",
        common / "logs",
        own,
    }
    assert (tmp_path / "feature" / ".git", False) in found.mounts


def test_a_planted_worktree_file_opens_no_other_repository(tmp_path: Path) -> None:
    """Only a repository that names this worktree itself is mounted."""
    common = repository(tmp_path / "private")
    own = worktree(common, tmp_path / "feature")
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    (hostile / ".git").write_text(f"gitdir: {own}\n")
    with pytest.raises(GitError, match="does not point back"):
        layout(hostile)


@pytest.mark.parametrize("text", ["", "nonsense", "gitdir: /nowhere/at/all"])
def test_a_broken_worktree_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").write_text(text)
    with pytest.raises(GitError):
        layout(tmp_path)


def test_planted_hooks_of_nested_repositories_are_seen(tmp_path: Path) -> None:
    nested = repository(tmp_path / "deep" / "repo")
    before = planted(tmp_path)
    (nested / "hooks" / "pre-commit.sample").write_text("#!/bin/sh\n")
    (nested / "hooks" / "pre-commit.sample").chmod(0o755)
    (nested / "hooks" / "post-checkout").write_text("#!/bin/sh\n")
    (nested / "hooks" / "post-checkout").chmod(0o755)
    assert before == frozenset()
    assert planted(tmp_path) == {nested / "hooks" / "post-checkout"}
