"""A disk that fails once, at each statement in turn: a repeat brings it to the same end, and nothing is there twice."""

import sqlite3
import threading
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import pytest

from agentmail_gateway.gateway import Gateway
from agentmail_gateway.problems import Problem
from agentmail_gateway.vendor import wire

from .world import World, a_world

T = TypeVar("T")


class Disk:
    """Counts the statements of the writer and fails at number `at`."""

    def __init__(self) -> None:
        self.statements = 0
        self.at = -1

    def step(self) -> None:
        self.statements += 1
        if self.statements == self.at:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorname = "SQLITE_IOERR_WRITE"
            raise error


DISK = Disk()


class Connection(sqlite3.Connection):
    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        DISK.step()
        return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> sqlite3.Cursor:
        DISK.step()
        return super().executemany(*arguments)


async def twice(call: Callable[[], Awaitable[T]], faults: list[Problem]) -> T:
    """Do it, and once more when the store failed."""
    try:
        return await call()
    except Problem as problem:
        if problem.code != "unavailable":
            raise
        faults.append(problem)
        return await call()


async def one_answered_mail(world: World, faults: list[Problem]) -> None:
    gateway = world.gateway
    mail, _ = await twice(lambda: gateway.send_mail(world.ada, wire.SendMail(to=("zcode",), body="?"), "key"), faults)
    turn = mail.receipts[0].turn_id
    claim = await twice(lambda: gateway.claim(world.zcode, turn), faults)
    await twice(lambda: gateway.start(world.zcode, turn, wire.StartBody(claim.lease, "native", "site")), faults)
    own, _ = await twice(
        lambda: gateway.send_mail(world.holder(claim), wire.SendMail(to=("pi",), body="help"), "own"), faults
    )
    body = wire.ReplyBody(claim.lease, "ok", "!")
    answer = await twice(lambda: gateway.reply(world.zcode, turn, body, "reply"), faults)
    await twice(lambda: gateway.set_read(world.ada, answer.mail.id if answer.mail else "", True), faults)
    other = await twice(lambda: gateway.claim(world.pi, own.receipts[0].turn_id), faults)
    await twice(lambda: gateway.finish(world.pi, other.turn_id, wire.FinishBody(other.lease, "no_reply")), faults)


async def check(world: World) -> None:
    gateway = await Gateway.open(world.data, admin="ada", now=world.clock)
    try:
        assert [mail.body for mail in (await gateway.list_mails(world.ada, box="all")).items] == ["?", "!"]
        assert [mail.body for mail in (await gateway.list_mails(world.pi)).items] == ["help"]
        turns = (await gateway.list_turns(world.ada)).items
        assert [(turn.agent, turn.state, turn.attempt) for turn in turns] == [
            ("zcode", "answered", 1),
            ("pi", "no_reply", 1),
        ]
        assert [turn.reply_id is not None for turn in turns] == [True, False]
        numbers = [event.id for event in world.events]
        assert numbers == list(range(1, len(numbers) + 1))
        assert gateway.last_event_id() == len(numbers)
        assert len([event for event in world.events if event.type == "new_mail"]) == 3
    finally:
        await gateway.close()


@pytest.mark.slow
async def test_a_fault_at_any_statement_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """openclaw#29106"""
    connect = sqlite3.connect

    def counted(*arguments: Any, **keywords: Any) -> sqlite3.Connection:
        reader = "writer" not in threading.current_thread().name
        return connect(*arguments, **keywords) if reader else connect(*arguments, factory=Connection, **keywords)

    monkeypatch.setattr(sqlite3, "connect", counted)
    for point in count(1):
        faults: list[Problem] = []
        DISK.at = -1
        async with a_world(tmp_path / str(point)) as world:
            await world.gateway._core.store.write(lambda tx: None)
            DISK.statements = 0
            DISK.at = point
            await one_answered_mail(world, faults)
            reached = DISK.statements >= point
            DISK.at = -1
        await check(world)
        if not reached:
            assert point > 40
            break
        assert len(faults) <= 1
