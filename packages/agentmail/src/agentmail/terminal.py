"""Text for a terminal: harmless, as wide as it looks, coloured only where that is wanted. Pure but for `Screen.of`.

Mail is written by others. A control or escape sequence in it could rewrite the screen, the window's title or the
clipboard, and a bidi override can make a name read as another one; both are shown as what they are instead.
"""

import os
import re
import shutil
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

__all__ = ["Column", "Screen", "clip", "json_safe", "pad", "safe", "safe_block", "table", "width"]

# Joiners stay: Persian, Hindi and emoji need them, and they move nothing.
_HARMLESS_FORMAT = {"\u200c", "\u200d"}
_SUSPECT = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad"  # control characters of one byte, soft hyphen
    "\u0600-\u0605\u061c\u06dd\u070f\u180e"  # format characters of single scripts, Arabic letter mark
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"  # zero width, line and bidi controls
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"  # annotations, lone surrogates, tags
)


def _visible(char: str) -> str:
    code = ord(char)
    if char in _HARMLESS_FORMAT:
        return char
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"<U+{code:04X}>"


def safe(text: str) -> str:
    """`text` as one line: white space runs become one space, whatever could steer a terminal becomes visible."""
    return _SUSPECT.sub(lambda m: _visible(m[0]), " ".join(re.split(r"[ \t\r\n\v\f\x85\u2028\u2029]+", text.strip())))


def safe_block(text: str) -> str:
    """`text` with its lines and tabs kept (a tab becomes four spaces) and everything else as in `safe`."""
    lines = text.replace("\r\n", "\n").replace("\t", "    ").split("\n")
    return "\n".join(_SUSPECT.sub(lambda m: _visible(m[0]), line) for line in lines)


def json_safe(document: str) -> str:
    """A JSON document with what could steer a terminal as ``\\uXXXX``: the same document to every parser."""
    return _SUSPECT.sub(lambda m: m[0] if m[0] in "\n\u200c\u200d" else _escaped(m[0]), document)


def _escaped(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def width(text: str) -> int:
    """How many columns `text` takes: 2 for wide East Asian characters and emoji, 0 for combining marks and joiners."""
    columns = 0
    for char in text:
        if char < "\u0300":
            columns += 1
        elif unicodedata.combining(char) or unicodedata.category(char) in {"Mn", "Me", "Cf"}:
            continue
        else:
            columns += 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1
    return columns


def clip(text: str, columns: int) -> str:
    """`text` in at most `columns` columns; what was cut is told by an ellipsis. `columns` >= 1."""
    if width(text) <= columns:
        return text
    kept, used = [], 0
    for char in text:
        used += width(char)
        if used > columns - 1:
            break
        kept.append(char)
    return "".join(kept) + "…"


def pad(text: str, columns: int) -> str:
    """`text` filled up with spaces to `columns` columns."""
    return text + " " * max(0, columns - width(text))


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. One that is `flexible` gives way when the line is too long, down to 12 columns."""

    title: str
    flexible: bool = False
    style: Callable[[str], str] | None = None


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], screen_width: int) -> list[str]:
    """Lines of a table with a title line. Cells are made `safe` here. Lines fit into `screen_width` where they can."""
    cells = [[safe(cell) for cell in row] for row in rows]
    widths = [max([width(c.title), *(width(row[i]) for row in cells)]) for i, c in enumerate(columns)]
    over = sum(widths) + 2 * (len(columns) - 1) - screen_width
    for i, column in sorted(enumerate(columns), key=lambda pair: -widths[pair[0]]):
        if over > 0 and column.flexible:
            shorter = max(min(12, widths[i]), widths[i] - over)
            over -= widths[i] - shorter
            widths[i] = shorter

    def line(parts: Sequence[str], *, plain: bool) -> str:
        out = []
        for i, column in enumerate(columns):
            text = clip(parts[i], widths[i])
            shown = text if plain or column.style is None else column.style(text)
            out.append(shown if i == len(columns) - 1 else shown + " " * (widths[i] - width(text)))
        return "  ".join(out).rstrip()

    return [line([c.title for c in columns], plain=True), *(line(row, plain=False) for row in cells)]


_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


@dataclass(frozen=True, slots=True)
class Screen:
    """What may be done with an output: colours, moving lines, and how wide it is."""

    colour: bool
    live: bool
    columns: int

    @classmethod
    def of(cls, stream: TextIO, environ: Mapping[str, str]) -> "Screen":
        """What `stream` allows. NO_COLOR (no-color.org) and ``TERM=dumb`` are respected."""
        terminal = stream.isatty()
        dumb = environ.get("TERM") == "dumb"
        columns = shutil.get_terminal_size((100, 24)).columns if terminal else 160
        return cls(
            colour=terminal and not dumb and not environ.get("NO_COLOR"), live=terminal and not dumb, columns=columns
        )

    def paint(self, text: str, style: str) -> str:
        """`text` in `style` (bold, dim, red, green, yellow, cyan) where colours are wanted."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.colour and text else text


def stdout_screen() -> Screen:
    """The screen of standard output."""
    import sys

    return Screen.of(sys.stdout, os.environ)
