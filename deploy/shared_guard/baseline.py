"""The baseline as it stands in a checkout."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from deploy.shared_guard.manifest import BASELINE
from deploy.shared_guard.tree import Entry, scan, symlink_on_the_way

__all__ = ["Baseline"]


@dataclass(frozen=True)
class Baseline:
    """``files`` can be copied; ``unusable`` (symlinks, unreadable files, devices) can't. Keys are paths inside it."""

    files: dict[str, Entry]
    unusable: dict[str, Entry]

    @classmethod
    def read(cls, root: Path) -> "Baseline":
        """The baseline of the checkout ``root``. Raises OSError if there is none."""
        if symlink_on_the_way(root, BASELINE):
            raise OSError(f"{BASELINE} is a symlink")
        entries = scan(root / BASELINE)
        files = {file: entry for file, entry in entries.items() if entry.form == "file"}
        if not files:
            raise FileNotFoundError(f"{BASELINE} holds no file")
        unusable = {file: entry for file, entry in entries.items() if entry.form not in ("file", "directory")}
        return cls(files, unusable)

    @cached_property
    def contents(self) -> dict[str, bytes]:
        """The bytes of each file."""
        return {file: entry.data for file, entry in self.files.items()}

    def is_unusable(self, file: str) -> bool:
        """Whether nothing can be said about this path, because the baseline has no usable file there."""
        return any(file == path or file.startswith(path + "/") for path in self.unusable)
