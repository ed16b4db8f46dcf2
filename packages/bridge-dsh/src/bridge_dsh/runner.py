"""The runner of the bridge for dsh: what the driver knows of this agent."""

import os
import secrets
from dataclasses import replace
from pathlib import Path

from .agent_turn import AgentTurn, Ended, Times, told
from .failures import lost_session
from .home_folder import prepare
from .locate import Installation, environment, look, setup
from .model_network import lead, own_hosts
from .native_probe import prove
from .turn_mode import mode, unproven
from .vendor import process
from .vendor.cage import Cage, CageError, Needs
from .vendor.network_reach import Reach
from .vendor.settings import Settings
from .vendor.turn import Emit, Finding, Outcome, Readiness, Status, StopSignal, TurnRequest
from .vendor.wire import Enforcement, Failure, Tier

__all__ = ["DshRunner"]

PROBED: tuple[Tier, ...] = ("plan", "workspace")


class DshRunner:
    """One ``dsh --profile headless --json`` process per turn, in the turn's cage."""

    name = "dsh"
    can_ask = False
    parallel_turns = 2

    def __init__(self, settings: Settings, *, times: Times | None = None):
        self._settings = settings
        self._times = times or Times()
        self._cage = Cage(settings)
        self._installation: Installation | None = None

    async def check(self) -> Readiness:
        """Find dsh, make sure that it is the DeepSeek Harness and obeys, and prove the sandbox around it."""
        found = await look(self._settings, self._settings.state_dir / "dsh")
        self._installation = found.installation
        needs = self._needs(found.installation, None, "plan") if found.installation is not None else Needs()
        seen: dict[Tier, Enforcement] = dict(await self._cage.prove(needs))
        why = seen["plan"].why
        if not self._cage.proven:
            root = hasattr(os, "geteuid") and os.geteuid() == 0
            seen = {tier: unproven(tier, why, root=root) for tier in seen}
            if found.installation is not None and not root:
                folder = self._settings.state_dir / "dsh" / "probe"
                for tier in PROBED:
                    seen[tier] = await prove(found.installation.command, folder, tier)
        mend = "Install bubblewrap, or allow unprivileged user namespaces on this machine."
        sandbox = Finding(self._cage.proven, "sandbox", why, mend)
        findings = (*found.findings, sandbox, *self._cage.network_findings(needs))
        failure = found.failure or self._cage.network_trouble(needs)
        ready = found.installation is not None and failure is None
        return Readiness(ready, findings, seen, found.version, failure)

    async def run(self, request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        """Run the turn, once more in a fresh session when its own can't be resumed. No process of it is left."""
        if self._installation is None:
            readiness = await self.check()
            if self._installation is None:
                return Outcome(failure=readiness.failure)
        found = self._installation
        session = request.native_session_id
        note = ""
        try:
            home = prepare(request.session_dir)
            ended = await self._process(found, request, home, session, emit, stop)
            lost = lost_session(ended.reader.refused) if session is not None else ""
            if lost and stop.reason is None:
                emit(Status("the session could not be resumed, starting a fresh one"))
                note = f"dsh did not take up its earlier session: {lost}"
                ended = await self._process(found, request, home, None, emit, stop)
        except CageError as error:
            return Outcome(failure=error.failure)
        except process.ProcessError as error:
            return Outcome(failure=error.failure)
        except OSError as error:
            why = f"The turn's folders can't be written: {error.strerror or error}."
            return Outcome(failure=Failure("bridge_error", why, "Look at the bridge's state folder."))
        hidden = tuple(setup(self._settings).keys.values())
        outcome = told(ended, stop, secrets=hidden, context_lost=bool(note), note=note)
        left = self._cage.after(request)
        return replace(outcome, note="\n".join(filter(None, (outcome.note, *left))))

    async def _process(
        self,
        found: Installation,
        request: TurnRequest,
        home: Path,
        session: str | None,
        emit: Emit,
        stop: StopSignal,
    ) -> Ended:
        """One dsh from its start until nothing of it is left. The mail goes through its input, not its command line."""
        proven = self._cage.proven
        needs = self._needs(found, home, request.tier, permission=mode(request.tier, sandboxed=proven))
        resume = () if session is None else (f"--session-id={session}",)
        command = (*found.headless, "--json", *resume, "-")
        prompt = request.prompt.encode("utf-8", "replace")
        async with self._cage.network(request, needs):
            launch = self._cage.launch(request, command, needs)
            child = await process.start(launch.argv, cwd=launch.cwd, env=launch.env, stdin=prompt, line_limit=1 << 26)
            return await AgentTurn(emit, stop, self._times, caged=proven).ended(child)

    def _needs(self, found: Installation, home: Path | None, tier: Tier, *, permission: str | None = None) -> Needs:
        env = environment(self._settings)
        reach = Reach((), own_hosts(env))
        if self._settings.network == "model" and tier != "full":
            env, reach = lead(env, lambda: f"key-{secrets.token_hex(16)}")
        if home is not None:
            env["DSH_HOME"] = str(home)
        if permission is not None:
            env["DSH_PERMISSION_MODE"] = permission
        return Needs((*found.programs, *found.patches), env=env, reach=reach)
