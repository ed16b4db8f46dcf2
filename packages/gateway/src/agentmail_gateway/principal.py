"""Who is asking: the outcome of authentication, passed to every function of the gateway."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Principal"]


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller that proved who it is.

    `kind` ``turn`` is an agent's own process during a turn: `name` is the agent's, `turn_id` the turn whose key it
    holds. `admin` is true for administrators, who are always people.
    """

    kind: Literal["person", "agent", "turn"]
    name: str
    admin: bool = False
    turn_id: str | None = None
