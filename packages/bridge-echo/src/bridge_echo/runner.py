"""Drives one turn of the echo agent: a real child process, prompt on standard input, JSON lines out."""

import asyncio
import shlex
import sys
import tempfile
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path

from .events import Reader
from .turn_mode import PROBE_NAME, options, probe_mail
from .vendor import process
from .vendor.settings import Settings
from .vendor.turn import Emit, Finding, Outcome, Readiness, StopSignal, TurnRequest
from .vendor.wire import Enforcement, Failure, Tier

__all__ = ["EchoRunner"]

AGENT = Path(__file__).with_name("agent.py")
# The environment is an allow list: neither the bridge's key nor anything else of it reaches an agent.
PASSED_ON = ("LANG", "LC_ALL", "PATH", "SYSTEMROOT", "TZ")
POLITE_S = 3.0
CHECK_S = 15.0


class EchoRunner:
    """The runner of bridge-echo; `AGENTMAIL_ECHO_COMMAND` starts another program in the agent's place."""

    name = "echo"
    can_ask = False
    parallel_turns = 2

    def __init__(self, settings: Settings):
        self._command = shlex.split(settings.command) if settings.command else [sys.executable, "-I", "-S", str(AGENT)]
        self._base = {name: settings.environ[name] for name in PASSED_ON if name in settings.environ}

    async def check(self) -> Readiness:
        """Start the real agent, ask it for what each tier forbids, and see it refuse."""
        try:
            found = await process.capture(
                [*self._command, "--version"], cwd=Path.cwd(), env=self._base, timeout=CHECK_S
            )
        except process.ProcessError as error:
            finding = Finding(False, "agent", error.message, error.next_step)
            return Readiness(False, (finding,), {}, None, error.failure)
        version = found.stdout.strip().removeprefix("echo ") if found.returncode == 0 else None
        if version is None:
            message = f"the echo agent does not start (status {found.returncode}): {found.stderr.strip()[-300:]}"
            failure = Failure("bad_option", message, "Unset AGENTMAIL_ECHO_COMMAND.")
            return Readiness(False, (Finding(False, "agent", message, failure.next_step),), {}, None, failure)
        enforcement: dict[Tier, Enforcement] = {tier: await self._probe(tier) for tier in ("plan", "workspace")}
        findings = (Finding(True, "agent", f"version {version}, {' '.join(self._command[:1])}"),)
        return Readiness(True, findings, enforcement, version)

    async def _probe(self, tier: Tier) -> Enforcement:
        with tempfile.TemporaryDirectory(prefix="agentmail-probe-") as name:
            inside = Path(name, "workspace")
            inside.mkdir()
            argv = [*self._command, *options(tier, inside, None, None)]
            async with await process.start(argv, cwd=inside, env=self._base, stdin=probe_mail(tier).encode()) as child:
                async with asyncio.timeout(CHECK_S), aclosing(child.stdout_lines()) as lines:
                    said = [line.text async for line in lines]
                await child.wait()
            written = [path for path in Path(name).rglob("*") if path.name == PROBE_NAME]
        if written or not any('"denied": ["write"]' in line for line in said):
            return Enforcement("advisory", "the agent did not refuse a write that this tier forbids")
        what = "any write to the workspace" if tier == "plan" else "a write outside of the workspace"
        return Enforcement("native", f"the agent was seen to refuse {what}; it can run nothing")

    async def run(self, request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        """One turn. A stop is a SIGTERM first, and `POLITE_S` seconds later the end of the whole tree."""
        memory = request.session_dir / "echo.json"
        argv = [
            *self._command,
            *options(request.tier, request.turn_dir / "out", memory, request.native_session_id),
        ]
        try:
            child = await process.start(
                argv, cwd=request.workspace, env=self._environment(request.env), stdin=request.prompt.encode()
            )
        except process.ProcessError as error:
            return Outcome(failure=error.failure)
        reader = Reader(request.native_session_id)
        async with child:
            reading = asyncio.create_task(_read(child, reader, emit))
            stopping = asyncio.create_task(stop.event.wait())
            try:
                await asyncio.wait({reading, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if not reading.done():
                    await child.kill_tree(grace_s=POLITE_S)
                await reading
            finally:
                reading.cancel()
                stopping.cancel()
        outcome = reader.outcome(child.returncode or 0, child.stderr_tail())
        if stop.reason is not None and outcome.failure is not None:
            return Outcome(text=outcome.text, stopped=stop.reason, native_session_id=outcome.native_session_id)
        return outcome

    def _environment(self, turn: Mapping[str, str]) -> dict[str, str]:
        return {**self._base, "PYTHONUTF8": "1", **turn}


async def _read(child: process.Child, reader: Reader, emit: Emit) -> None:
    async with aclosing(child.stdout_lines()) as lines:
        async for line in lines:
            event = reader.line(line.text)
            if event is not None:
                emit(event)
    await child.wait()
