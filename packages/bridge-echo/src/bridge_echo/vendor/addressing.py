"""Mail addresses: ``zcode``, ``zcode+nightly``, ``zcode@host``, ``Ada Lovelace <ada>``, and lists of them.

The forms are a small part of RFC 5322 (display names, quoted strings, comma-separated lists with empty entries); names
may hold letters of any script. Whatever is passed in, the only exception is `AddressError`, and the time taken is
linear in the length of the text.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = [
    "MAX_DISPLAY",
    "MAX_LIST",
    "MAX_NAME",
    "MAX_TEXT",
    "Address",
    "AddressError",
    "format_address",
    "format_list",
    "normal_display",
    "normal_name",
    "parse",
    "parse_list",
    "same",
    "unique",
]

MAX_NAME = 64
MAX_DISPLAY = 200
MAX_HOST = 253
MAX_TEXT = 1024
MAX_LIST = 200

_NAME = re.compile(rf"\w[\w.-]{{0,{MAX_NAME - 1}}}")
_TAG = re.compile(rf"\w[\w.+-]{{0,{MAX_NAME - 1}}}")
_HOST = re.compile(r"\w(?:[\w-]{0,61}\w)?(?:\.\w(?:[\w-]{0,61}\w)?)*")
_NEEDS_QUOTES = frozenset('"(),.:;<>@[\\]')
# Joiners are part of how Persian, Indic scripts and emoji are written; every other format character only hides things.
_JOINERS = frozenset("\u200c\u200d")
_FORBIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class AddressError(ValueError):
    """A text that is no address (or no list of them). The message is one printable line for a person."""


@dataclass(frozen=True, slots=True)
class Address:
    """One address in normal form.

    `name` is NFKC, case-folded, 1–64 letters, digits, ``_``, ``.``, ``-``; it alone says who is meant. `tag` (after a
    plus) is kept for the reader, `host` as it was given, `display` is one line of at most 200 characters. Raises
    `AddressError` for a part that is not in normal form; `parse` and the `normal_…` functions make it so.
    """

    name: str
    tag: str | None = None
    host: str | None = None
    display: str | None = None

    def __post_init__(self) -> None:
        _require_normal(self.name, normal_name(self.name))
        if self.tag is not None:
            _require_normal(self.tag, _normal_tag(self.tag))
        if self.host is not None:
            _require_normal(self.host, _normal_host(self.host))
        if self.display is not None:
            _require_normal(self.display, normal_display(self.display) or None)

    def __str__(self) -> str:
        return format_address(self)


def parse(text: str) -> Address:
    """The one address in `text` (at most 1024 characters). Raises `AddressError`."""
    entries = _entries(text, MAX_TEXT)
    if not entries:
        raise AddressError("the address is empty")
    if len(entries) > 1:
        raise AddressError(f"{_shown(text)} holds several addresses where one is expected")
    return _entry(entries[0])


def parse_list(text: str) -> tuple[Address, ...]:
    """The addresses of a comma-separated list, in order; empty entries are skipped. Raises `AddressError`.

    At most 200 addresses. A comma inside a quoted display name separates nothing.
    """
    entries = _entries(text, MAX_LIST * MAX_TEXT)
    if len(entries) > MAX_LIST:
        raise AddressError(f"the list holds {len(entries)} addresses; at most {MAX_LIST} are taken")
    return tuple(_entry(entry) for entry in entries)


def format_address(address: Address) -> str:
    """`address` as text; ``parse(format_address(a)) == a``."""
    spec = address.name
    if address.tag is not None:
        spec += f"+{address.tag}"
    if address.host is not None:
        spec += f"@{address.host}"
    if address.display is None:
        return spec
    if _NEEDS_QUOTES.isdisjoint(address.display):
        return f"{address.display} <{spec}>"
    escaped = address.display.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}" <{spec}>'


def format_list(addresses: Iterable[Address]) -> str:
    """`addresses` as one comma-separated text; ``parse_list(format_list(a)) == tuple(a)``."""
    return ", ".join(format_address(address) for address in addresses)


def normal_name(text: str) -> str:
    """`text` as a name in normal form (NFKC, case-folded). Raises `AddressError` when it can't be one."""
    name = _folded(text)
    if not _NAME.fullmatch(name):
        raise AddressError(
            f"{_shown(text)} is no name: a name is 1 to {MAX_NAME} letters, digits, '_', '.' or '-', "
            "and starts with a letter or digit"
        )
    return name


