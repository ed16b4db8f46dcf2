"""The manifest: which folders carry a copy of the baseline, and what the baseline was when they were last written."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["BASELINE", "MANIFEST", "VENDOR_PATTERN", "Manifest", "ManifestError", "Record", "Target", "parse", "read"]

BASELINE = "shared"
MANIFEST = "deploy/shared_manifest.toml"
VENDOR_PATTERN = "packages/*/src/*/vendor"
_TARGET_PATH = re.compile(r"packages/([a-z0-9][a-z0-9-]*)/src/[a-z0-9_]+/vendor", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


class ManifestError(ValueError):
    """The manifest isn't what it has to be; the message says where."""


@dataclass(frozen=True, slots=True)
class Target:
    """A folder with a copy. ``modules`` are the named modules without ``.py``; None means all of the baseline."""

    path: str
    modules: tuple[str, ...] | None

    @property
    def owner(self) -> str:
        """The package that carries the copy: ``bridge-zcode``."""
        return self.path.split("/")[1]


@dataclass(frozen=True, slots=True)
class Record:
    """A file of the baseline as it was when the copies were last written; ``size`` in bytes."""

    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """``files`` has the path inside the baseline as its key: ``tests/test_wire.py``."""

    targets: tuple[Target, ...]
    files: Mapping[str, Record]


def read(root: Path) -> Manifest:
    """The manifest of the checkout ``root``. Raises OSError, or ManifestError naming the entry that is wrong."""
    path = root / MANIFEST
    if path.is_symlink():
        raise ManifestError("it is a symlink")
    return parse(path.read_bytes())


def parse(text: bytes) -> Manifest:
    """The manifest from its TOML bytes. Raises ManifestError naming the entry that is wrong."""
    try:
        document = tomllib.loads(text.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ManifestError(f"not TOML: {error}") from None
    if strange := sorted(document.keys() - {"target", "files"}):
        raise ManifestError(f"unknown entry {strange[0]!r}")
    targets, files = document.get("target", []), document.get("files", {})
    if not isinstance(targets, list) or not targets:
        raise ManifestError("target has to be a list with at least one entry")
    if not isinstance(files, dict):
        raise ManifestError("files has to be a table")
    parsed = tuple(_target(entry) for entry in targets)
    paths = [target.path for target in parsed]
    if twice := [path for path in paths if paths.count(path) > 1]:
        raise ManifestError(f"target {twice[0]!r} is named twice")
    return Manifest(parsed, {path: _record(path, entry) for path, entry in files.items()})


def _target(entry: Any) -> Target:
    if not isinstance(entry, dict) or entry.keys() != {"path", "modules"}:
        raise ManifestError("each target has exactly a path and modules")
    path, modules = entry["path"], entry["modules"]
    if not isinstance(path, str) or not _TARGET_PATH.fullmatch(path):
        raise ManifestError(f"target path {path!r} is not of the form {VENDOR_PATTERN}")
    if modules == "all":
        return Target(path, None)
    if not isinstance(modules, list) or not modules or not all(isinstance(name, str) for name in modules):
        raise ManifestError(f'modules of {path} have to be "all" or a list of module names')
    return Target(path, tuple(modules))


def _record(path: str, entry: Any) -> Record:
    if not isinstance(entry, dict) or entry.keys() != {"sha256", "size"}:
        raise ManifestError(f"files.{path!r} has exactly a sha256 and a size")
    sha256, size = entry["sha256"], entry["size"]
    if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise ManifestError(f"files.{path!r}: sha256 is not 64 lower-case hex digits")
    if type(size) is not int or size < 0:
        raise ManifestError(f"files.{path!r}: size is not a number of bytes")
    return Record(sha256, size)
