"""Text of unknown origin made fit to be shown: no control characters, nothing that hides or reorders what is read."""

import re

from .bounded import encodable

__all__ = ["one_line", "printable"]

# C0 and C1 controls except newline and tab.
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
# Unicode's tag block is invisible and read by language models all the same.
_TAGS = "\U000e0000-\U000e007f"
# Marks, embeddings, overrides and isolates of the bidirectional algorithm.
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
# Fillers, blanks and signs without a width; not the two joiners, which scripts and emoji are written with.
_HIDDEN = "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\ufff9-\ufffb"

_NOT_PRINTABLE = re.compile(f"[{_CONTROLS}{_TAGS}]")
_NOT_IN_A_LINE = re.compile(f"[{_CONTROLS}{_TAGS}{_BIDI}{_HIDDEN}]")
_LINE_ENDS = re.compile("\r\n?|\x85|\u2028|\u2029|\x0b|\x0c")


def printable(text: str) -> str:
    """`text` with lines ended by newlines only, and U+FFFD for controls, invisible tags and lone surrogates.

    Newlines, tabs and marks of writing direction stay: Arabic and Hebrew mail needs them.
    """
    return _NOT_PRINTABLE.sub("\ufffd", _LINE_ENDS.sub("\n", encodable(text)))


def one_line(text: str, max_chars: int = 200) -> str:
    """`text` as one line of at most `max_chars` characters, for headings, subjects and logs.

    Line breaks and runs of blanks become one blank; controls and characters that hide or reorder are left out; what is
    cut off is shown by ``…``.
    """
    line = " ".join(_NOT_IN_A_LINE.sub("", _LINE_ENDS.sub(" ", encodable(text[: max_chars * 8]))).split())
    if len(line) <= max_chars and len(text) <= max_chars * 8:
        return line
    return f"{line[: max_chars - 1].rstrip()}…"
