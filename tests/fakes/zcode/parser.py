"""The stand-in's argument parser: strict, with the original's error texts.

All of it is [X]: the texts and outcomes are those of the original parser (Node's `util.parseArgs` in strict mode, with
a deny-list extraction before it), executed case by case; `parse_cases.jsonl` holds the cases. The list of options
beyond those cases is [S].
"""

import re
from dataclasses import dataclass, field

__all__ = ["Parsed", "UsageError", "parse"]

_STRINGS = {
    "prompt": "p",
    "output-format": "",
    "cwd": "",
    "mode": "",
    "resume": "",
    "attach": "",
    "target": "",
    "surface": "",
    "browser-use": "",
    "browser-executable": "",
    "locale": "",
    "scope": "s",
    "sparse": "",
    "workflow-mode": "",
}
_BOOLEANS = {
    "json": "",
    "continue": "c",
    "verbose": "",
    "version": "v",
    "help": "h",
    "all": "a",
    "available": "",
    "force": "f",
    "no-color": "",
    "no-browser": "",
    "stdio": "",
    "keep-data": "",
    "target-replace": "",
    "force-mcs": "",
    "memory-bench": "",
    "prepare-storage": "",
}
_SHORT = {short: name for options in (_STRINGS, _BOOLEANS) for name, short in options.items() if short}
_DENY_FLAGS = ("--disallowed-tools", "--disallowedTools")


class UsageError(Exception):
    """What the original prints above its help text."""


@dataclass
class Parsed:
    """The values by option name, the words that belong to no option, and the deny list (None: there is none)."""

    values: dict[str, object] = field(default_factory=dict)
    positionals: list[str] = field(default_factory=list)
    deny: list[str] | None = None


def parse(argv: list[str]) -> Parsed:
    """Parse as the original does. Raises UsageError."""
    rest, deny = _extract_deny_list(argv)
    parsed = Parsed(deny=deny)
    index = 0
    while index < len(rest):
        token = rest[index]
        index += 1
        if token == "--":
            parsed.positionals += rest[index:]
            break
        if token.startswith("--"):
            index = _long(token, rest, index, parsed)
        elif token.startswith("-") and token != "-":
            index = _short(token, rest, index, parsed)
        else:
            parsed.positionals.append(token)
    return parsed


def _long(token: str, rest: list[str], index: int, parsed: Parsed) -> int:
    name, equals, inline = token[2:].partition("=")
    if name in _BOOLEANS:
        if equals:
            raise UsageError(f"Option '{_shown(name)}' does not take an argument")
        parsed.values[name] = True
        return index
    if name not in _STRINGS:
        raise _unknown(f"--{name}")
    if equals:
        _store(parsed, name, inline)
        return index
    return _value(f"--{name}", name, rest, index, parsed)


def _short(token: str, rest: list[str], index: int, parsed: Parsed) -> int:
    letters = token[1:]
    while letters:
        letter, letters = letters[0], letters[1:]
        name = _SHORT.get(letter)
        if name is None:
            raise _unknown(f"-{letter}")
        if name in _BOOLEANS:
            parsed.values[name] = True
        elif letters:
            _store(parsed, name, letters)
            return index
        else:
            return _value(f"-{letter}", name, rest, index, parsed)
    return index


def _value(shown: str, name: str, rest: list[str], index: int, parsed: Parsed) -> int:
    if index >= len(rest):
        raise UsageError(f"Option '{_shown(name)} <value>' argument missing")
    value = rest[index]
    if len(value) > 1 and value.startswith("-"):
        short = f" or '{shown}-XYZ'" if not shown.startswith("--") else ""
        raise UsageError(
            f"Option '{shown}' argument is ambiguous.\nDid you forget to specify the option argument for '{shown}'?\n"
            f"To specify an option argument starting with a dash use '--{name}=-XYZ'{short}."
        )
    _store(parsed, name, value)
    return index + 1


def _store(parsed: Parsed, name: str, value: str) -> None:
    if name == "attach":
        attached = parsed.values.setdefault(name, [])
        assert isinstance(attached, list)
        attached.append(value)
    else:
        parsed.values[name] = value


def _shown(name: str) -> str:
    short = _STRINGS.get(name) or _BOOLEANS.get(name)
    return f"-{short}, --{name}" if short else f"--{name}"


def _unknown(shown: str) -> UsageError:
    # The original's text ends without the closing quotation mark.
    return UsageError(
        f"Unknown option '{shown}'. To specify a positional argument starting with a '-', place it at the end of the "
        f"command after '--', as in '-- \"{shown}\""
    )


def _extract_deny_list(argv: list[str]) -> tuple[list[str], list[str] | None]:
    """Take the deny list out of the whole argument list, before anything else is looked at."""
    rest: list[str] = []
    names: list[str] = []
    index = 0
    while index < len(argv):
        token = argv[index]
        index += 1
        if token == "--":
            rest += argv[index - 1 :]
            break
        flag, equals, inline = token.partition("=")
        if flag not in _DENY_FLAGS:
            rest.append(token)
        elif equals:
            names += _rules(inline)
        else:
            taken = []
            while index < len(argv) and not argv[index].startswith("-"):
                taken.append(argv[index])
                index += 1
            if not taken:
                raise UsageError(f"{flag} requires at least one tool.")
            for word in taken:
                names += _rules(word)
    # An empty list is silently no list at all.
    return rest, list(dict.fromkeys(names)) or None


def _rules(text: str) -> list[str]:
    found = re.findall(r"[^\s,()]+(?:\([^()]*\))?", text)
    return ["WebSearch" if name == "web_search" else name for name in found]
