"""The gateway of the data folder as `agentmail up` sees it: is one there, does it answer."""

from typing import TYPE_CHECKING

from ..errors import LocalError
from ..home import Home

if TYPE_CHECKING:
    from ..vendor.gateway_client import GatewayClient

__all__ = ["admin_client", "answers"]

_PROBE_S = 2.0


def admin_client(home: Home, url: str, **options: float) -> "GatewayClient":
    """A client with the administrator's token. Raises `LocalError` when the token is not there."""
    from ..vendor.gateway_client import GatewayClient

    token = home.token()
    if token is None:
        raise LocalError(
            f"{home.token_file} is missing, so this data folder can't be administered",
            "Put the administrator's token back, or set AGENTMAIL_HOME to another folder",
        )
    return GatewayClient(url, token, **options)  # type: ignore[arg-type]


async def answers(home: Home, url: str) -> bool:
    """Whether a gateway that knows this data folder's token answers at `url` now."""
    from ..vendor.gateway_client import GatewayClient, GatewayError

    if (token := home.token()) is None:
        return False
    try:
        async with GatewayClient(url, token, timeout=_PROBE_S, attempts=1) as client:
            await client.whoami()
    except (GatewayError, ValueError):
        return False
    return True
