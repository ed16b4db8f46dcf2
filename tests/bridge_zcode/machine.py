"""A machine with ZCode on it: a home, the stand-in as the app's command line, and a Node that runs it."""

import asyncio
import json
import os
import signal
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bridge_zcode.agent_turn import Times
from bridge_zcode.runner import ZcodeRunner
from bridge_zcode.vendor.inbox_format import FIRST_LINE
from bridge_zcode.vendor.settings import load
from bridge_zcode.vendor.turn import Event, Outcome, StopSignal, Text, TurnRequest
from bridge_zcode.vendor.wire import Tier

__all__ = ["STAND_IN", "Machine", "Watched", "alive", "argv_of", "prompt"]

STAND_IN = Path(__file__).parents[1] / "fakes" / "zcode" / "zcode.py"
LIMIT_S = 30.0
TIMES = Times(polite_s=3.0, linger_s=1.0, swap_pause_s=0.01)


def prompt(*directives: str) -> str:
    """A mail's prompt that makes the stand-in do something."""
    return "\n".join((FIRST_LINE, "", *(f"zcode-do: {directive}" for directive in directives)))


@dataclass
class Watched:
    """What a running turn says, and the way to stop it."""

    stop: StopSignal = field(default_factory=StopSignal)
    events: list[Event] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def emit(self, event: Event) -> None:
        """Take an event of the runner."""
        self.events.append(event)
        self._changed.set()

    async def said(self, text: str) -> None:
        """Wait until the turn has said `text`."""
        async with asyncio.timeout(LIMIT_S):
            while Text(text) not in self.events:
                self._changed.clear()
                await self._changed.wait()


@dataclass
class Machine:
    """Everything below `root`. `env` is added to the bridge's environment."""

    root: Path
    env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for folder in (self.home, self.workspace, self.state):
            folder.mkdir(parents=True, exist_ok=True)
        selection = {"config": {"defaultModelSelection": {"modelId": "m"}}}
        self.write_json(self.home / ".zcode/v2/provider_config.json", selection)
        self.write_json(self.builtin, {})
        self.env = {"ZCODE_BUILTIN_PROVIDER_CONFIG_FILE": str(self.builtin), **self.env}

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    @property
    def state(self) -> Path:
        return self.root / "state"

    @property
    def builtin(self) -> Path:
        return self.root / "zcode-builtin.json"

    def write_json(self, path: Path, value: object) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
        return path

    def stand_in(self, **setting: object) -> None:
        """Set the stand-in up (see its setting.py)."""
        self.write_json(self.home / ".zcode/stand-in.json", setting)

    @property
    def environ(self) -> dict[str, str]:
        """The bridge's environment."""
        return {
            "HOME": str(self.home),
            "PATH": f"{self.root / 'bin'}:/usr/bin:/bin",
            "AGENTMAIL_STATE_DIR": str(self.state),
            "AGENTMAIL_AGENT_KEY": "ama_the_bridge_s_own_key",
            "AGENTMAIL_ZCODE_COMMAND": f"{sys.executable} {STAND_IN}",
            **self.env,
        }

    def runner(self, **env: str) -> ZcodeRunner:
        """The runner that the bridge makes of this environment."""
        return ZcodeRunner(load({**self.environ, **env}, "zcode"), platform="linux", times=TIMES)

    def request(self, text: str, tier: Tier = "plan", native: str | None = None) -> TurnRequest:
        """A turn as the driver asks for it. Its id is nobody else's: all that carries it is ended with the turn."""
        turn_id = f"turn_{uuid.uuid4().hex}"
        turn_dir = self.state / "turns" / turn_id
        session_dir = self.state / "sessions" / "ses_1"
        for folder in (turn_dir / "in", turn_dir / "out", session_dir):
            folder.mkdir(parents=True, exist_ok=True)
        return TurnRequest(
            turn_id=turn_id,
            attempt=1,
            prompt=text,
            workspace=self.workspace,
            tier=tier,
            turn_dir=turn_dir,
            session_dir=session_dir,
            session_id="ses_1",
            native_session_id=native,
            turn_key="amt_turn_key_of_this_turn",
            gateway_url="http://127.0.0.1:8180",
            env={
                "AGENTMAIL_TURN_ID": turn_id,
                "AGENTMAIL_TURN_KEY": "amt_turn_key_of_this_turn",
                "AGENTMAIL_SESSION_ID": "ses_1",
            },
            timeout_s=60,
        )

    async def run(
        self,
        *directives: str,
        tier: Tier = "plan",
        native: str | None = None,
        turn: "Watched | None" = None,
        env: Mapping[str, str] | None = None,
    ) -> tuple[Outcome, list[Event]]:
        """Run one turn to its end; its outcome and events. `turn` lets a test wait for what it says and stop it."""
        watched = turn or Watched()
        request = self.request(prompt(*directives), tier, native)
        outcome = await self.runner(**(env or {})).run(request, watched.emit, watched.stop)
        return outcome, watched.events

    def runs(self) -> list[dict[str, object]]:
        """The processes of the stand-in that were given a prompt, oldest first."""
        return [
            run
            for run in self._lines()
            if "argv" in run and any(str(word).startswith("--prompt=") for word in argv_of(run))
        ]

    def environments(self) -> list[dict[str, str]]:
        """The environment of each prompt run, after the stand-in read a ``.env``."""
        return [dict(env) for run in self._lines() if run.get("dotenv") and isinstance(env := run["env"], dict)]

    def was_asked_to_end(self) -> bool:
        """Whether a process got SIGTERM and could close in its own way."""
        return any(line.get("terminated") == signal.SIGTERM for line in self._lines())

    def _lines(self) -> list[dict[str, object]]:
        path = self.home / ".zcode/stand-in-runs.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def install(self, name: str, text: str) -> Path:
        """A program in this machine's own folder on PATH."""
        path = self.root / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def install_app(self) -> Path:
        """The app as it is on Linux, at `root`/opt/ZCode: the command line is run by Node."""
        script = self.root / "opt/ZCode/resources/glm/zcode.cjs"
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(
            f"import runpy, sys\nsys.argv[0] = {str(STAND_IN)!r}\nrunpy.run_path(sys.argv[0], run_name='__main__')\n"
        )
        return script

    def install_node(self, name: str = "node", *, sqlite: bool = True, path: Path | None = None) -> Path:
        """A `node` that runs the stand-in's script, with or without ``node:sqlite``."""
        said = json.dumps(["24.14.0", str(path or self.root / "bin" / name)])
        no = "echo 'Error [ERR_UNKNOWN_BUILTIN_MODULE]: No such built-in module: node:sqlite' >&2; exit 1"
        probe = f"echo '{said}'; exit 0" if sqlite else no
        return self.install(name, f'#!/bin/sh\nif [ "$1" = -e ]; then {probe}; fi\nexec {sys.executable} "$@"\n')


def argv_of(run: Mapping[str, object]) -> list[str]:
    """The arguments that a recorded process got."""
    argv = run["argv"]
    assert isinstance(argv, list)
    return [str(word) for word in argv]


def alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, IndexError):
        return False