def normal_display(text: str) -> str:
    """`text` as a display name in normal form (NFC, single blanks), possibly empty. Raises `AddressError`.

    Control characters, line breaks and invisible format characters (bidirectional overrides, tags) are refused: they
    forge headers and headings.
    """
    if len(text) > MAX_TEXT:
        raise AddressError(f"{_shown(text)} is too long for a display name (at most {MAX_DISPLAY} characters)")
    for character in text:
        if unicodedata.category(character) in _FORBIDDEN_CATEGORIES and character not in _JOINERS:
            raise AddressError(f"{_shown(text)} holds a control or invisible character")
    display = unicodedata.normalize("NFC", " ".join(text.split()))
    if len(display) > MAX_DISPLAY:
        raise AddressError(f"{_shown(text)} is too long for a display name (at most {MAX_DISPLAY} characters)")
    return display


def same(a: Address, b: Address) -> bool:
    """Whether both mean the same mailbox; tag, host and display name don't count."""
    return a.name == b.name


def unique(addresses: Iterable[Address]) -> tuple[Address, ...]:
    """`addresses` without later ones of a name that came before, in order."""
    first: dict[str, Address] = {}
    for address in addresses:
        first.setdefault(address.name, address)
    return tuple(first.values())


def _entries(text: str, limit: int) -> list[str]:
    """The non-blank pieces of `text` between the commas that stand outside of quotes."""
    if len(text) > limit:
        raise AddressError(f"{_shown(text)} is too long ({len(text)} characters; at most {limit} are taken)")
    entries: list[str] = []
    start = 0
    quoted = escaped = False
    for index, character in enumerate(text):
        if escaped:
            escaped = False
        elif quoted and character == "\\":
            escaped = True
        elif character == '"':
            quoted = not quoted
        elif character == "," and not quoted:
            entries.append(text[start:index])
            start = index + 1
    if quoted:
        raise AddressError(f"{_shown(text)} has a quotation mark that is never closed")
    entries.append(text[start:])
    return [entry for entry in (entry.strip(" \t") for entry in entries) if entry]


def _entry(text: str) -> Address:
    if len(text) > MAX_TEXT:
        raise AddressError(f"{_shown(text)} is too long ({len(text)} characters; at most {MAX_TEXT} are taken)")
    phrase, bracket, rest = _phrase(text)
    if not bracket:
        return _spec(text, None)
    if not rest.endswith(">"):
        raise AddressError(f"{_shown(text)} is no address: after '<' comes the name and then '>', and nothing else")
    return _spec(rest[:-1].strip(" \t"), normal_display(phrase) or None)


def _phrase(text: str) -> tuple[str, str, str]:
    """What stands before the first ``<`` outside of quotes (unquoted), that bracket or nothing, and what follows."""
    phrase: list[str] = []
    quoted = escaped = False
    for index, character in enumerate(text):
        if escaped:
            escaped = False
            phrase.append(character)
        elif quoted and character == "\\":
            escaped = True
        elif character == '"':
            quoted = not quoted
        elif character == "<" and not quoted:
            return "".join(phrase), "<", text[index + 1 :]
        elif character == ">" and not quoted:
            break
        else:
            phrase.append(character)
    return "", "", ""


def _spec(text: str, display: str | None) -> Address:
    local, at, host = text.partition("@")
    name, plus, tag = local.partition("+")
    return Address(
        name=normal_name(name),
        tag=_normal_tag(tag) if plus else None,
        host=_normal_host(host) if at else None,
        display=display,
    )


def _normal_tag(text: str) -> str:
    tag = _folded(text)
    if not _TAG.fullmatch(tag):
        raise AddressError(f"{_shown(text)} is no tag: after '+' come 1 to {MAX_NAME} letters, digits, '_', '.' or '-'")
    return tag


def _normal_host(text: str) -> str:
    host = _folded(text)
    if len(host) > MAX_HOST or not _HOST.fullmatch(host):
        raise AddressError(f"{_shown(text)} is no host name")
    return host


def _folded(text: str) -> str:
    """`text` in NFKC and case-folded. Raises `AddressError`."""
    if len(text) > MAX_TEXT:
        raise AddressError(f"{_shown(text)} is too long")
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _require_normal(given: str, normal: str | None) -> None:
    if given != normal:
        raise AddressError(f"{_shown(given)} is not in normal form")


def _shown(text: str) -> str:
    """The start of `text`, quoted, with everything unprintable escaped."""
    return repr(text) if len(text) <= 60 else f"{text[:60]!r}…"
