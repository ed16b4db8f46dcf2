"""The directory: which agents there are, who is online, and what their bridges observed.

Heartbeats live in memory; the store is told when they say something new, and now and then, so that a gateway that comes
back knows who there was.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import msgspec

from .accounts import Account
from .core import Core
from .events import LiveEvent
from .principal import Principal
from .problems import Problem
from .store.interface import Reader
from .times import text
from .vendor import wire
from .vendor.permission_mode import least

__all__ = ["OFFLINE_MS", "Directory"]

OFFLINE_MS: Final = 90_000
_STORE_MS: Final = 60_000
_TELL_S: Final = 5.0


@dataclass(slots=True)
class _Seen:
    body: wire.Heartbeat
    at: int
    stored_at: int = 0


@dataclass(slots=True)
class Directory:
    """What is known of each agent; `later` runs a callback in so many seconds (an event loop's ``call_later``)."""

    core: Core
    later: Callable[[float, Callable[[], None]], asyncio.TimerHandle]
    _seen: dict[int, _Seen] = field(default_factory=dict)
    _told: dict[int, tuple[float, wire.Agent]] = field(default_factory=dict)
    _pending: dict[int, asyncio.TimerHandle] = field(default_factory=dict)
    _offline: dict[int, asyncio.TimerHandle] = field(default_factory=dict)

    def load(self, reader: Reader) -> None:
        """Read the last heartbeats."""
        rows = reader.execute("SELECT id, heartbeat, last_seen FROM accounts WHERE heartbeat IS NOT NULL").fetchall()
        for number, body, at in rows:
            with suppress(msgspec.DecodeError):
                self._seen[number] = _Seen(msgspec.json.decode(body, type=wire.Heartbeat), at, at)

    def close(self) -> None:
        """Let go of all timers."""
        for timer in (*self._pending.values(), *self._offline.values()):
            timer.cancel()
        self._pending.clear()
        self._offline.clear()

    async def heartbeat(self, who: Principal, body: wire.Heartbeat) -> None:
        """The agent's bridge is there, and this is what it observed."""
        agent = self.core.bridge(who)
        if len(msgspec.json.encode(body)) > 64 * 1024:
            raise Problem("too_large", "A heartbeat has at most 64 KiB.")
        now = self.core.clock()
        before = self._seen.get(agent.id)
        stored_at = 0 if before is None else before.stored_at
        seen = self._seen[agent.id] = _Seen(body, now, stored_at)
        self._watch(agent.id)
        self.changed(agent.id)
        if before is None or before.body != body or now - stored_at >= _STORE_MS:
            encoded = msgspec.json.encode(body).decode()
            # The directory is a convenience: a store that can't be written must not make a bridge look dead.
            with suppress(Problem):
                await self.core.store.write(
                    lambda tx: (
                        tx.execute(
                            "UPDATE accounts SET heartbeat = ?, last_seen = ? WHERE id = ?", (encoded, now, agent.id)
                        ).rowcount
                    )
                )
                seen.stored_at = now

    async def list_agents(self, who: Principal) -> wire.Page[wire.Agent]:
        """All agents that are not disabled; an administrator sees those too."""
        caller = self.core.caller(who)
        shown = [agent for agent in self.core.accounts.agents() if caller.account.admin or not agent.disabled]
        return self.core.store.read(lambda reader: wire.Page(tuple([self.entry(reader, agent) for agent in shown])))

    def entry(self, reader: Reader, agent: Account) -> wire.Agent:
        """The directory's entry of an agent; `busy` and `queue` are the ledger's numbers."""
        busy, queue = reader.execute(
            "SELECT coalesce(sum(state != 'queued'), 0), coalesce(sum(state = 'queued'), 0) FROM turns "
            "WHERE agent = ? AND finished IS NULL",
            (agent.id,),
        ).fetchone()
        seen = self._seen.get(agent.id)
        known = wire.Agent(
            name=agent.name,
            kind="agent",
            online=False,
            paused=agent.paused,
            busy=busy,
            queue=queue,
            max_mode=agent.max_mode,
            disabled=agent.disabled,
        )
        if seen is None:
            return known
        return msgspec.structs.replace(
            known,
            online=self.core.clock() - seen.at < OFFLINE_MS and not agent.disabled,
            max_mode=least(agent.max_mode, seen.body.max_mode),
            mode_enforcement=seen.body.mode_enforcement,
            can_ask=seen.body.can_ask,
            bridge_version=seen.body.bridge_version,
            agent_version=seen.body.agent_version,
            last_seen=text(seen.at),
            ready=seen.body.ready,
            lacks=seen.body.lacks,
        )

    def changed(self, agent: int) -> None:
        """Tell everybody of the agent's entry if it differs from what they know, at most every five seconds."""
        if agent in self._pending:
            return
        last = self._told.get(agent)
        wait = 0.0 if last is None else last[0] + _TELL_S - asyncio.get_running_loop().time()
        if wait > 0:
            self._pending[agent] = self.later(wait, lambda: self._tell(agent))
        else:
            self._tell(agent)

    def _tell(self, agent: int) -> None:
        self._pending.pop(agent, None)
        try:
            entry = self.core.store.read(lambda reader: self.entry(reader, self.core.accounts.by_id[agent]))
        except Problem:
            return
        last = self._told.get(agent)
        if last is not None and msgspec.structs.replace(last[1], last_seen=entry.last_seen) == entry:
            return
        self._told[agent] = asyncio.get_running_loop().time(), entry
        self.core.tell_live(LiveEvent(None, "agent_state", msgspec.to_builtins(entry)))

    def _watch(self, agent: int) -> None:
        timer = self._offline.pop(agent, None)
        if timer is not None:
            timer.cancel()
        self._offline[agent] = self.later(OFFLINE_MS / 1000 + 0.5, lambda: self.changed(agent))
