"""Which parts of a workspace's git repository a turn may write, read from the files of the repository itself.

git is never run to find out: the workspace is hostile, and its configuration can name programs that git would start.
Hooks and configuration stay read-only, because what they name would later run outside, as the person. ``.git`` becomes
a mount point of its own, so that it can't be moved aside and a new one planted in its place. A turn in a linked
worktree can commit and branch; packing references and deleting a branch need the main working tree.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["GitError", "GitLayout", "layout", "planted"]

MAX_FOLDERS = 20_000


class GitError(Exception):
    """The repository can't be protected; the message says why and how to mend it."""


@dataclass(frozen=True, slots=True)
class GitLayout:
    """Mounts in their order, each a path (the same inside and outside) and whether it is writable."""

    mounts: tuple[tuple[Path, bool], ...]


def layout(workspace: Path) -> GitLayout | None:
    """The layout of the repository whose working tree is `workspace` (a real path); None where there is none.

    Makes the ``hooks`` folder and the ``config`` file where they are missing, since only what exists can be mounted.

    Raises:
        GitError: ``.git`` is a link, or points to something that is not a repository.
    """
    entry = workspace / ".git"
    try:
        mode = entry.lstat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(mode):
        raise GitError(f"{entry} is a symbolic link: replace it by the real folder, or by a git worktree")
    if stat.S_ISDIR(mode):
        return GitLayout(((entry, True), *((path, False) for path in _protected(entry))))
    return _worktree(workspace, entry)


def _plain(path: Path, kind: int) -> bool:
    try:
        return stat.S_IFMT(path.lstat().st_mode) == kind
    except OSError:
        return False


def _protected(common: Path) -> tuple[Path, ...]:
    """Hooks and configuration of the repository and of its submodules; the two main ones are made where missing."""
    if not (common / "hooks").exists():
        (common / "hooks").mkdir()
    if not (common / "config").exists():
        (common / "config").touch()
    found = []
    for name, kind in (("hooks", stat.S_IFDIR), ("config", stat.S_IFREG)):
        if not _plain(common / name, kind):
            raise GitError(f"{common / name} is a link or of the wrong kind: mend the repository")
        found.append(common / name)
    candidates = [(common / "config.worktree", stat.S_IFREG)]
    if _plain(common / "modules", stat.S_IFDIR):
        for folder in _folders(common / "modules"):
            if _plain(folder / "HEAD", stat.S_IFREG):
                candidates += [(folder / "hooks", stat.S_IFDIR), (folder / "config", stat.S_IFREG)]
    return (*found, *(path for path, kind in candidates if _plain(path, kind)))


def _worktree(workspace: Path, entry: Path) -> GitLayout:
    """A linked worktree: its ``.git`` is a file that names its folder below the common one."""
    text = entry.read_bytes()[:4096].decode("utf-8", "replace")
    if not text.startswith("gitdir:"):
        raise GitError(f"{entry} is not a git worktree's file: mend or remove it")
    own = (workspace / text.removeprefix("gitdir:").strip()).resolve()
    try:
        common = (own / (own / "commondir").read_text().strip()).resolve()
        back = Path((own / "gitdir").read_text().strip()).resolve()
    except OSError as error:
        raise GitError(f"{entry} points to {own}, which is no worktree's folder: run `git worktree repair`") from error
    # The file is the workspace's own and so not trusted: only a repository that names this worktree itself is mounted.
    if back != entry or own.parent != common / "worktrees" or not _plain(common / "objects", stat.S_IFDIR):
        raise GitError(f"{entry} points to {own}, which does not point back: run `git worktree repair`")
    (common / "logs").mkdir(exist_ok=True)
    writable = (common / "objects", common / "refs", common / "logs", own)
    for path in writable:
        if not _plain(path, stat.S_IFDIR):
            raise GitError(f"{path} is a link or missing: mend the repository")
    config = [(path, False) for path in (own / "config.worktree",) if _plain(path, stat.S_IFREG)]
    return GitLayout(((common, False), *((path, True) for path in writable), (entry, False), *config))


def _folders(top: Path) -> Iterator[Path]:
    """`top` and every folder below it, links not followed, bounded."""
    seen = 0
    for root, names, _ in os.walk(top, followlinks=False):
        yield Path(root)
        seen += len(names)
        if seen > MAX_FOLDERS:
            return


def planted(workspace: Path) -> frozenset[Path]:
    """Executable hooks of every repository below `workspace`: compare before and after a turn to see planted ones."""
    found = set()
    for folder in _folders(workspace):
        if folder.name != "hooks" or not (folder.parent / "HEAD").exists():
            continue
        for hook in folder.iterdir():
            if not hook.name.endswith(".sample") and _plain(hook, stat.S_IFREG) and hook.lstat().st_mode & 0o111:
                found.add(hook)
    return frozenset(found)
