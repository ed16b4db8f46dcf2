"""Send → 201 with full durability, against the minimal prototype on the same stack, in turns; disk per small mail."""

import asyncio
import time
from pathlib import Path

from .measure import Figure, median, percentile
from .raw_http import Connection
from .servers import gateway, prototype

SINGLE, ROUNDS, SENDERS, EACH = 300, 5, 16, 150
BODY = {"to": ["bench"], "subject": "A small mail", "body": "word " * 100}


async def one_after_the_other(connection: Connection, count: int) -> list[float]:
    """Milliseconds of each of `count` sends on one connection."""
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        status, _ = await connection.request("POST", "/api/v1/mails", BODY)
        times.append((time.perf_counter() - begin) * 1000)
        assert status == 201, status
    return times


async def at_once(connections: list[Connection], each: int) -> float:
    """Mails per second of all connections together."""
    begin = time.perf_counter()
    await asyncio.gather(*(one_after_the_other(connection, each) for connection in connections))
    return len(connections) * each / (time.perf_counter() - begin)


def disk(folder: Path) -> int:
    """Bytes of all files below `folder`."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


async def run(folder: Path) -> list[Figure]:
    """Measure in `folder`; about 20 s."""
    ours_ms, floor_ms, ours_rate, floor_rate = [], [], [], []
    async with gateway(folder / "gateway") as server, prototype(folder / "prototype") as bare:
        mine = [server.connect() for _ in range(SENDERS)]
        floor = [bare.again() for _ in range(SENDERS)]
        for crowd in (mine, floor):
            await at_once(crowd, 50)
        for _ in range(ROUNDS):
            ours_ms.append(percentile(await one_after_the_other(mine[0], SINGLE), 0.5))
            floor_ms.append(percentile(await one_after_the_other(floor[0], SINGLE), 0.5))
            ours_rate.append(await at_once(mine, EACH))
            floor_rate.append(await at_once(floor, EACH))
        for connection in (*mine, *floor):
            connection.close()
    sent = SENDERS * 50 + ROUNDS * (SINGLE + SENDERS * EACH)
    per_mail = disk(folder / "gateway") / sent
    return [
        Figure("send -> 201, one sender, p50", median(ours_ms), "ms", 1.5, median(floor_ms)),
        Figure("sends at 16 senders", median(ours_rate), "/s", 0.8, median(floor_rate), at_least=True),
        Figure("disk per small mail", per_mail / 1000, "kB", 4),
    ]
