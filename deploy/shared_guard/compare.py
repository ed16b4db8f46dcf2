"""The comparison itself: what differs between the baseline, its copies and the manifest.

The self-test and the real run both come through ``drift``; nothing here knows which of the two it serves.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from deploy.shared_guard.baseline import Baseline
from deploy.shared_guard.content import content_kind, first_differing_line
from deploy.shared_guard.findings import Finding, Kind, missing_or_extra
from deploy.shared_guard.manifest import BASELINE, MANIFEST, VENDOR_PATTERN, Manifest, ManifestError, Target, read
from deploy.shared_guard.selection import selection, unknown_names
from deploy.shared_guard.tree import Entry, scan, symlink_on_the_way

__all__ = ["drift"]


def drift(root: Path) -> list[Finding]:
    """Everything that is not as it has to be in the checkout ``root``, sorted; an empty list is a clean checkout."""
    return sorted(set(_all_findings(root)), key=lambda finding: (finding.path, finding.kind, finding.module))


def _all_findings(root: Path) -> Iterator[Finding]:
    try:
        baseline = Baseline.read(root)
    except OSError as error:
        yield Finding(BASELINE, Kind.BASELINE_MISSING, BASELINE, detail=_cause(error))
        return
    for file, entry in baseline.unusable.items():
        yield Finding(f"{BASELINE}/{file}", _form_kind(entry), BASELINE, file, detail=entry.detail)
    try:
        manifest = read(root)
    except (ManifestError, OSError) as error:
        detail = _cause(error) if isinstance(error, OSError) else str(error)
        yield Finding(MANIFEST, Kind.MANIFEST_INVALID, "manifest", detail=detail)
        manifest = Manifest((), {})
    else:
        yield from _manifest_drift(manifest, baseline)
    for target in manifest.targets:
        try:
            expected = selection(baseline.contents, target.modules)
        except SyntaxError as error:
            file = error.filename or ""
            yield Finding(f"{BASELINE}/{file}", Kind.DOES_NOT_PARSE, BASELINE, file, error.lineno, error.msg)
        else:
            yield from _target_drift(root, target, sorted(expected), baseline, manifest)
    yield from _unknown_targets(root, {target.path for target in manifest.targets})


def _manifest_drift(manifest: Manifest, baseline: Baseline) -> Iterator[Finding]:
    for file in sorted((manifest.files.keys() | baseline.files.keys()) - baseline.unusable.keys()):
        record, data = manifest.files.get(file), baseline.contents.get(file)
        if record is None:
            yield Finding(MANIFEST, Kind.MANIFEST_LACKS, "manifest", file)
        elif data is None:
            yield Finding(MANIFEST, Kind.MANIFEST_ONLY, "manifest", file)
        elif record.sha256 != hashlib.sha256(data).hexdigest():
            yield Finding(MANIFEST, Kind.MANIFEST_HASH, "manifest", file)
        elif record.size != len(data):
            yield Finding(MANIFEST, Kind.MANIFEST_SIZE, "manifest", file)
    for target in manifest.targets:
        for name in unknown_names(baseline.contents, target.modules):
            yield Finding(MANIFEST, Kind.NAMED_MODULE_UNKNOWN, "manifest", name, detail=f"named for {target.path}")


def _target_drift(
    root: Path, target: Target, wanted: list[str], baseline: Baseline, manifest: Manifest
) -> Iterator[Finding]:
    if link := symlink_on_the_way(root, target.path):
        yield Finding(target.path, Kind.SYMLINK, target.owner, detail=f"{link} is a symlink")
        return
    try:
        present = scan(root / target.path)
    except FileNotFoundError:
        present = {}
    except NotADirectoryError:
        yield Finding(target.path, Kind.NOT_A_FOLDER, target.owner)
        return
    except OSError as error:
        yield Finding(target.path, Kind.UNREADABLE, target.owner, detail=_cause(error))
        return
    if not any(entry.form != "directory" for entry in present.values()):
        yield Finding(target.path, Kind.TARGET_MISSING, target.owner)
        return
    extra = {file for file in _extra(present, wanted) if not baseline.is_unusable(file)}
    by_case = {file.casefold(): file for file in extra}
    for file in wanted:
        path = f"{target.path}/{file}"
        if found := present.get(file):
            yield from _file_drift(path, target.owner, file, baseline.files[file], found, manifest)
        elif blocking := _no_folder_on_the_way(present, file):
            extra.discard(blocking)
            entry = present[blocking]
            kind = Kind.NOT_A_FOLDER if entry.form == "file" else _form_kind(entry)
            yield Finding(f"{target.path}/{blocking}", kind, target.owner, blocking, detail=entry.detail)
        elif other := by_case.get(file.casefold()):
            extra.discard(other)
            yield Finding(path, Kind.RENAMED, target.owner, file, detail=f"here it is called {other}")
        else:
            yield Finding(path, missing_or_extra(file, missing=True), target.owner, file)
    for file in extra:
        kind = missing_or_extra(file, missing=False)
        yield Finding(f"{target.path}/{file}", kind, target.owner, file, detail=present[file].detail)


def _file_drift(
    path: str, owner: str, file: str, expected: Entry, found: Entry, manifest: Manifest
) -> Iterator[Finding]:
    if found.form != "file":
        yield Finding(path, _form_kind(found), owner, file, detail=found.detail)
    elif found.data != expected.data:
        record = manifest.files.get(file)
        as_written = record is not None and record.sha256 == hashlib.sha256(found.data).hexdigest()
        detail = "the baseline was edited since the last sync" if as_written else "the copy was edited"
        line = first_differing_line(expected.data, found.data)
        kind = content_kind(expected.data, found.data)
        yield Finding(path, kind, owner, file, line, detail, expected.data, found.data)
    elif found.executable != expected.executable:
        detail = "set in the copy only" if found.executable else "set in the baseline only"
        yield Finding(path, Kind.EXECUTE_BIT, owner, file, detail=detail)


def _extra(present: Mapping[str, Entry], wanted: list[str]) -> Iterator[str]:
    """What is there and not wanted; of folders only the files in them, and nothing of a folder in a file's place."""
    names = set(wanted)
    for file, entry in present.items():
        parts = file.split("/")
        inside = any("/".join(parts[:count]) in names for count in range(1, len(parts)))
        if entry.form != "directory" and file not in names and not inside:
            yield file


def _no_folder_on_the_way(present: Mapping[str, Entry], file: str) -> str | None:
    parts = file.split("/")
    folders = ("/".join(parts[:count]) for count in range(1, len(parts)))
    return next((path for path in folders if path in present and present[path].form != "directory"), None)


def _form_kind(entry: Entry) -> Kind:
    match entry.form:
        case "symlink":
            return Kind.SYMLINK
        case "directory":
            return Kind.DIRECTORY
        case "unreadable":
            return Kind.UNREADABLE
        case "file" | "other":
            return Kind.NOT_A_FILE


def _unknown_targets(root: Path, known: set[str]) -> Iterator[Finding]:
    for folder in sorted(root.glob(VENDOR_PATTERN)):
        path = folder.relative_to(root).as_posix()
        if path not in known and (folder.is_symlink() or not folder.is_dir() or _holds_something(folder)):
            yield Finding(path, Kind.TARGET_UNKNOWN, path.split("/")[1], detail=f"not named in {MANIFEST}")


def _holds_something(folder: Path) -> bool:
    try:
        return any(entry.form != "directory" for entry in scan(folder).values())
    except OSError:
        return True


def _cause(error: OSError) -> str:
    return error.strerror or str(error)
