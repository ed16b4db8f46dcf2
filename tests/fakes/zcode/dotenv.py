"""The stand-in's ``.env`` loading: nearest file upwards, no name that is set already. [X] with the real package."""

import re
from collections.abc import Mapping
from pathlib import Path

__all__ = ["load"]

_LINE = re.compile(
    r"^\s*(?:export\s+)?([\w.-]+)(?:\s*=\s*?|:\s+?)"
    r"""(\s*'(?:\\'|[^'])*'|\s*"(?:\\"|[^"])*"|\s*`(?:\\`|[^`])*`|[^\#\r\n]+)?"""
    r"\s*(?:\#.*)?$",
    re.MULTILINE | re.ASCII,
)


def load(cwd: Path, env: Mapping[str, str]) -> dict[str, str]:
    """The environment after the file was read. Raises OSError for a file that can't be."""
    result = dict(env)
    for folder in (cwd, *cwd.parents):
        path = folder / ".env"
        if path.is_file():
            for name, value in parse(path.read_text(errors="replace")).items():
                result.setdefault(name, value)
            break
    return result


def parse(text: str) -> dict[str, str]:
    """Names and values of a file, as dotenv takes them."""
    found: dict[str, str] = {}
    for match in _LINE.finditer(text.replace("\r\n", "\n").replace("\r", "\n")):
        value = (match.group(2) or "").strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"`":
            value = value[1:-1]
        found[match.group(1)] = value
    return found
