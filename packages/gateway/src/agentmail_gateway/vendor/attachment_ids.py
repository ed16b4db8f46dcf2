"""Attachment ids, and local file names for attachments whose labels were chosen by somebody else."""

import re
import unicodedata
from collections.abc import Sequence
from pathlib import PurePosixPath

from .plain_text import one_line

__all__ = ["AttachmentIdError", "check", "distinct_names", "is_attachment_id", "safe_name"]

_ID = re.compile(r"att_[0-9a-f]{32}")
# What has a meaning in a path, a shell pattern or a drive name on some system.
_MEANINGFUL = re.compile(r'[<>:"|?*]')
# Windows takes these for devices, whatever extension follows.
_DEVICE = re.compile(r"(?i:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?=\s*(?:\.|$))")
_FALLBACK = "attachment"
_LONGEST_EXTENSION = 20


class AttachmentIdError(ValueError):
    """A text that is no attachment id."""


def is_attachment_id(text: str) -> bool:
    """Whether `text` has the form of an attachment id: ``att_`` and 32 lower-case hex digits."""
    return _ID.fullmatch(text) is not None


def check(text: str) -> str:
    """`text`, which is an attachment id by its form. Raises `AttachmentIdError` otherwise."""
    if not is_attachment_id(text):
        raise AttachmentIdError(f"{text[:60]!r} is no attachment id; it reads att_ and 32 hex digits")
    return text


def safe_name(label: str, max_bytes: int = 180) -> str:
    """A file name for an attachment labelled `label`, at most `max_bytes` (at least 40) bytes of UTF-8.

    It is never empty, never a path or hidden, never a device of Windows, in Unicode's NFC, without control or invisible
    characters, and keeps the extension where that is short.
    """
    last = re.split(r"[/\\]", label.rstrip("/\\"))[-1]
    name = unicodedata.normalize("NFC", one_line(last, max_chars=1000))
    name = _MEANINGFUL.sub("_", name).strip(". ~-") or _FALLBACK
    if _DEVICE.match(name):
        name = f"_{name}"
    return _shortened(name, max_bytes)


def distinct_names(labels: Sequence[str], max_bytes: int = 180) -> tuple[str, ...]:
    """Safe names for attachments that go into one folder, in order, no two the same.

    They differ by more than letter case and Unicode form, as there are disks that see no difference then.
    """
    names: list[str] = []
    taken: set[str] = set()
    for label in labels:
        plain = name = safe_name(label, max_bytes)
        number = 1
        while _seen_by_disks(name) in taken:
            number += 1
            name = _numbered(plain, number, max_bytes)
        taken.add(_seen_by_disks(name))
        names.append(name)
    return tuple(names)


def _numbered(name: str, number: int, max_bytes: int) -> str:
    stem, extension = _parts(name)
    mark = f" ({number})"
    return f"{_cut(stem, max_bytes - len(f'{mark}{extension}'.encode()))}{mark}{extension}"


def _shortened(name: str, max_bytes: int) -> str:
    if len(name.encode()) <= max_bytes:
        return name
    stem, extension = _parts(name)
    return f"{_cut(stem, max_bytes - len(extension.encode()))}{extension}"


def _parts(name: str) -> tuple[str, str]:
    """`name` as stem and short extension (with its dot, or empty); ``.tar.gz`` and the like stay together."""
    path = PurePosixPath(name)
    extension = path.suffix
    if PurePosixPath(path.stem).suffix.lower() == ".tar":
        extension = PurePosixPath(path.stem).suffix + extension
    if len(extension.encode()) > _LONGEST_EXTENSION:
        return name, ""
    return name.removesuffix(extension), extension


def _cut(text: str, max_bytes: int) -> str:
    return text.encode()[:max_bytes].decode("utf-8", "ignore").rstrip(". ") or "_"


def _seen_by_disks(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
