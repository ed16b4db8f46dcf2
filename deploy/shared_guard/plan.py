"""What a sync has to do: the steps from the copies as they are to the copies as they have to be. Nothing is written."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.shared_guard.baseline import Baseline
from deploy.shared_guard.manifest import BASELINE, Manifest, Record, Target
from deploy.shared_guard.selection import selection, unknown_names
from deploy.shared_guard.tree import Entry, scan, symlink_on_the_way

__all__ = ["TEMPORARY", "Plan", "Refusal", "Step", "plan", "records"]

# The ending of a file that is being written: what a killed sync left behind is nobody's edit.
TEMPORARY = ".sync-tmp"


@dataclass(frozen=True, slots=True)
class Step:
    """Bring ``path`` (relative to the checkout) to ``entry``; None removes what stands there. ``why`` is one word."""

    path: str
    entry: Entry | None
    why: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something at ``path`` that would be lost, or must not be written through; ``forced``: --force does it anyway."""

    path: str
    why: str
    forced: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """``steps`` in the order to take them; ``notes`` are worth saying and stop nothing."""

    steps: tuple[Step, ...]
    refusals: tuple[Refusal, ...]
    notes: tuple[str, ...]


def records(baseline: Baseline) -> dict[str, Record]:
    """What the manifest has to say of each file of the baseline, sorted by path."""
    files = sorted(baseline.contents.items())
    return {path: Record(hashlib.sha256(data).hexdigest(), len(data)) for path, data in files}


def plan(root: Path, manifest: Manifest, baseline: Baseline) -> Plan:
    """The way from the copies in the checkout ``root`` to what ``manifest`` and ``baseline`` ask for.

    A vendored file is refused if its content is neither in the baseline nor recorded in the manifest: then it was
    edited where it stands, and overwriting it would lose the edit. Raises SyntaxError for a baseline module that has to
    be read for its imports and doesn't parse.
    """
    known = {record.sha256 for record in [*records(baseline).values(), *manifest.files.values()]}
    known.add(hashlib.sha256(b"").hexdigest())
    items: list[Step | Refusal] = [
        Refusal(f"{BASELINE}/{path}", f"is not a regular file that can be read ({entry.form})", forced=False)
        for path, entry in baseline.unusable.items()
    ]
    notes: list[str] = []
    for target in manifest.targets:
        unknown = unknown_names(baseline.contents, target.modules)
        notes += [f"{target.path} names {name}, which {BASELINE}/ does not have" for name in unknown]
        wanted = {path: baseline.files[path] for path in sorted(selection(baseline.contents, target.modules))}
        items += _of_target(root, target, wanted, known)
    steps = tuple(item for item in items if isinstance(item, Step))
    return Plan(steps, tuple(item for item in items if isinstance(item, Refusal)), tuple(notes))


def _of_target(root: Path, target: Target, wanted: Mapping[str, Entry], known: set[str]) -> Iterator[Step | Refusal]:
    link = symlink_on_the_way(root, target.path)
    if link and link != target.path:
        yield Refusal(link, "is a symlink, nothing is written through it", forced=False)
        return
    folder = root / target.path
    if not folder.parent.is_dir():
        yield Refusal(
            folder.parent.relative_to(root).as_posix(), "does not exist: make the package first", forced=False
        )
        return
    present: dict[str, Entry] = {}
    if link or folder.is_file():
        yield Refusal(target.path, f"is a {'symlink' if link else 'file'}, not a folder")
        yield Step(target.path, None, "remove")
    elif folder.exists():
        present = scan(folder)
    kept_folders = {path for file in wanted for path in _folders_of(file)}
    folders = []
    for file, entry in present.items():
        if entry.form == "directory":
            if file not in kept_folders:
                folders.append(file)
        elif file not in wanted:
            yield from _refusal(target, file, entry, known)
            yield Step(f"{target.path}/{file}", None, "remove")
    # The deepest first; by now their files are gone.
    yield from (Step(f"{target.path}/{file}", None, "remove") for file in reversed(folders))
    for file, entry in wanted.items():
        found = present.get(file)
        if found == entry:
            continue
        if found and found.form != "directory":
            yield from _refusal(target, file, found, known)
        yield Step(f"{target.path}/{file}", entry, "update" if found else "add")


def _refusal(target: Target, file: str, found: Entry, known: set[str]) -> Iterator[Refusal]:
    path = f"{target.path}/{file}"
    match found.form:
        case "file":
            if hashlib.sha256(found.data).hexdigest() not in known and not file.endswith(TEMPORARY):
                yield Refusal(path, f"holds edits that are nowhere in {BASELINE}/")
        case "unreadable":
            yield Refusal(path, f"can't be read ({found.detail}): it may hold edits")
        case "other":
            yield Refusal(path, "is not a regular file")
        case "symlink" | "directory":
            return


def _folders_of(file: str) -> Iterator[str]:
    parts = file.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))
