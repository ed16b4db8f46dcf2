"""A machine with the real pi on it, whose model is the scripted one."""

import asyncio
import json
import os
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from bridge_pi.agent_turn import Times
from bridge_pi.runner import PiRunner
from bridge_pi.vendor.settings import load
from bridge_pi.vendor.turn import Event, Outcome, Readiness, StopSignal, TurnRequest
from bridge_pi.vendor.wire import Tier

from ..agents.install import agents_or_skip
from ..agents.model_server import ModelServer, model_server
from ..agents.script import mark

__all__ = ["FIRST_LINE", "Machine", "machine"]

FIRST_LINE = "This is a mail for you, delivered by AgentMail.\n\n"
LIMIT_S = 60
_SEEN: list[tuple[Any, Any]] = []


@dataclass
class Machine:
    """Everything below `root`. `env` is added to the bridge's environment."""

    root: Path
    model: ModelServer
    env: dict[str, str] = field(default_factory=dict)
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)  # processes are told apart by their turn

    def __post_init__(self) -> None:
        for folder in (self.home, self.workspace, self.state):
            folder.mkdir(parents=True, exist_ok=True)
        (self.workspace / "readme").write_text("the project's readme\n")
        (self.home / "private").write_text("a person's secret\n")
        self.write(self.own / "settings.json", {"retry": {"maxRetries": 1, "baseDelayMs": 1, "maxAgentDelayMs": 1}})
        self.models(self.model.url)
        found = agents_or_skip()
        self.env = {
            "AGENTMAIL_PI_COMMAND": f"{found.node} {found.pi}",
            "AGENTMAIL_PI_ENV": "FAKE_KEY",
            "FAKE_KEY": "sk-fake-0123456789",
            "PATH": f"{found.rg.parent}:/usr/bin:/bin",
            **self.env,
        }

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def own(self) -> Path:
        """pi's own folder of the user."""
        return self.home / ".pi" / "agent"

    @property
    def workspace(self) -> Path:
        return self.root / "work" / "site"

    @property
    def state(self) -> Path:
        return self.root / "state"

    def write(self, path: Path, value: object) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return path

    def models(self, url: str) -> None:
        """Set pi up with the one model at `url`."""
        cost = {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0}
        one = {"id": "fake-1", "name": "Fake", "contextWindow": 900_000, "maxTokens": 8192, "cost": cost}
        fake = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "$FAKE_KEY", "models": [one]}
        self.write(self.own / "models.json", {"providers": {"fake": fake}})

    def runner(self, times: Times | None = None, **env: str) -> PiRunner:
        """The runner that the bridge makes of this environment."""
        environ = {"HOME": str(self.home), "AGENTMAIL_STATE_DIR": str(self.state), **self.env, **env}
        return PiRunner(load(environ, "pi"), times=times)

    def request(
        self,
        text: str,
        tier: Tier = "plan",
        *,
        thread: str = "1",
        native: str | None = None,
        workspace: Path | None = None,
    ) -> TurnRequest:
        """A turn as the driver asks for it."""
        turn_id = f"turn_{self.mark}_{thread}"
        turn_dir, session_dir = self.state / "turns" / turn_id, self.state / "sessions" / f"ses_{thread}"
        for folder in (turn_dir / "in", turn_dir / "out", session_dir):
            folder.mkdir(parents=True, exist_ok=True)
        return TurnRequest(
            turn_id=turn_id,
            attempt=1,
            prompt=FIRST_LINE + text,
            workspace=workspace or self.workspace,
            tier=tier,
            turn_dir=turn_dir,
            session_dir=session_dir,
            session_id=f"ses_{thread}",
            native_session_id=native,
            turn_key="amt_turn_key_of_this_turn",
            gateway_url="http://127.0.0.1:8180",
            env={"AGENTMAIL_TURN_ID": turn_id, "AGENTMAIL_TURN_DIR": str(turn_dir)},
            timeout_s=60,
        )

    async def ready(self, times: Times | None = None, **env: str) -> tuple[PiRunner, Readiness]:
        """A runner that has looked at this machine; skips where the sandbox does not hold."""
        runner = self.runner(times, **env)
        readiness = await runner.check()
        if readiness.enforcement["plan"].level != "sandbox":
            if os.environ.get("AGENTMAIL_TESTS_REQUIRE_ALL"):
                pytest.fail(readiness.enforcement["plan"].why)
            pytest.skip(readiness.enforcement["plan"].why)
        return runner, readiness

    async def quick(self, times: Times | None = None, **env: str) -> PiRunner:
        """A runner that knows from an earlier test what is installed here and that the sandbox holds."""
        if not _SEEN:
            runner, _ = await self.ready()
            _SEEN.append((runner._installation, runner._cage._proof))
        runner = self.runner(times, **env)
        runner._installation, runner._cage._proof = _SEEN[0]
        return runner

    async def run(
        self, text: str, tier: Tier = "plan", *, runner: PiRunner | None = None, native: str | None = None
    ) -> tuple[Outcome, list[Event]]:
        """Run one turn to its end; its outcome and events."""
        events: list[Event] = []
        made = runner or await self.quick()
        outcome = await made.run(self.request(text, tier, native=native), events.append, StopSignal())
        return outcome, events

    async def steps(self, *steps: dict[str, Any], tier: Tier = "plan", runner: PiRunner | None = None) -> Outcome:
        """The outcome of a turn in which the model takes `steps`."""
        return (await self.run(f"Please. {mark(*steps)}", tier, runner=runner))[0]

    def told(self) -> str:
        """What the model was last told, as JSON: the results of its tools are in there."""
        return json.dumps(self.model.asked[-1].body["messages"], ensure_ascii=False)

    def left(self) -> list[str]:
        """Command lines of processes that belong to this machine and are still alive."""
        found = []
        for process in psutil.process_iter():
            try:
                words = process.cmdline()
            except psutil.Error:
                continue
            if process.pid != os.getpid() and any(str(self.root) in word for word in words):
                found.append(" ".join(words))
        return found


async def until(holds: Callable[[], bool], limit_s: float = LIMIT_S) -> None:
    """Return when `holds`; TimeoutError otherwise."""
    async with asyncio.timeout(limit_s):
        while not holds():  # noqa: ASYNC110 - what another program does has no event
            await asyncio.sleep(0.02)


@asynccontextmanager
async def machine(root: Path, **env: str) -> AsyncIterator[Machine]:
    """A machine below `root`, with its model running."""
    async with model_server() as model:
        yield Machine(root, model, dict(env))
