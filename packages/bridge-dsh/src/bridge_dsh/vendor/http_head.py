"""The head of an HTTP/1.1 request (RFC 9112), read strictly and written anew. Pure.

What two readers could understand differently is refused, so that a request can't hide a second one behind it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Head", "HeadError", "parse"]

HOP_BY_HOP = frozenset(
    ("connection", "keep-alive", "proxy-authorization", "proxy-connection", "te", "upgrade", "host", "trailer")
)
LINE = re.compile(r"([A-Z]{1,20}) ([\x21-\x7e]+) HTTP/1\.[01]")
FIELD = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\0\r\n]*?)[ \t]*")


class HeadError(ValueError):
    """No request that can be passed on; the message says why."""


@dataclass(frozen=True, slots=True)
class Head:
    """A request's method, its target as it stands, and its fields in order. `body`: bytes to follow, None: chunked."""

    method: str
    target: str
    fields: tuple[tuple[str, str], ...]
    body: int | None = 0

    def kept(self) -> Iterator[tuple[str, str]]:
        """The fields that are for the server at the end, without those for this connection alone."""
        named = {
            word.strip().lower()
            for name, value in self.fields
            if name.lower() == "connection"
            for word in value.split(",")
        } - {"content-length", "transfer-encoding"}
        for name, value in self.fields:
            if name.lower() not in HOP_BY_HOP and name.lower() not in named:
                yield name, value


def parse(raw: bytes) -> Head:
    """Read a head that ends with its blank line. Raises HeadError."""
    lines = raw.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    found = LINE.fullmatch(lines[0])
    if found is None:
        raise HeadError("no HTTP/1.1 request line")
    fields = []
    for line in lines[1:]:
        field = FIELD.fullmatch(line)
        if field is None:
            raise HeadError("a field that can't be read")
        fields.append((field[1], field[2]))
    return Head(found[1], found[2], tuple(fields), _body(fields))


def _body(fields: list[tuple[str, str]]) -> int | None:
    lengths = [value for name, value in fields if name.lower() == "content-length"]
    codings = [value.lower() for name, value in fields if name.lower() == "transfer-encoding"]
    if codings:
        if codings != ["chunked"] or lengths:
            raise HeadError("a body whose length is told in two ways, or in an unknown one")
        return None
    if len(lengths) > 1 or (lengths and not re.fullmatch(r"[0-9]{1,15}", lengths[0])):
        raise HeadError("a body without one clear length")
    return int(lengths[0]) if lengths else 0
