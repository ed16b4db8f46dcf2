"""Answers of a person to "may it?": once, for this thread, always; what they cover, how long, and where they are kept.

A grant never reaches beyond a tier: it covers what the turn's own tier allows, and only in turns that run under no more
than the turn it was given in. Whoever allowed a command inside a sandbox did not allow it outside of one.
"""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, assert_never

import msgspec

from .durable_file import replace_file
from .permission_mode import allows
from .wire import PermissionDecision, Tier

__all__ = ["Ask", "Grant", "GrantStore", "GrantsCorrupt", "dumps", "find", "grant", "loads"]

MOST_GRANTS = 1_000


@dataclass(frozen=True, slots=True)
class Ask:
    """What a running turn wants to do.

    `scope` narrows the tool down (a command, a host), empty when nothing does; `tier` is the turn's, `needs` the lowest
    tier that allows such a thing at all.
    """

    agent: str
    tool: str
    scope: str
    thread_id: str
    tier: Tier
    needs: Tier


@dataclass(frozen=True, slots=True)
class Grant:
    """A remembered answer: for one thread, or always (`thread_id` None). Times are seconds since the epoch.

    `tier` is that of the turn it was given in; `expires_at` None: never.
    """

    agent: str
    tool: str
    scope: str
    thread_id: str | None
    tier: Tier
    granted_by: str
    granted_at: float
    expires_at: float | None = None


class GrantsCorrupt(ValueError):  # noqa: N818 - it says what is
    """A text that holds no grants; the message says why."""


class _Kept(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    grants: tuple[Grant, ...]


def grant(ask: Ask, decision: PermissionDecision, *, by: str, now: float, ttl_s: float | None = None) -> Grant | None:
    """What is to be remembered of `decision` on `ask`: None for ``once`` and ``reject``, which hold for this time only.

    `by` is who decided, `now` the time in seconds since the epoch, `ttl_s` for how many seconds it holds (None: for
    good). What the turn's tier does not allow can't be granted: `ValueError`.
    """
    if decision != "reject" and not allows(ask.tier, ask.needs):
        raise ValueError(f"{ask.tool} needs the tier {ask.needs}; the turn has {ask.tier}, and no answer raises that")
    thread_id: str | None
    match decision:
        case "once" | "reject":
            return None
        case "thread":
            thread_id = ask.thread_id
        case "always":
            thread_id = None
        case _:
            assert_never(decision)
    expires_at = None if ttl_s is None else now + ttl_s
    return Grant(ask.agent, ask.tool, ask.scope, thread_id, ask.tier, by, now, expires_at)


def find(grants: Iterable[Grant], ask: Ask, now: float) -> Grant | None:
    """The first of `grants` that covers `ask` at `now`, or None: then a person is asked."""
    return next((one for one in grants if _covers(one, ask, now)), None)


def dumps(grants: Sequence[Grant]) -> str:
    """`grants` as JSON; ``loads(dumps(g)) == tuple(g)``."""
    return msgspec.json.encode(_Kept(1, tuple(grants))).decode()


def loads(text: str | bytes) -> tuple[Grant, ...]:
    """The grants in what `dumps` wrote. Raises `GrantsCorrupt` for anything else: half of a list is not believed."""
    try:
        kept = msgspec.json.decode(text, type=_Kept)
    except (msgspec.MsgspecError, ValueError) as error:
        raise GrantsCorrupt(str(error)) from None
    if kept.version != 1:
        raise GrantsCorrupt(f"it is of version {kept.version}; only 1 is known")
    return kept.grants


class GrantStore:
    """Grants in a file. Made by `open`; `bad` is where a file that could not be read lies now.

    At most 1,000 are kept, the newest of them. The folder must be held by a `StateLock`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bad: Path | None = None
        self._grants: tuple[Grant, ...] = ()

    @classmethod
    def open(cls, path: Path) -> Self:
        """Read `path`. Without a file there are no grants, and neither with one that can't be read: it is put aside."""
        store = cls(path)
        try:
            store._grants = loads(path.read_bytes())
        except FileNotFoundError:
            pass
        except (OSError, GrantsCorrupt):
            store.bad = _put_aside(path)
        return store

    @property
    def grants(self) -> tuple[Grant, ...]:
        """All grants, oldest first, expired ones too until something is added."""
        return self._grants

    def find(self, ask: Ask, now: float) -> Grant | None:
        """The grant that covers `ask` at `now`, or None."""
        return find(self._grants, ask, now)

    def add(self, new: Grant, now: float) -> None:
        """Remember `new`, in place of an older one for the same; forget what has expired. Raises `OSError`."""
        kept = [one for one in self._grants if _holds(one, now) and _subject(one) != _subject(new)]
        self._keep((*kept, new)[-MOST_GRANTS:])

    def forget_thread(self, thread_id: str) -> None:
        """Forget what was granted for a thread only. Raises `OSError`."""
        self._keep(tuple(one for one in self._grants if one.thread_id != thread_id))

    def _keep(self, grants: tuple[Grant, ...]) -> None:
        if grants != self._grants:
            replace_file(self.path, dumps(grants).encode())
            self._grants = grants


def _holds(one: Grant, now: float) -> bool:
    return one.expires_at is None or now < one.expires_at


def _covers(one: Grant, ask: Ask, now: float) -> bool:
    return (
        (one.agent, one.tool, one.scope) == (ask.agent, ask.tool, ask.scope)
        and one.thread_id in {None, ask.thread_id}
        and _holds(one, now)
        and allows(ask.tier, ask.needs)
        and allows(one.tier, ask.tier)
    )


def _subject(one: Grant) -> tuple[object, ...]:
    return (one.agent, one.tool, one.scope, one.thread_id, one.tier)


def _put_aside(path: Path) -> Path:
    number = 0
    while (target := path.with_name(f"{path.name}.bad.{number}")).exists():
        number += 1
    with contextlib.suppress(OSError):
        path.replace(target)
        return target
    return path
