"""Heartbeats: what they say, that they go on, and that a change is told soon."""

import asyncio
import io

from ..bridge_log import Log
from ..gateway_errors import GatewayProblem
from ..heartbeat import HeartbeatLoop, heartbeat
from ..wire import Failure, Heartbeat
from .driver_bench import QUICK, not_ready, ready
from .fake_gateway import FakeGateway


def report() -> Heartbeat:
    return heartbeat(ready(), version="1", max_mode="plan", can_ask=False, busy=0, queue=3)


def test_before_the_first_check_the_bridge_is_there_and_not_ready() -> None:
    beat = heartbeat(None, version="1", max_mode="plan", can_ask=True, busy=0, queue=0)
    assert (beat.ready, beat.can_ask, beat.agent_version) == (False, True, None)
    assert beat.lacks == ("the first self-check is running",)


def test_what_is_lacking_is_told_with_its_mend() -> None:
    failure = Failure("cli_missing", "m", "n")
    beat = heartbeat(not_ready(failure), version="1", max_mode="plan", can_ask=False, busy=0, queue=0)
    assert beat.lacks == ("fake: not found (install it)",)
    assert report().lacks == ()


async def test_it_goes_on_when_the_gateway_is_away_and_says_so_once() -> None:
    gateway, log = FakeGateway(online=False), io.StringIO()
    loop = HeartbeatLoop(gateway, report, QUICK, Log(log, as_json=False, now=lambda: 0.0), refused=lambda _: None)
    running = asyncio.create_task(loop.run())
    await gateway.until(lambda: gateway.count("heartbeat") >= 3)
    assert log.getvalue().count("was not taken") == 1
    await gateway.go(online=True)
    await gateway.until(lambda: bool(gateway.beats))
    running.cancel()


async def test_a_refused_key_is_reported() -> None:
    gateway = FakeGateway()
    gateway.faults["heartbeat"].append(GatewayProblem(401, "unauthorized"))
    refused: list[int] = []
    loop = HeartbeatLoop(
        gateway,
        report,
        QUICK,
        Log(io.StringIO(), as_json=False, now=lambda: 0.0),
        refused=lambda p: refused.append(p.status),
    )
    running = asyncio.create_task(loop.run())
    await gateway.until(lambda: bool(gateway.beats))
    running.cancel()
    assert refused == [401]
