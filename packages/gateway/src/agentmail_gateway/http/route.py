"""A route as data, read from the signature of its handler.

What a handler takes and gives is written once, as its annotations: the type checker, the decoder and the OpenAPI
document all read the same line, so they can't drift apart.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from msgspec import Struct

from ..principal import Principal
from .authentication import Caller
from .exchange import Body, Reply, Request
from .settings import Services

__all__ = ["AGENT", "ANYBODY", "MAILBOX", "PERSON", "PUBLIC", "Call", "Kinds", "Route", "route"]

Kinds = frozenset[Literal["person", "agent", "turn"]]
PUBLIC: Kinds = frozenset()
PERSON: Kinds = frozenset({"person"})
AGENT: Kinds = frozenset({"agent"})
MAILBOX: Kinds = frozenset({"person", "agent"})
ANYBODY: Kinds = frozenset({"person", "agent", "turn"})
BODY_LIMIT = 2 * 1024 * 1024
SPECIAL = frozenset({"call", "body", "query", "key", "send"})
Handler = Callable[..., Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Call:
    """One authenticated request to a handler; `caller` is None on public routes only."""

    services: Services
    request: Request
    caller: Caller | None

    @property
    def who(self) -> Principal:
        """The caller's principal; there is one on every route that is not public."""
        assert self.caller is not None
        return self.caller.who


@dataclass(frozen=True, slots=True)
class Route:
    """One method on one path.

    `who` may call (empty: everybody, without a key), `admin` narrows it to administrators. `status` is the ordinary
    success, `also` lists others. `key` says whether the handler takes an Idempotency-Key. `takes` names the media
    type of a body that the handler reads by itself, `gives` that of the answer. `streams`: the handler writes the
    answer by itself. `headers` are further request headers that it reads. `problems` are the codes beyond those that
    every route can answer with.
    """

    method: str
    path: str
    handler: Handler
    summary: str
    who: Kinds
    admin: bool
    body: Any
    query: type[Struct] | None
    answer: Any
    status: int
    also: tuple[int, ...]
    key: Literal["none", "optional", "required"]
    takes: str | None
    gives: str
    streams: bool
    problems: tuple[str, ...]
    body_limit: int
    parameters: tuple[str, ...]
    headers: tuple[str, ...]


def route(
    method: str,
    path: str,
    handler: Handler,
    *,
    who: Kinds,
    admin: bool = False,
    status: int = 200,
    also: Iterable[int] = (),
    problems: Iterable[str] = (),
    takes: str | None = None,
    gives: str = "application/json",
    body_limit: int = BODY_LIMIT,
    headers: Iterable[str] = (),
) -> Route:
    """Make the route of a handler ``(call, <path parameters>, body, query, key, send) -> answer``.

    Only `call` is required. Raises TypeError for a handler whose parameters don't fit the path.
    """
    hints = get_type_hints(handler)
    names = list(inspect.signature(handler).parameters)
    parameters = tuple(re.findall(r"{(\w+)}", path))
    if set(names) - SPECIAL != set(parameters):
        raise TypeError(f"{handler.__name__} takes {names}, but its path is {path}")
    answer = hints["return"]
    if get_origin(answer) is Reply:
        (answer,) = get_args(answer)
    plain = answer is type(None) or answer is Body
    streams = "send" in names
    return Route(
        method=method,
        path=path,
        handler=handler,
        summary=(inspect.getdoc(handler) or "").partition("\n")[0],
        who=who,
        admin=admin,
        body=hints.get("body"),
        query=hints.get("query"),
        answer=None if plain else answer,
        status=204 if answer is type(None) and status == 200 and not streams else status,
        also=tuple(also),
        key="none" if "key" not in names else "required" if hints["key"] is str else "optional",
        takes=takes,
        gives=gives,
        streams=streams,
        problems=tuple(problems),
        body_limit=body_limit,
        parameters=parameters,
        headers=tuple(headers),
    )
