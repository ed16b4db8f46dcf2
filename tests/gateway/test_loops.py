"""Agents that answer everything and each other can't go on for ever: people's mail bounds all mail."""

import random
from pathlib import Path

import pytest

from agentmail_gateway.principal import Principal
from agentmail_gateway.problems import Problem
from agentmail_gateway.vendor import wire

from .world import World, a_world

HOPS = 3
MAILS_A_TURN = 2


async def work(world: World, who: Principal, turn: wire.Turn, dice: random.Random) -> bool:
    """One turn of an agent that writes to whoever it can, in this thread or a new one; whether it could begin."""
    try:
        claim = await world.gateway.claim(who, turn.id)
    except Problem:
        return False
    holder = world.holder(claim)
    for _ in range(MAILS_A_TURN):
        body = wire.SendMail(
            to=("zcode", "pi", "ada") if dice.random() < 0.7 else ("pi",),
            cc=("bob",) if dice.random() < 0.3 else (),
            in_reply_to=dice.choice([None, claim.mail.id]),
            permission_mode="full",
        )
        try:
            await world.gateway.send_mail(holder, body)
        except Problem as problem:
            if problem.code != "hop_limit":
                raise
    outcome = dice.choice(["ok", "failed"])
    await world.gateway.reply(who, claim.turn_id, wire.ReplyBody(claim.lease, outcome, "x"), claim.turn_id)  # type: ignore[arg-type]
    return True


@pytest.mark.parametrize("seed", range(4))
async def test_all_mail_is_bounded_by_the_mail_of_people(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    limits = wire.Limits(hops=HOPS, cool_down_s=0, mails_per_hour=10**6, queue_length=10**6)
    async with a_world(tmp_path, limits) as world:
        by_people = 2
        for _ in range(by_people):
            await world.send(world.ada, "zcode", "pi", permission_mode="full")
        agents = [world.zcode, world.pi]
        turns = 0
        while True:
            progress = False
            for who in agents:
                for turn in (await world.gateway.list_turns(who, states=["queued"], limit=200)).items:
                    if await work(world, who, turn, dice):
                        progress, turns = True, turns + 1
            if not progress:
                break
        most_turns = by_people * sum(2 * (2 * MAILS_A_TURN) ** hop for hop in range(HOPS + 1))
        assert turns <= most_turns
        mails = 0
        after = None
        for who in (world.ada, world.bob, *agents):
            while True:
                page = await world.gateway.list_mails(who, box="sent", after=after, limit=200)
                mails += len(page.items)
                after = page.next
                if after is None:
                    break
        assert mails <= by_people + turns * (MAILS_A_TURN + 1)
        assert (await world.gateway.list_turns(world.ada, states=["queued", "leased", "running"])).items == ()
