"""Start-up time and memory of the gateway."""

import time
from pathlib import Path

from .measure import Figure, median
from .servers import gateway

ROUNDS = 5


async def run(folder: Path) -> list[Figure]:
    """Measure in `folder`; about 10 s. The store exists already, as at every start but the first."""
    starts, sizes = [], []
    async with gateway(folder / "gateway"):
        pass
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        async with gateway(folder / "gateway") as server:
            connection = server.connect()
            status, _ = await connection.request("GET", "/healthz")
            starts.append(time.perf_counter() - begin)
            assert status == 200
            sizes.append(server.process.memory_info().rss / 1e6)
            connection.close()
    return [
        Figure("gateway: start -> answers", median(starts), "s", 0.8),
        Figure("gateway: memory after start", median(sizes), "MB", 60),
    ]
