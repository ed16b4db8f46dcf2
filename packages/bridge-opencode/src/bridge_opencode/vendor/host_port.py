"""A host and a port as text, in one form. Pure."""

import re

__all__ = ["host_and_port"]

HOST = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?|\[[0-9a-f:.]+\]")


def host_and_port(text: str, default: int = 443) -> str:
    """``api.example.org`` or ``api.example.org:8443`` in the one form that is compared. Raises ValueError."""
    host, colon, port = text.strip().lower().rpartition(":")
    if not colon or "]" in port:
        host, port = text.strip().lower(), str(default)
    host = host.removesuffix(".")
    if (
        len(host) > 253
        or not HOST.fullmatch(host)
        or not (port.isascii() and port.isdecimal() and 0 < int(port[:6]) < 65_536)
    ):
        raise ValueError(f"{text.strip()[:80]!r} is no host or host:port")
    return f"{host}:{int(port)}"
