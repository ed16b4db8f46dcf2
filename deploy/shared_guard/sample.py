"""A small checkout in a temporary folder, with copies of this one's baseline, for the self-test to damage."""

import hashlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.shared_guard.manifest import BASELINE, MANIFEST
from deploy.shared_guard.selection import selection

__all__ = ["LONG", "PART", "SHORT", "WHOLE", "Sample"]

WHOLE = "packages/sample-whole/src/sample_whole/vendor"
PART = "packages/sample-part/src/sample_part/vendor"
# More than a mebibyte: longer than the first block of any reader in use.
LONG = "guard_sample_long.py"
SHORT = "guard_sample_short.py"
_MADE_UP = {
    "__init__.py": b'"""The baseline."""\n',
    LONG: b"from . import guard_sample_short\n" + b"# The same line many times, so that the file is long.\n" * 20_000,
    SHORT: b'"""Imported by the long one, and by nothing else."""\n\nWORD = "short"\n',
    "tests/__init__.py": b"",
    "tests/test_guard_sample_long.py": b"from .. import guard_sample_long\n",
    "tests/test_guard_sample_short.py": b"from ..guard_sample_short import WORD\n",
}
_SOME = 4
_STAMP = 1_700_000_000_000_000_000
_OTHER_STAMP = 1_600_000_000_000_000_000


@dataclass(frozen=True, slots=True)
class Sample:
    """``root`` has a baseline, one target that takes all of it and one that takes the long module by name.

    ``files`` are all regular files by path below ``root``, as they are in the clean state. ``module`` and ``test`` are
    a module and a test inside the baseline to be damaged: real ones where the checkout has any.
    """

    root: Path
    files: Mapping[str, bytes]
    module: str
    test: str

    @classmethod
    def build(cls, root: Path, material: Mapping[str, bytes]) -> "Sample":
        """Write the clean sample to the empty folder ``root``; ``material`` is the real baseline by path inside it."""
        usable = _real_files(material)
        baseline = {**usable, **_MADE_UP}
        part = selection(baseline, [LONG.removesuffix(".py")])
        files = {f"{BASELINE}/{path}": data for path, data in baseline.items()}
        files.update({f"{WHOLE}/{path}": data for path, data in baseline.items()})
        files.update({f"{PART}/{path}": baseline[path] for path in part})
        files[MANIFEST] = _manifest(baseline)
        module = min((path for path in usable if "/" not in path), default=SHORT)
        test = min((path for path in usable if "/" in path), default=f"tests/test_{SHORT}")
        sample = cls(root, files, module, test)
        for path in files:
            sample.write(path)
        return sample

    def write(self, path: str) -> None:
        """Write one file in its clean state: the part with an older time stamp than the rest."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(self.files[path])
        file.chmod(0o644)
        stamp = _OTHER_STAMP if path.startswith(PART) else _STAMP
        os.utime(file, ns=(stamp, stamp))

    def undo(self, path: str, also: str = "") -> None:
        """Bring everything at and below both places back to the clean state."""
        # `path` comes last: on a case-insensitive disk, where both may be names of one file, it is the name that stays.
        for place in filter(None, (also, path)):
            at = self.root / place
            if at.is_dir() and not at.is_symlink():
                shutil.rmtree(at)
            else:
                at.unlink(missing_ok=True)
            for file in self.files:
                if file == place or file.startswith(place + "/"):
                    self.write(file)


def _real_files(material: Mapping[str, bytes]) -> dict[str, bytes]:
    """Some modules and some tests: enough to stand for all, few enough to be compared once per mutation."""
    usable = [path for path in sorted(material) if _can_be_damaged(path, material[path])]
    modules = [path for path in usable if "/" not in path and path != "__init__.py"]
    tests = [path for path in usable if path.startswith("tests/test_")]
    return {path: material[path] for path in modules[:_SOME] + tests[:_SOME]}


def _can_be_damaged(path: str, data: bytes) -> bool:
    """Whether each mutation would change it, and into nothing but itself: some lines with plain line ends."""
    return (
        path.endswith(".py")
        and data.count(b"\n") > 4
        and b"\r" not in data
        and data.endswith(b"\n")
        and not data.endswith(b"\n\n")
    )


def _manifest(baseline: Mapping[str, bytes]) -> bytes:
    lines = [
        f'[[target]]\npath = "{WHOLE}"\nmodules = "all"\n',
        f'[[target]]\npath = "{PART}"\nmodules = ["{LONG.removesuffix(".py")}"]\n',
    ]
    for path, data in sorted(baseline.items()):
        lines.append(f'[files."{path}"]\nsha256 = "{hashlib.sha256(data).hexdigest()}"\nsize = {len(data)}\n')
    return "\n".join(lines).encode()
