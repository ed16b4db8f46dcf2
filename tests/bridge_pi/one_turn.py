"""A process that runs one turn, to be killed: ``python -m tests.bridge_pi.one_turn ROOT PORT``, the mail as input."""

import asyncio
import sys
from pathlib import Path

from bridge_pi.vendor.turn import StopSignal

from ..agents.model_server import ModelServer
from .machine import Machine


async def main() -> None:
    """Run the turn in the machine below ROOT, whose model listens at PORT."""
    made = Machine(Path(sys.argv[1]), ModelServer(port=int(sys.argv[2])))
    runner, _ = await made.ready()
    await runner.run(made.request(sys.stdin.read(), "workspace"), lambda _: None, StopSignal())


if __name__ == "__main__":
    asyncio.run(main())
