"""How two contents differ. Pure."""

from deploy.shared_guard.findings import Kind

__all__ = ["content_kind", "first_differing_line"]

_BOM = b"\xef\xbb\xbf"


def content_kind(expected: bytes, found: bytes) -> Kind:
    """How ``found``, which differs from ``expected``, differs; the narrowest kind that says all of it."""
    if not found:
        return Kind.EMPTY
    if found.removeprefix(_BOM) == expected.removeprefix(_BOM):
        return Kind.BYTE_ORDER_MARK
    if found.replace(b"\r\n", b"\n") == expected.replace(b"\r\n", b"\n"):
        return Kind.LINE_ENDS
    if found.rstrip(b"\n") == expected.rstrip(b"\n"):
        return Kind.TRAILING_NEWLINE
    return Kind.TRUNCATED if expected.startswith(found) else Kind.CHANGED


def first_differing_line(expected: bytes, found: bytes) -> int:
    """The number, from 1, of the first line that is not the same; a line's end belongs to it."""
    ours, theirs = expected.splitlines(keepends=True), found.splitlines(keepends=True)
    pairs = enumerate(zip(ours, theirs, strict=False), start=1)
    return next((number for number, (one, other) in pairs if one != other), min(len(ours), len(theirs)) + 1)
