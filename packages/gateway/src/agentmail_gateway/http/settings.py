"""What the HTTP side needs to know, and what its handlers share."""

from dataclasses import dataclass

from ..gateway import Gateway
from .authentication import Authenticator
from .counters import Counters
from .event_hub import Hub
from .origins import AllowList

__all__ = ["HttpSettings", "Services"]


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """`allowed` hosts and origins; `streams` that may be open at once; `slow_s` seconds that make a request slow."""

    allowed: AllowList
    streams: int = 10_000
    slow_s: float = 1.0


@dataclass(frozen=True, slots=True)
class Services:
    """Everything a handler can reach."""

    gateway: Gateway
    hub: Hub
    authenticator: Authenticator
    counters: Counters
    settings: HttpSettings
