"""What can be wrong with a copy of a shared module: a closed set of kinds, and one finding per file."""

from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["Finding", "Kind", "missing_or_extra"]


class Kind(StrEnum):
    """The value is the stable word in the text and JSON output."""

    CHANGED = "changed"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    TRAILING_NEWLINE = "trailing-newline"
    LINE_ENDS = "line-ends"
    BYTE_ORDER_MARK = "byte-order-mark"
    MISSING_MODULE = "missing-module"
    MISSING_TEST = "missing-test"
    MISSING_FILE = "missing-file"
    EXTRA_MODULE = "extra-module"
    EXTRA_TEST = "extra-test"
    EXTRA_FILE = "extra-file"
    RENAMED = "renamed-by-case"
    SYMLINK = "symlink"
    DIRECTORY = "directory"
    NOT_A_FILE = "not-a-file"
    NOT_A_FOLDER = "not-a-folder"
    EXECUTE_BIT = "execute-bit"
    UNREADABLE = "unreadable"
    DOES_NOT_PARSE = "does-not-parse"
    BASELINE_MISSING = "baseline-missing"
    TARGET_MISSING = "target-missing"
    TARGET_UNKNOWN = "target-unknown"
    MANIFEST_INVALID = "manifest-invalid"
    MANIFEST_HASH = "manifest-hash"
    MANIFEST_SIZE = "manifest-size"
    MANIFEST_LACKS = "manifest-lacks"
    MANIFEST_ONLY = "manifest-only"
    NAMED_MODULE_UNKNOWN = "named-module-unknown"


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One file that is not what it has to be.

    ``path`` is relative to the checkout, with ``/``; ``owner`` is the package that carries the copy, or ``shared`` or
    ``manifest``; ``module`` is the file inside the copy (``tests/test_wire.py``), empty where a whole copy is meant;
    ``line`` counts from 1. ``expected`` and ``found`` are the bytes to show as a difference, where there are two.
    """

    path: str
    kind: Kind
    owner: str
    module: str = ""
    line: int | None = None
    detail: str = ""
    expected: bytes | None = field(default=None, compare=False, repr=False)
    found: bytes | None = field(default=None, compare=False, repr=False)


def missing_or_extra(file: str, *, missing: bool) -> Kind:
    """The kind for a file that lacks its counterpart: modules, their tests and other files are told apart."""
    if file.startswith("tests/"):
        return Kind.MISSING_TEST if missing else Kind.EXTRA_TEST
    if file.endswith(".py"):
        return Kind.MISSING_MODULE if missing else Kind.EXTRA_MODULE
    return Kind.MISSING_FILE if missing else Kind.EXTRA_FILE
