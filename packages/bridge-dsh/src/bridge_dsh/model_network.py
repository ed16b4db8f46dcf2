"""dsh's provider led through the bridge, for a network that is closed but for the model. Pure.

Its own provider takes a base URL from the environment, so that the key can stay outside. Where another one is set up by
a patch of the user's, the bridge can't know it: its host has to be named in AGENTMAIL_NETWORK_HOSTS, and its key is
inside.
"""

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from .vendor.host_port import host_and_port
from .vendor.network_reach import Reach, Route

__all__ = ["lead", "own_hosts"]

KEY, BASE = "DEEPSEEK_API_KEY", "DEEPSEEK_BASE_URL"
DEFAULT_BASE = "https://api.deepseek.com/anthropic"


def lead(env: Mapping[str, str], stand_in: Callable[[], str]) -> tuple[dict[str, str], Reach]:
    """The variables of a confined turn, and what it may reach; `stand_in` makes a word that nobody else has."""
    key = env.get(KEY)
    if not key:
        return dict(env), Reach()
    shown = stand_in()
    route = Route("deepseek", env.get(BASE) or DEFAULT_BASE, {shown: key})
    return {**env, KEY: shown, BASE: route.inside}, Reach((route,))


def own_hosts(env: Mapping[str, str]) -> tuple[str, ...]:
    """The host of dsh's own provider, for a turn that gets the key and the base URL as they are."""
    if not env.get(KEY):
        return ()
    parts = urlsplit(env.get(BASE) or DEFAULT_BASE)
    try:
        return (host_and_port(parts.netloc.rpartition("@")[2], 443 if parts.scheme == "https" else 80),)
    except ValueError:
        return ()
