"""A gateway on a store of its own, with people, agents and a clock that only moves when it is told to."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentmail_gateway.events import LiveEvent, StoredEvent
from agentmail_gateway.gateway import Gateway
from agentmail_gateway.principal import Principal
from agentmail_gateway.vendor import wire

NO_LIMITS = wire.Limits(hops=10**6, cool_down_s=0.0, mails_per_hour=10**6, queue_length=10**6)


@dataclass(slots=True)
class Clock:
    """Seconds since 1970."""

    seconds: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.seconds

    def forward(self, seconds: float) -> None:
        self.seconds += seconds


@dataclass(slots=True)
class World:
    """`ada` administers, `bob` is another person, `zcode` and `pi` are agents."""

    gateway: Gateway
    clock: Clock
    data: Path
    ada: Principal
    bob: Principal
    zcode: Principal
    pi: Principal
    events: list[StoredEvent] = field(default_factory=list)
    live: list[LiveEvent] = field(default_factory=list)

    async def send(self, who: Principal, *to: str, key: str | None = None, **fields: Any) -> wire.Mail:
        mail, _ = await self.gateway.send_mail(who, wire.SendMail(to=to, **fields), key)
        return mail

    async def turn(self, *, by: Principal | None = None, to: str = "zcode", **fields: Any) -> str:
        """The id of a queued turn."""
        mail = await self.send(by or self.ada, to, **fields)
        return mail.receipts[0].turn_id

    async def claimed(self, **fields: Any) -> wire.Claim:
        return await self.gateway.claim(self.zcode, await self.turn(**fields))

    async def running(self, **fields: Any) -> wire.Claim:
        claim = await self.claimed(**fields)
        await self.gateway.start(self.zcode, claim.turn_id, wire.StartBody(claim.lease))
        return claim

    def holder(self, claim: wire.Claim) -> Principal:
        """Who holds the turn's key."""
        principal = self.gateway.authenticate(claim.turn_key)
        assert principal is not None
        return principal

    async def answer(self, claim: wire.Claim, body: str = "done", **fields: Any) -> wire.ReplyAnswer:
        reply = wire.ReplyBody(claim.lease, "ok", body, **fields)
        return await self.gateway.reply(self.zcode, claim.turn_id, reply, f"reply-{claim.turn_id}")

    async def state(self, turn_id: str) -> str:
        return (await self.gateway.get_turn(self.ada, turn_id)).state

    async def expire(self) -> None:
        """Let every lease run out."""
        self.clock.forward(91)
        await self.gateway.sweep()

    def events_for(self, name: str, kind: str | None = None) -> list[StoredEvent]:
        return [event for event in self.events if event.to == name and kind in (None, event.type)]


@asynccontextmanager
async def a_world(folder: Path, limits: wire.Limits | None = None) -> AsyncIterator[World]:
    clock = Clock()
    gateway = await Gateway.open(folder / "gateway", admin="ada", now=clock, limits=limits)
    try:
        ada = gateway.authenticate(gateway.person_token_path.read_text().strip())
        assert ada is not None
        _, bob = await gateway.add_person(ada, "bob", "Bob")
        _, zcode = await gateway.add_agent(ada, "zcode", "full")
        _, pi = await gateway.add_agent(ada, "pi")
        principals = [gateway.authenticate(secret) for secret in (bob, zcode, pi)]
        world = World(gateway, clock, folder / "gateway", ada, *principals)  # type: ignore[arg-type]
        gateway.on_events(world.events.extend)
        gateway.on_live(world.live.append)
        yield world
    finally:
        await gateway.close()


def heartbeat(**fields: Any) -> wire.Heartbeat:
    given: dict[str, object] = {
        "bridge_version": "1.0",
        "agent_version": "0.16.9",
        "mode_enforcement": {"plan": wire.Enforcement("sandbox", "seen")},
        "max_mode": "full",
        "can_ask": True,
        "busy": 0,
        **fields,
    }
    return wire.Heartbeat(**given)  # type: ignore[arg-type]
