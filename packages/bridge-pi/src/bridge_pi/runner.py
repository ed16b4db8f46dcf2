"""The runner of the bridge for pi: what the driver knows of this agent."""

import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import logins
from .agent_turn import AgentTurn, Times
from .locate import OWN_ENV, Installation, agent_folder, keys, look
from .model_network import Led, lead, own_hosts
from .session_folder import prepare
from .turn_mode import tools, unproven
from .vendor import process
from .vendor.cage import Cage, CageError, HomeFile, Needs
from .vendor.network_reach import Reach
from .vendor.settings import Settings
from .vendor.turn import Emit, Finding, Outcome, Readiness, StopSignal, TurnRequest
from .vendor.wire import Enforcement, Failure, Tier

__all__ = ["PiRunner"]

# What a confined turn sees of the user's own configuration, each as a single read-only file: pi changes its models and
# servers itself when it can write them, and a later turn of a higher tier would run what stands there.
HOME_FILES = ("models.json", "models-store.json", "settings.json", "SYSTEM.md", "APPEND_SYSTEM.md", "AGENTS.md")
# Nothing of a workspace or of the user is loaded that runs code, adds tools, or asks questions on a screen.
ALWAYS = ("--mode", "rpc", "--no-approve", "--no-extensions", "--no-mcp", "--no-skills", "--no-prompt-templates")


@dataclass(frozen=True, slots=True)
class _Copies:
    """pi's variables, what it may reach, and files that take the place of the user's own."""

    env: Mapping[str, str] = field(repr=False)
    reach: Reach
    files: Mapping[str, Path] = field(default_factory=dict)


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
        copies = _Copies(keys(self._settings), self._led().reach)
        needs = self._needs(found.installation, copies) if found.installation is not None else Needs()
        seen: dict[Tier, Enforcement] = dict(await self._cage.prove(needs))
        why = seen["plan"].why
        if not self._cage.proven:
            seen = {tier: unproven(tier, why) for tier in seen}
        mend = "Install bubblewrap, or allow unprivileged user namespaces on this machine."
        sandbox = Finding(self._cage.proven, "sandbox", why, mend)
        network = self._cage.network_findings(needs)
        findings = (*found.findings, *self._login_findings(), sandbox, *network)
        failure = found.failure or self._cage.network_trouble(needs)
        ready = found.installation is not None and failure is None
        return Readiness(ready, findings, seen, found.version, failure)

    async def run(self, request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        """Run the turn; every process of it is gone when this returns."""
        if self._installation is None:
            readiness = await self.check()
            if self._installation is None:
                return Outcome(failure=readiness.failure)
        found = self._installation
        try:
            sessions = prepare(request.session_dir)
            hidden = tuple(keys(self._settings).values())
            with self._copies(request) as copies:
                needs = self._needs(found, copies)
                async with self._cage.network(request, needs):
                    launch = self._cage.launch(request, self._command(found, request, sessions), needs)
                    child = await process.start(
                        launch.argv, cwd=launch.cwd, env=launch.env, stdin="pipe", line_limit=1 << 26
                    )
                    outcome = await AgentTurn(request, emit, stop, self._times, secrets=hidden).outcome(child)
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

    def _needs(self, found: Installation, shown: _Copies) -> Needs:
        own = agent_folder(self._settings)
        files = [HomeFile(own / name, f".pi/agent/{name}") for name in HOME_FILES if name not in shown.files]
        files += [HomeFile(path, f".pi/agent/{name}") for name, path in shown.files.items()]
        env = {**OWN_ENV, **shown.env}
        return Needs(found.programs, tuple(files), path=found.path, env=env, reach=shown.reach)

    def _login(self) -> str | None:
        """The text of ``auth.json`` as a confined turn may have it."""
        text = self._text("auth.json")
        try:
            return text if text is None else logins.read(text, self._now() * 1000).shown
        except ValueError:
            return text

    def _led(self) -> Led:
        return lead(
            self._text("models.json"), self._login(), keys(self._settings), lambda: f"key-{secrets.token_hex(16)}"
        )

    @contextmanager
    def _copies(self, request: TurnRequest) -> Iterator[_Copies]:
        """What a confined turn has instead of the user's own files, while it runs; nothing where pi uses those."""
        env = keys(self._settings)
        if not self._cage.proven or request.tier == "full":
            yield _Copies(env, Reach((), own_hosts(self._text("models.json"), self._text("auth.json"), env)))
            return
        led, login = self._led(), self._login()
        texts = {} if login is None else {"auth.json": login}
        if self._settings.network == "model":
            env, texts = led.env, {"models.json": led.models}
            if led.auth is not None:
                texts["auth.json"] = led.auth
        folder = self._settings.state_dir / "logins" / request.turn_id
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            for name, text in texts.items():
                _write_private(folder / name, text)
            yield _Copies(env, led.reach, {name: folder / name for name in texts})
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _text(self, name: str) -> str | None:
        try:
            return (agent_folder(self._settings) / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None

    def _login_findings(self) -> Iterator[Finding]:
        text = self._text("auth.json")
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


def _write_private(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
