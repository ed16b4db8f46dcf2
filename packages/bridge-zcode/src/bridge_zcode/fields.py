"""Reading fields of foreign JSON without trusting any of it. Pure; nothing here raises."""

import json
from collections.abc import Mapping

from .vendor.bounded import encodable

__all__ = ["Json", "boolean", "code", "integer", "mapping", "parse_object", "printable_json", "string"]

Json = Mapping[str, object]


def parse_object(text: str) -> Json | None:
    """The JSON object that `text` is, or None for anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def mapping(value: object) -> Json:
    """`value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def string(value: object) -> str:
    """`value` if it is a string, else ''. Halves of a character, which JavaScript can cut apart, are made whole or
    U+FFFD.
    """
    return encodable(value) if isinstance(value, str) else ""


def integer(value: object) -> int | None:
    """`value` if it is a whole number from 0 to 2**63 - 1."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def boolean(value: object) -> bool | None:
    """`value` if it is true or false."""
    return value if isinstance(value, bool) else None


def code(value: object) -> str:
    """An error code that may come as a string or a number, as text."""
    number = integer(value)
    return string(value) if number is None else str(number)


def printable_json(value: object) -> str:
    """A short form for people: a string as it is, nothing as '', the rest as JSON."""
    if value is None or isinstance(value, str):
        return string(value)
    try:
        return encodable(json.dumps(value, ensure_ascii=False))
    except (ValueError, RecursionError):
        return ""
