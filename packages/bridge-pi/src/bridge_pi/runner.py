"""The runner of the bridge for pi: what the driver knows of this agent."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from . import logins
from .agent_turn import AgentTurn, Times
from .locate import OWN_ENV, Installation, agent_folder, keys, look
from .session_folder import prepare
from .turn_mode import tools, unproven
from .vendor import process
from .vendor.cage import Cage, CageError, HomeFile, Needs
from .vendor.settings import Settings
from .vendor.turn import Emit, Finding, Outcome, Readiness, StopSignal, TurnRequest
from .vendor.wire import Enforcement, Failure, Tier

__all__ = ["PiRunner"]

# What a confined turn sees of the user's own configuration, each as a single read-only file: pi changes its models and
# servers itself when it can write them, and a later turn of a higher tier would run what stands there.
HOME_FILES = ("models.json", "models-store.json", "settings.json", "SYSTEM.md", "APPEND_SYSTEM.md", "AGENTS.md")
# Nothing of a workspace or of the user is loaded that runs code, adds tools, or asks questions on a screen.
ALWAYS = ("--mode", "rpc", "--no-approve", "--no-extensions", "--no-mcp", "--no-skills", "--no-prompt-templates")


class PiRunner:
    """One ``pi --mode rpc`` process per turn, in the turn's cage. `now` is the epoch in seconds."""

    name = "pi"
    can_ask = False
    parallel_turns = 2

    def __init__(self, settings: Settings, *, times: Times | None = None, now: Callable[[], float] = time.time):
        self._settings = settings
        self._times = times or Times()
        self._now = now
        self._cage = Cage(settings)
        self._installation: Installation | None = None

    async def check(self) -> Readiness:
        """Find pi, a Node that can run it and a model, and prove the sandbox around them."""
        found = await look(self._settings)
        self._installation = found.installation
        needs = self._needs(found.installation) if found.installation is not None else Needs()
        seen: dict[Tier, Enforcement] = dict(await self._cage.prove(needs))
        why = seen["plan"].why
        if not self._cage.proven:
            seen = {tier: unproven(tier, why) for tier in seen}
        mend = "Install bubblewrap, or allow unprivileged user namespaces on this machine."
        sandbox = Finding(self._cage.proven, "sandbox", why, mend)
        findings = (*found.findings, *self._login_findings(), sandbox)
        ready = found.installation is not None and found.failure is None
        return Readiness(ready, findings, seen, found.version, found.failure)

    async def run(self, request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        """Run the turn; every process of it is gone when this returns."""
        if self._installation is None:
            readiness = await self.check()
            if self._installation is None:
                return Outcome(failure=readiness.failure)
        found = self._installation
        try:
            sessions = prepare(request.session_dir)
            with self._login(request) as login:
                needs = self._needs(found, login)
                launch = self._cage.launch(request, self._command(found, request, sessions), needs)
                child = await process.start(
                    launch.argv, cwd=launch.cwd, env=launch.env, stdin="pipe", line_limit=1 << 26
                )
                turn = AgentTurn(request, emit, stop, self._times, secrets=tuple(needs.env.values()))
                outcome = await turn.outcome(child)
        except CageError as error:
            return Outcome(failure=error.failure)
        except process.ProcessError as error:
            return Outcome(failure=error.failure)
        except OSError as error:
            told = f"The turn's folders can't be written: {error.strerror or error}."
            return Outcome(failure=Failure("bridge_error", told, "Look at the bridge's state folder."))
        return replace(outcome, note="\n".join(filter(None, (outcome.note, *self._cage.after(request)))))

    def _command(self, found: Installation, request: TurnRequest, sessions: Path) -> list[str]:
        """pi's whole command line. No word of a mail is on it: pi would take one for an option, a file or a command."""
        names = tools(request.tier, sandboxed=self._cage.proven)
        session = request.session_id.replace("_", "-")
        words = [*found.command, *ALWAYS, "--session-id", session, "--session-dir", str(sessions)]
        words += ["--tools", ",".join(names)]
        model = self._settings.environ.get("AGENTMAIL_PI_MODEL", "").strip()
        return [*words, "--model", model] if model else words

    def _needs(self, found: Installation, login: Path | None = None) -> Needs:
        own = agent_folder(self._settings)
        files = [HomeFile(own / name, f".pi/agent/{name}") for name in HOME_FILES]
        if login is not None:
            files.append(HomeFile(login, ".pi/agent/auth.json"))
        return Needs(found.programs, tuple(files), path=found.path, env={**OWN_ENV, **keys(self._settings)})

    @contextmanager
    def _login(self, request: TurnRequest) -> Iterator[Path | None]:
        """The file with the logins of a confined turn, while it runs; None where pi uses the user's own."""
        text = self._auth_text() if self._cage.proven and request.tier != "full" else None
        if text is None:
            yield None
            return
        try:
            shown = logins.read(text, self._now() * 1000).shown
        except ValueError:
            shown = text
        folder = self._settings.state_dir / "logins"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / f"{request.turn_id}.json"
        path.unlink(missing_ok=True)
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(shown)
            yield path
        finally:
            path.unlink(missing_ok=True)

    def _auth_text(self) -> str | None:
        try:
            return (agent_folder(self._settings) / "auth.json").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None

    def _login_findings(self) -> Iterator[Finding]:
        text = self._auth_text()
        try:
            known = logins.read(text, self._now() * 1000) if text else None
        except ValueError:
            yield Finding(False, "pi's logins", "auth.json can't be read", "Sign in anew: start pi, then /login.")
            return
        if known is None or not known.subscriptions:
            return
        names = ", ".join(known.subscriptions)
        if known.expired:
            over = ", ".join(known.expired)
            mend = "Start pi once on this machine to renew it. An API key in AGENTMAIL_PI_ENV does not run out."
            yield Finding(False, "pi's logins", f"the subscription login of {over} has run out", mend)
        else:
            yield Finding(True, "pi's logins", f"{names} (a subscription; only pi itself, outside of mail, renews it)")
