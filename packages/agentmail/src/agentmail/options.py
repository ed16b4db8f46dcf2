"""What every command that talks to the gateway has in common: its options and its output."""

import functools
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .connect import find_target, talk
from .home import Home
from .terminal import Screen, json_safe

if TYPE_CHECKING:
    from .vendor.gateway_client import GatewayClient

__all__ = ["TIERS", "Common", "common"]

T = TypeVar("T")
TIERS = click.Choice(["plan", "workspace", "full"])


@dataclass(frozen=True, slots=True)
class Common:
    """How this invocation talks and prints."""

    as_json: bool
    url: str | None
    environ: Mapping[str, str]

    @property
    def home(self) -> Home:
        """The data folder."""
        return Home.of(self.environ)

    @property
    def screen(self) -> Screen:
        """What standard output can do."""
        return Screen.of(sys.stdout, self.environ)

    @property
    def now(self) -> datetime:
        """The time now, in the reader's zone."""
        return datetime.now().astimezone()

    def talk(self, work: Callable[["GatewayClient"], Awaitable[T]]) -> T:
        """Run `work` with a client of the gateway that this invocation means."""
        return talk(find_target(self.home, self.environ, self.url), work)

    def show(self, document: object, text: Callable[[], str]) -> None:
        """Print `document` as JSON with ``--json``, else what `text` makes (nothing when it is empty)."""
        if self.as_json:
            import msgspec

            encoded = msgspec.json.format(msgspec.json.encode(document), indent=2)
            click.echo(json_safe(encoded.decode("utf-8")))
        elif shown := text():
            click.echo(shown)


def common(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command ``--json`` and ``--url``; it gets a `Common` as its first argument."""

    @click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
    @click.option("--url", metavar="URL", help="The gateway's address [AGENTMAIL_GATEWAY_URL].")
    @functools.wraps(command)
    def wrapper(*, as_json: bool, url: str | None, **arguments: Any) -> None:
        command(Common(as_json, url, os.environ), **arguments)

    return wrapper
