"""Which directory a mail's turn runs in: aliases, allowed roots, and where a path really leads.

Real paths decide, with every link resolved. The roots are resolved once, at start: a link that is put in the place of a
root later (the parent may be another turn's workspace) does not move the root along.
"""

import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from .plain_text import one_line
from .wire import Failure

__all__ = [
    "BusyDirectories",
    "Place",
    "WorkspaceError",
    "WorkspaceSettingsError",
    "Workspaces",
    "overlaps",
    "workspaces",
]

LONGEST_NAME = 4096
_ALIAS = re.compile(r"\w[\w.-]{0,63}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class WorkspaceSettingsError(ValueError):
    """Entries that can't be used as workspaces. The message says which one, why, and how to mend it."""


class WorkspaceError(Exception):
    """A turn has no directory to run in: what it asked for is unknown here, or it is gone."""

    def __init__(self, class_: Literal["workspace_unknown", "workspace_gone"], message: str, next_step: str):
        super().__init__(message)
        self.class_ = class_
        self.message = message
        self.next_step = next_step

    def failure(self) -> Failure:
        """This error as the failure of a turn."""
        return Failure(self.class_, self.message, self.next_step)


@dataclass(frozen=True, slots=True)
class Place:
    """A directory to run in.

    `name` is its only name (``site``, ``site/sub/dir``), part of the session's identity; `path` its real path; `root`
    the real path of the allowed root it lies in. `instead_of` is the thread's last workspace when that is no more and
    the default took its place: the answer says so.
    """

    name: str
    path: Path
    root: Path
    instead_of: str | None = None


@dataclass(frozen=True, slots=True)
class Workspaces:
    """The allowed roots: (alias, real path), the default first. Made by `workspaces`."""

    roots: tuple[tuple[str, Path], ...]

    @property
    def aliases(self) -> tuple[str, ...]:
        """All aliases, the default's first."""
        return tuple(alias for alias, _ in self.roots)

    def resolve(self, asked: str | None, last: str | None = None) -> Place:
        """The directory for a mail that names `asked`, in a thread whose last workspace was `last`.

        `asked` is an alias, ``alias/sub/dir`` or an absolute path inside a root; without it (None or blank) the last
        workspace counts, or the default when that is no more. Raises `WorkspaceError`.
        """
        if asked is not None and asked.strip():
            return self._place(asked.strip())
        default = self.aliases[0]
        if not last:
            return self._place(default)
        try:
            return self._place(last)
        except WorkspaceError:
            return replace(self._place(default), instead_of=last)

    def recheck(self, place: Place) -> None:
        """Raises `WorkspaceError` unless `place` still is a directory that no link has been put in front of."""
        if Path(os.path.realpath(place.path)) != place.path or not _is_directory(place.path):
            raise self._gone(place.name)

    def _place(self, name: str) -> Place:
        path = self._path(name)
        real = Path(os.path.realpath(path))
        containing = [(alias, root) for alias, root in self.roots if real.is_relative_to(root)]
        if not containing:
            # The same answer whether the path exists or not: nothing is told about what lies outside.
            raise self._unknown(
                f"The workspace {_shown(name)} leads outside of the directories this agent may work in."
            )
        alias, root = max(containing, key=lambda entry: len(entry[1].parts))
        inner = real.relative_to(root)
        if any(part.casefold() == ".git" for part in inner.parts):
            # What lies there runs outside of any turn (hooks, filters) the next time somebody uses git.
            raise self._unknown(f"The workspace {_shown(name)} lies inside a repository's own data.")
        if _CONTROL.search(str(inner)):
            raise self._unknown(f"The workspace {_shown(name)} leads to a directory whose name can't be written.")
        if not _is_directory(real):
            raise self._gone(name)
        return Place("/".join((alias, *inner.parts)), real, root)

    def _path(self, name: str) -> Path:
        """The path that `name` stands for, its links not resolved yet."""
        if len(name) > LONGEST_NAME or _CONTROL.search(name):
            raise self._unknown(f"{_shown(name)} is no workspace's name.")
        if ".." in re.split(r"[/\\]", name):
            raise self._unknown(f"The workspace {_shown(name)} holds '..', which is not followed.")
        if Path(name).is_absolute():
            return Path(name)
        alias, _, inner = name.partition("/")
        for known, root in self.roots:
            if known == _folded(alias):
                return root / inner.lstrip("/")
        raise self._unknown(f"There is no workspace {_shown(name)} at this agent.")

    def _unknown(self, message: str) -> WorkspaceError:
        return WorkspaceError("workspace_unknown", message, self._choices())

    def _gone(self, name: str) -> WorkspaceError:
        message = f"The directory of the workspace {_shown(name)} is gone, is no directory, or can't be entered."
        return WorkspaceError("workspace_gone", message, self._choices())

    def _choices(self) -> str:
        first, *others = self.aliases
        known = ", ".join((f"{first} (the default)", *others))
        return f"Send the mail again with a workspace of this agent: {known}; or a directory in one, as in {first}/sub."


def workspaces(
    entries: Sequence[tuple[str, Path]], *, home: Path, state_dir: Path, private: Iterable[Path] = ()
) -> Workspaces:
    """The workspaces of the (alias, absolute path) `entries`, the default first. Raises `WorkspaceSettingsError`.

    Refused: no entry at all, an alias that is malformed or given twice, and roots that would hand an agent more than a
    project: the file system's root, `home` or what contains it, and what contains or lies in `state_dir` or another
    `private` folder, except below ``state_dir/workspaces``. A directory that is missing is no reason to refuse: turns
    that need it fail one by one.
    """
    home, state_dir = _real(home), _real(state_dir)
    own = state_dir / "workspaces"
    closed = (state_dir, *(_real(folder) for folder in private))
    roots: dict[str, Path] = {}
    for name, path in entries:
        alias = _folded(name)
        if not _ALIAS.fullmatch(alias):
            raise _bad(name, "is no alias", "Use letters, digits, '_', '.' and '-'")
        if alias in roots:
            raise _bad(name, "is there twice, or differs only in letter case", "Give each workspace its own name")
        if not path.is_absolute() or _CONTROL.search(str(path)):
            raise _bad(name, f"{_shown(str(path))} is no absolute path that can be written", "Give an absolute path")
        root = _real(path)
        if home.is_relative_to(root):
            raise _bad(name, f"{root} is the home directory or contains it", "Name the project's own directory")
        if any(folder.is_relative_to(root) for folder in closed):
            raise _bad(name, f"{root} contains the bridge's own files", "Name a directory apart from them")
        if any(root.is_relative_to(folder) for folder in closed) and not (root != own and root.is_relative_to(own)):
            raise _bad(name, f"{root} lies among the bridge's own files", f"Only directories in {own} may")
        roots[alias] = root
    if not roots:
        raise WorkspaceSettingsError("AGENTMAIL_WORKSPACES: there is no workspace. Name one: name=/path/to/directory")
    return Workspaces(tuple(roots.items()))


def overlaps(a: Path, b: Path) -> bool:
    """Whether two real paths are one directory, or one lies in the other."""
    return a.is_relative_to(b) or b.is_relative_to(a)


class BusyDirectories:
    """Which turn works in which directory; never two in one, nor in one and in a directory inside it."""

    def __init__(self) -> None:
        self._paths: dict[str, Path] = {}

    def take(self, path: Path, turn_id: str) -> bool:
        """Note that `turn_id` works in the real `path` now; false, and nothing noted, when another is in the way."""
        if any(overlaps(path, taken) for other, taken in self._paths.items() if other != turn_id):
            return False
        self._paths[turn_id] = path
        return True

    def holder(self, path: Path) -> str | None:
        """The turn that works in `path`, above it or below it."""
        return next((turn_id for turn_id, taken in self._paths.items() if overlaps(path, taken)), None)

    def release(self, turn_id: str) -> None:
        """`turn_id` works no longer."""
        self._paths.pop(turn_id, None)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def _folded(alias: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", alias).casefold())


def _bad(name: str, problem: str, mend: str) -> WorkspaceSettingsError:
    return WorkspaceSettingsError(f"AGENTMAIL_WORKSPACES: {_shown(name)}: {problem}. {mend}")


def _shown(name: str) -> str:
    return f"'{one_line(name, 80)}'"
