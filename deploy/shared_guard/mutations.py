"""The ways in which a copy can go wrong, each made on purpose in a sample."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from deploy.shared_guard.findings import Kind
from deploy.shared_guard.manifest import BASELINE, MANIFEST
from deploy.shared_guard.sample import LONG, PART, SHORT, WHOLE, Sample

__all__ = ["CannotMakeError", "Mutation", "mutations"]


class CannotMakeError(Exception):
    """This system can't bring about the mutation; the message says why."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """``make`` damages the sample at ``path``; the comparison then has to report just that path as ``kind``.

    ``module`` is the file that the finding names where the path is the manifest. ``also`` is a further place to restore
    afterwards. Only where ``may_skip`` is set is the system allowed not to make it.
    """

    name: str
    path: str
    kind: Kind
    make: Callable[[Path], object]
    module: str = ""
    also: str = ""
    may_skip: bool = False


def mutations(sample: Sample) -> Iterator[Mutation]:
    """All mutations of ``sample``; each takes the clean sample and has to be undone before the next one."""
    yield from _contents(sample)
    yield from _presence(sample)
    yield from _forms(sample)
    yield from _of_the_manifest(sample)
    yield from _of_targets(sample)


def _contents(sample: Sample) -> Iterator[Mutation]:
    module, test, part = f"{WHOLE}/{sample.module}", f"{WHOLE}/{sample.test}", f"{PART}/{SHORT}"
    for what, path in {"a module": module, "a long module": f"{WHOLE}/{LONG}"}.items():
        yield Mutation(f"one byte changed at the start of {what}", path, Kind.CHANGED, _flip(0.0))
        yield Mutation(f"one byte changed in the middle of {what}", path, Kind.CHANGED, _flip(0.5))
        yield Mutation(f"one byte changed at the end of {what}", path, Kind.CHANGED, _flip(1.0))
        yield Mutation(f"same size and same time stamp in {what}", path, Kind.CHANGED, _flip(0.5, keep_time=True))
        yield Mutation(f"{what} truncated", path, Kind.TRUNCATED, _edit(lambda data: data[: len(data) * 2 // 3]))
    yield Mutation("one byte changed in a test", test, Kind.CHANGED, _flip(0.5))
    yield Mutation("one byte changed in a target of named modules", part, Kind.CHANGED, _flip(0.5))
    yield Mutation("empty file", module, Kind.EMPTY, _edit(lambda _: b""))
    yield Mutation("trailing newline added", module, Kind.TRAILING_NEWLINE, _edit(lambda data: data + b"\n"))
    yield Mutation("trailing newline removed", module, Kind.TRAILING_NEWLINE, _edit(lambda data: data[:-1]))
    yield Mutation("CRLF line ends", module, Kind.LINE_ENDS, _edit(lambda data: data.replace(b"\n", b"\r\n")))
    yield Mutation("byte order mark", module, Kind.BYTE_ORDER_MARK, _edit(lambda data: b"\xef\xbb\xbf" + data))


def _presence(sample: Sample) -> Iterator[Mutation]:
    yield Mutation("missing file", f"{WHOLE}/{sample.module}", Kind.MISSING_MODULE, Path.unlink)
    yield Mutation("missing test", f"{WHOLE}/{sample.test}", Kind.MISSING_TEST, Path.unlink)
    yield Mutation("missing import of a named module", f"{PART}/{SHORT}", Kind.MISSING_MODULE, Path.unlink)
    yield Mutation("extra file", f"{WHOLE}/guard_sample_notes.txt", Kind.EXTRA_FILE, _create)
    yield Mutation("extra module", f"{WHOLE}/guard_sample_extra.py", Kind.EXTRA_MODULE, _create)
    yield Mutation("extra test", f"{WHOLE}/tests/test_guard_sample_extra.py", Kind.EXTRA_TEST, _create)
    folder = f"{PART}/guard_sample_folder"
    yield Mutation("extra file in a folder", f"{folder}/notes.txt", Kind.EXTRA_FILE, _create, also=folder)


def _forms(sample: Sample) -> Iterator[Mutation]:
    path = f"{WHOLE}/{sample.module}"
    right, elsewhere = sample.root / BASELINE / sample.module, sample.root / BASELINE / LONG
    yield Mutation("symlink to the right content", path, Kind.SYMLINK, _link_to(right))
    yield Mutation("symlink elsewhere", path, Kind.SYMLINK, _link_to(elsewhere))
    yield Mutation("directory in place of a file", path, Kind.DIRECTORY, _directory)
    yield Mutation("execute bit", path, Kind.EXECUTE_BIT, lambda file: file.chmod(0o755))
    yield Mutation("file that can't be read", path, Kind.UNREADABLE, _make_unreadable, may_skip=True)
    renamed = sample.module.removesuffix(".py").swapcase() + ".py"
    rename = _rename_to(renamed)
    yield Mutation("renamed by case", path, Kind.RENAMED, rename, also=f"{WHOLE}/{renamed}", may_skip=True)


def _of_the_manifest(sample: Sample) -> Iterator[Mutation]:
    file, gone = sample.module, "guard_sample_gone.py"
    entry = rf'(?s)\[files\."{re.escape(file)}"\]\nsha256 = "(.{{8}})(.{{56}})"\nsize = (\d+)\n'

    def edited(by: str) -> Callable[[Path], object]:
        return _edit(lambda data: re.sub(entry, by, data.decode()).encode())

    hash_edit = edited(rf'[files."{file}"]\nsha256 = "00000000\2"\nsize = \3\n')
    size_edit = edited(rf'[files."{file}"]\nsha256 = "\1\2"\nsize = 1\3\n')
    stranger = f'[files."{gone}"]\nsha256 = "{"0" * 64}"\nsize = 1\n'.encode()
    yield Mutation("manifest hash edited", MANIFEST, Kind.MANIFEST_HASH, hash_edit, file)
    yield Mutation("manifest size edited", MANIFEST, Kind.MANIFEST_SIZE, size_edit, file)
    yield Mutation("manifest entry removed", MANIFEST, Kind.MANIFEST_LACKS, edited(""), file)
    yield Mutation("manifest entry added", MANIFEST, Kind.MANIFEST_ONLY, _edit(lambda data: data + stranger), gone)


def _of_targets(sample: Sample) -> Iterator[Mutation]:
    yield Mutation("a target missing whole", WHOLE, Kind.TARGET_MISSING, shutil.rmtree)
    yield Mutation("a target of named modules missing whole", PART, Kind.TARGET_MISSING, shutil.rmtree)
    yield Mutation("a target that is a symlink", WHOLE, Kind.SYMLINK, _link_to(sample.root / BASELINE))
    stray = "packages/sample-stray/src/sample_stray/vendor"
    yield Mutation("a target the manifest doesn't name", stray, Kind.TARGET_UNKNOWN, lambda at: _create(at / "a.py"))


def _edit(change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(change(path.read_bytes()))


def _flip(where: float, *, keep_time: bool = False) -> Callable[[Path], object]:
    """Change one bit of one byte, in place: ``where`` is 0 for the first and 1 for the last."""

    def make(path: Path) -> None:
        stamp = path.stat().st_mtime_ns
        with path.open("r+b") as file:
            at = int((path.stat().st_size - 1) * where)
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 1]))
        if keep_time:
            os.utime(path, ns=(stamp, stamp))

    return make


def _create(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"WORD = 1\n")


def _link_to(target: Path) -> Callable[[Path], object]:
    def make(path: Path) -> None:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
        path.symlink_to(target)

    return make


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inside.py").write_bytes(b"WORD = 1\n")


def _make_unreadable(path: Path) -> None:
    path.chmod(0)
    try:
        path.read_bytes()
    except PermissionError:
        return
    raise CannotMakeError("this user reads every file")


def _rename_to(name: str) -> Callable[[Path], object]:
    def make(path: Path) -> None:
        path.rename(path.with_name(name))
        if name not in {file.name for file in path.parent.iterdir()}:
            raise CannotMakeError("this disk doesn't keep the case of names")

    return make
