"""Finds dsh (DeepSeek Harness) and says whether it fits. This version runs no turns for it yet, and says so."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from .vendor.discovery import Missing, find_command, is_program, list_folder, parse_version, version_text
from .vendor.process import Captured, ProcessError, capture
from .vendor.settings import Settings, user_home
from .vendor.turn import Emit, Finding, Outcome, Readiness, StopSignal, TurnRequest
from .vendor.wire import Failure

__all__ = ["DshRunner", "misfit"]

LINE = (0, 2, 1)
LIMIT_S = 20.0
INSTALL = "Install it: pip install deepseek-harness-runtime-bin==0.2.1rc2, or set AGENTMAIL_DSH_COMMAND"
NOT_YET = Failure(
    "bridge_error",
    "This version of bridge-dsh can find dsh, but it can't run turns for it yet.",
    "Write to another agent meanwhile, and update the bridge when a newer version is there.",
)


def misfit(version: str | None, headless_help: str) -> str:
    """Why this dsh can't be driven; empty when it can.

    Other programs have the same name (Debian's distributed shell among them), and early versions lack what a bridge
    needs: the help of its headless profile tells both.
    """
    if "--json" not in headless_help or "--session-id" not in headless_help:
        return "its headless profile knows no --json and --session-id: another program of this name, or too old"
    numbers = parse_version(version or "")
    if numbers is None:
        return "it does not say its version"
    if numbers[:3] != LINE:
        return f"version {version} is not of the line {'.'.join(map(str, LINE))}, the only one that was tried"
    return ""


class DshRunner:
    """Answers the self-check; every turn is a failure reply that says what is the matter."""

    name = "dsh"
    can_ask = False
    parallel_turns = 2

    def __init__(self, settings: Settings):
        self._settings = settings

    async def check(self) -> Readiness:
        """Find the program, its version, and the options that a bridge needs."""
        found = find_command(
            ["dsh"],
            environ=self._settings.environ,
            home=user_home(self._settings.environ),
            list_folder=list_folder,
            is_program=is_program,
            command=self._settings.command,
        )
        turns = Finding(False, "turns", NOT_YET.message, NOT_YET.next_step)
        if isinstance(found, Missing):
            missing = Failure("cli_missing", f"dsh was not found: {found.why}.", f"{INSTALL}.")
            return _not_ready(missing, None, Finding(False, "dsh", found.why, INSTALL), turns)
        said, told = await self._ask([*found.argv, "-V"]), await self._ask([*found.argv, "--profile", "headless", "-h"])
        version = version_text(said)
        why = misfit(version, told)
        if why:
            other = Failure("bad_option", f"This dsh does not fit the bridge: {why}.", f"{INSTALL}.")
            return _not_ready(other, version, Finding(False, "dsh", f"{found.path}: {why}", INSTALL), turns)
        return _not_ready(NOT_YET, version, Finding(True, "dsh", f"{found.path}, version {version}"), turns)

    async def run(self, request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        """Never reached while `check` says that turns can't run; says the same."""
        return Outcome(failure=NOT_YET)

    async def _ask(self, argv: Sequence[str]) -> str:
        """What the program prints, in a home of its own: looking at it must leave no trace in the user's."""
        with tempfile.TemporaryDirectory(prefix="agentmail-dsh-") as home:
            path = self._settings.environ.get("PATH") or "/usr/local/bin:/usr/bin:/bin"
            env = {"PATH": path, "HOME": home, "DSH_HOME": home, "DSH_TELEMETRY_DISABLED": "1", "NO_COLOR": "1"}
            try:
                said: Captured = await capture(argv, cwd=Path(home), env=env, timeout=LIMIT_S, limit=64 * 1024)
            except ProcessError:
                return ""
        return f"{said.stdout}\n{said.stderr}"


def _not_ready(failure: Failure, version: str | None, *findings: Finding) -> Readiness:
    return Readiness(False, findings, {}, version, failure)
