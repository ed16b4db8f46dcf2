"""The command line of ``agentmail-gateway``."""

import argparse
import getpass
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = ["Options", "parse"]

DEFAULT_PORT = 8180


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for, as it was written."""

    data: Path
    host: str
    port: int
    admin: str
    allow_hosts: tuple[str, ...]
    allow_origins: tuple[str, ...]
    trusted_proxies: tuple[str, ...]
    log_format: Literal["json", "text"]


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65535:
        raise ValueError
    return number


def _data(environ: Mapping[str, str]) -> Path:
    home = environ.get("AGENTMAIL_HOME", "").strip()
    if home:
        return Path(home).expanduser() / "gateway"
    import platformdirs

    return platformdirs.user_data_path("agentmail", appauthor=False) / "gateway"


def _admin() -> str:
    """The operating system's user, in the form of a mail name."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = ""
    name = re.sub(r"[^a-z0-9._-]+", "-", user.casefold()).strip("-._")
    return name or "admin"


def parse(argv: Sequence[str], environ: Mapping[str, str] = os.environ) -> Options:
    """Read the arguments. Exits with status 2 and one line on what is wrong with them."""
    parser = argparse.ArgumentParser(
        prog="agentmail-gateway", description="The mail server of AgentMail.", allow_abbrev=False
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="data folder (default: AGENTMAIL_HOME/gateway)")
    parser.add_argument(
        "--port", type=_port, default=DEFAULT_PORT, metavar="N", help="port to listen on, 0 for a free one (8180)"
    )
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="address to listen on (127.0.0.1)")
    parser.add_argument(
        "--admin", metavar="NAME", help="the first administrator of an empty store (default: the user's name)"
    )
    parser.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="a host name that clients may use; repeatable"
    )
    parser.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="an origin whose pages may use the gateway; repeatable",
    )
    parser.add_argument(
        "--trusted-proxy",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="a proxy whose X-Forwarded-For and X-Forwarded-Proto are believed; repeatable",
    )
    parser.add_argument("--log-format", choices=("json", "text"), default="text", help="form of the log on stderr")
    given = parser.parse_args(argv)
    return Options(
        data=(given.data or _data(environ)).absolute(),
        host=given.host,
        port=given.port,
        admin=given.admin or _admin(),
        allow_hosts=tuple(given.allow_host),
        allow_origins=tuple(given.allow_origin),
        trusted_proxies=tuple(given.trusted_proxy),
        log_format=given.log_format,
    )
