"""Where the gateway is, who we are there, and its errors in this program's words."""

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from .errors import CliError, LocalError, RefusedError, UnreachableError, UsageError
from .home import Home

if TYPE_CHECKING:
    from .vendor.gateway_client import GatewayClient, GatewayError

__all__ = ["DEFAULT_URL", "Target", "find_target", "is_loopback", "talk", "translate"]

DEFAULT_URL = "http://127.0.0.1:8180"
T = TypeVar("T")
# A person waits: one more try is enough to bridge a gateway's restart of a moment, a missing one is told at once.
_ATTEMPTS = 2


@dataclass(frozen=True, slots=True)
class Target:
    """The gateway to talk to. `token` stays out of any output."""

    url: str
    token: str

    def __repr__(self) -> str:
        return f"Target(url={self.url!r}, token=hidden)"


def is_loopback(url: str) -> bool:
    """Whether `url` names this machine by a loopback address or ``localhost``."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def find_target(home: Home, environ: Mapping[str, str], url_option: str | None) -> Target:
    """The gateway named by ``--url``, AGENTMAIL_GATEWAY_URL or the data folder, and the token for it.

    The token in the data folder goes to the gateway of this data folder or to a loopback address, nowhere else: another
    host needs AGENTMAIL_TOKEN. Raises `UsageError` for an address that isn't one, `LocalError` or `UnreachableError`
    without a token.
    """
    address = home.url()
    named = url_option or environ.get("AGENTMAIL_GATEWAY_URL", "").strip() or None
    url = (named or address or DEFAULT_URL).rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        source = "--url" if url_option else "AGENTMAIL_GATEWAY_URL" if named else str(home.address_file)
        raise UsageError(f"{source} is not an http(s) address: {url}", f"An example: {DEFAULT_URL}")
    token = environ.get("AGENTMAIL_TOKEN", "").strip()
    if not token and (url == address or is_loopback(url)):
        token = home.token() or ""
    if token:
        return Target(url, token)
    if named is None or is_loopback(url):
        raise UnreachableError(
            f"AgentMail was not started yet with the data folder {home.root}", "Start it: agentmail up"
        )
    raise LocalError(f"no token for {url}", "Set AGENTMAIL_TOKEN to the token that its administrator gave you")


def translate(error: "GatewayError") -> CliError:
    """A gateway client's error as this program's."""
    from .vendor.gateway_client import GatewayProblem, GatewayUnreachable

    if isinstance(error, GatewayProblem):
        step = ""
        if error.code == "bad_answer":
            return UnreachableError(error.detail, code="bad_answer", status=error.status)
        if error.status == 401:
            step = "Set AGENTMAIL_TOKEN, or AGENTMAIL_HOME to the data folder of this gateway"
        elif error.retry_after_s:
            step = f"Try again in {error.retry_after_s:.0f} s"
        return RefusedError(error.detail or error.title or error.code, step, code=error.code, status=error.status)
    return UnreachableError(error.cause if isinstance(error, GatewayUnreachable) else str(error))


def talk(target: Target, work: Callable[["GatewayClient"], Awaitable[T]]) -> T:
    """Run `work` with a client of `target`; errors come out as `CliError`."""
    from .vendor.gateway_client import GatewayClient, GatewayError

    async def run() -> T:
        try:
            client = GatewayClient(target.url, target.token, attempts=_ATTEMPTS)
        except ValueError as error:
            raise LocalError(
                str(error), "It comes from AGENTMAIL_TOKEN, or from person.token in the data folder"
            ) from error
        async with client:
            return await work(client)

    try:
        return asyncio.run(run())
    except GatewayError as error:
        raise translate(error) from error
