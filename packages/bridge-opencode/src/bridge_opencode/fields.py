"""Reading values of another program's JSON: whatever is there, what comes out has the right type. Pure."""

from typing import Any

from .vendor.bounded import encodable

__all__ = ["amount", "number", "table", "tables", "word", "words"]

LARGEST = 1e15


def table(data: object, name: str) -> dict[str, Any]:
    """The object under `name`; an empty one if there is none."""
    value = data.get(name) if isinstance(data, dict) else None
    return value if isinstance(value, dict) else {}


def tables(value: object) -> list[dict[str, Any]]:
    """The objects in a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def word(data: object, name: str) -> str:
    """The text under `name`, fit to be encoded."""
    value = data.get(name) if isinstance(data, dict) else None
    return encodable(value) if isinstance(value, str) else ""


def words(data: object, name: str) -> list[str]:
    """The texts in the list under `name`."""
    value = data.get(name) if isinstance(data, dict) else None
    return [encodable(each) for each in value if isinstance(each, str)] if isinstance(value, list) else []


def amount(data: object, name: str) -> float:
    """A count or a sum; what can't be one is nothing."""
    value = data.get(name) if isinstance(data, dict) else None
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < LARGEST
    return float(value) if fits and value is not None else 0.0


def number(data: object, name: str) -> int:
    """A count, rounded."""
    return round(amount(data, name))
