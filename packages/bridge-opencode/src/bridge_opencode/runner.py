"""Finds opencode and says whether it fits. This version of the bridge runs no turns for it, and says that too."""

from .vendor.discovery import Found, Missing, find_command, is_program, list_folder, parse_version
from .vendor.node_probe import probe_version
from .vendor.settings import Settings, user_home
from .vendor.turn import Emit, Finding, Outcome, Readiness, StopSignal, TurnRequest
from .vendor.wire import Failure

__all__ = ["OpencodeRunner", "misfit"]

FLOOR = (1, 18)
NEXT_MAJOR = 2
INSTALL = "Install it: npm install -g opencode-ai, or set AGENTMAIL_OPENCODE_COMMAND"
NOT_YET = Failure(
    "bridge_error",
    "This version of bridge-opencode can find opencode, but it can't run turns for it yet.",
    "Write to another agent meanwhile, and update the bridge when a newer version is there.",
)


def misfit(version: str) -> str:
    """Why this version of opencode can't be driven; empty when it can. Version 2 has another server and other rules."""
    numbers = parse_version(version)
    if numbers is None:
        return f"its version {version!r} can't be read"
    if numbers[0] >= NEXT_MAJOR:
        return f"version {version} is of the second generation, which has another interface: use the newest 1.x"
    if numbers < FLOOR:
        return f"version {version} is older than {'.'.join(map(str, FLOOR))}: update it"
    return ""


class OpencodeRunner:
    """Answers the self-check; every turn is a failure reply that says what is the matter."""

    name = "opencode"
    can_ask = False
    parallel_turns = 2

    def __init__(self, settings: Settings):
        self._settings = settings

    async def check(self) -> Readiness:
        """Find the program and its version."""
        environ = self._settings.environ
        home = user_home(environ)
        found = find_command(
            ["opencode"],
            environ=environ,
            home=home,
            list_folder=list_folder,
            is_program=is_program,
            command=self._settings.command,
        )
        turns = Finding(False, "turns", NOT_YET.message, NOT_YET.next_step)
        if isinstance(found, Missing):
            missing = Failure("cli_missing", f"opencode was not found: {found.why}.", f"{INSTALL}.")
            return _not_ready(missing, None, Finding(False, "opencode", found.why, INSTALL), turns)
        assert isinstance(found, Found)
        version = await probe_version([*found.argv, "--version"], environ, home)
        if isinstance(version, Missing):
            broken = Failure("cli_missing", f"opencode does not start: {version.why}.", f"{INSTALL}.")
            return _not_ready(broken, None, Finding(False, "opencode", version.why, INSTALL), turns)
        why = misfit(version)
        if why:
            old = Failure("bad_option", f"This opencode does not fit the bridge: {why}.", f"{INSTALL}.")
            return _not_ready(old, version, Finding(False, "opencode", f"{found.path}: {why}", INSTALL), turns)
        return _not_ready(NOT_YET, version, Finding(True, "opencode", f"{found.path}, version {version}"), turns)

    async def run(self, request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        """Never reached while `check` says that turns can't run; says the same."""
        return Outcome(failure=NOT_YET)


def _not_ready(failure: Failure, version: str | None, *findings: Finding) -> Readiness:
    return Readiness(False, findings, {}, version, failure)
