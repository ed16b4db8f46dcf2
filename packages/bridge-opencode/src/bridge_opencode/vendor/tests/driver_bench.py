"""A driver with a runner that does what a test says, against the gateway in memory."""

import asyncio
import io
import itertools
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ..bridge_log import Log
from ..bridge_parts import Outside, StateFolder
from ..driver import Driver
from ..pace import Pace
from ..settings import load
from ..turn import Emit, Finding, Outcome, Readiness, StopSignal, TurnRequest
from ..wire import Enforcement, Failure, Tier
from .fake_gateway import LIMIT_S, FakeGateway, within

__all__ = ["QUICK", "Bench", "ScriptedRunner", "bench", "ready"]

QUICK = Pace(
    renew=0.01,
    renew_again=0.005,
    heartbeat=0.05,
    heartbeat_soon=0.01,
    progress=0.001,
    hard_stop=0.2,
    last_wait=0.1,
    shutdown=3.0,
    recheck=0.01,
    recheck_turn=0.0,
    check=5.0,
    overload=(0.001, 0.001),
    redeliver=(0.005, 0.01),
    reclaim=0.01,
)
ENFORCED: dict[Tier, Enforcement] = {
    "plan": Enforcement("native", "the fake refuses"),
    "workspace": Enforcement("native", "the fake refuses"),
}
Behaviour = Callable[[TurnRequest, Emit, StopSignal], Awaitable[Outcome]]


def ready(enforcement: dict[Tier, Enforcement] | None = None) -> Readiness:
    return Readiness(True, (Finding(True, "fake", "found"),), ENFORCED if enforcement is None else enforcement, "1.0")


def not_ready(failure: Failure) -> Readiness:
    return Readiness(False, (Finding(False, "fake", "not found", "install it"),), {}, None, failure)


@dataclass
class ScriptedRunner:
    """Answers ``done: <turn>``, or does what `behave` says; each call waits at `gate` while that is closed."""

    behave: Behaviour | None = None
    readiness: Readiness = field(default_factory=ready)
    can_ask: bool = False
    parallel_turns: int = 2
    name: str = "zcode"
    requests: list[TurnRequest] = field(default_factory=list)
    running: set[str] = field(default_factory=set)
    most_running: int = 0
    checks: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    def __post_init__(self) -> None:
        self.gate.set()

    async def check(self) -> Readiness:
        self.checks += 1
        return self.readiness

    async def run(self, request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        self.requests.append(request)
        self.running.add(request.turn_id)
        self.most_running = max(self.most_running, len(self.running))
        async with self.changed:
            self.changed.notify_all()
        try:
            if self.behave is not None:
                return await self.behave(request, emit, stop)
            gate = asyncio.create_task(self.gate.wait())
            stopping = asyncio.create_task(stop.event.wait())
            await asyncio.wait({gate, stopping}, return_when=asyncio.FIRST_COMPLETED)
            gate.cancel()
            stopping.cancel()
            if stop.reason is not None:
                return Outcome(stopped=stop.reason)
            return Outcome(text=f"done: {request.turn_id}")
        finally:
            self.running.discard(request.turn_id)
            async with self.changed:
                self.changed.notify_all()

    async def until_running(self, *turn_ids: str) -> None:
        """Wait until all of these turns run."""
        await within(self.changed, lambda: self.running.issuperset(turn_ids))


@dataclass
class Bench:
    """A driver under way. `swept` are the ids that leftovers were looked for."""

    gateway: FakeGateway
    runner: ScriptedRunner
    driver: Driver
    task: asyncio.Task[int]
    state: StateFolder
    log: io.StringIO
    swept: deque[str]

    async def stop(self) -> int:
        """SIGTERM; the exit code."""
        self.driver.stop()
        return await self.ended()

    async def ended(self) -> int:
        async with asyncio.timeout(LIMIT_S):
            return await self.task

    async def kill(self) -> None:
        """The end of the process, without any of the driver's own endings: nothing more is said or written."""
        for task in asyncio.all_tasks():
            if task is not asyncio.current_task():
                task.cancel()
        self.gateway.online = False
        await asyncio.gather(self.task, return_exceptions=True)
        self.gateway.online = True


@asynccontextmanager
async def bench(
    tmp_path: Path,
    gateway: FakeGateway | None = None,
    runner: ScriptedRunner | None = None,
    *,
    once: bool = False,
    pace: Pace = QUICK,
    **environ: str,
) -> AsyncIterator[Bench]:
    """Run a driver on the state folder in `tmp_path`; it is stopped at the end."""
    gateway = gateway or FakeGateway()
    runner = runner or ScriptedRunner()
    settings = load(
        {
            "HOME": str(tmp_path / "home"),
            "AGENTMAIL_HOME": str(tmp_path / "data"),
            "AGENTMAIL_AGENT_KEY": "ama_k3y",
            **environ,
        },
        "zcode",
    )
    state = StateFolder(settings.state_dir)
    state.make()
    for _, path in settings.workspaces:
        path.mkdir(parents=True, exist_ok=True)
    log = io.StringIO()
    nonces = itertools.count(0x1000_0000)
    swept: deque[str] = deque()

    async def sweep(what: str) -> None:
        swept.append(what)

    driver = Driver(
        settings,
        runner,
        gateway,
        bridge_id="bridge1",
        version="0.1.0",
        log=Log(log, as_json=False, now=lambda: 1_796_000_000.0),
        outside=Outside(
            epoch=lambda: 1_796_000_000.0,
            clock=asyncio.get_running_loop().time,
            nonce=lambda: f"{next(nonces):x}",
            jitter=lambda: 0.5,
            sweep=sweep,
            sweep_bridge=sweep,
        ),
        pace=pace,
    )
    task = asyncio.create_task(driver.run(once=once))
    made = Bench(gateway, runner, driver, task, state, log, swept)
    try:
        yield made
    finally:
        driver.stop()
        async with asyncio.timeout(LIMIT_S):
            await asyncio.gather(task, return_exceptions=True)
