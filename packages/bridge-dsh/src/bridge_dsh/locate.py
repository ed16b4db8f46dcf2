"""Finds dsh, the DeepSeek Harness, and makes sure that it is that and can do what the bridge needs."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .turn_mode import PATCH, obeyed
from .vendor import process
from .vendor.discovery import Found, Missing, find_command, is_program, list_folder, version_text
from .vendor.settings import Settings, user_home
from .vendor.turn import Finding
from .vendor.wire import Failure, FailureClass

__all__ = ["DEFAULT_ENV", "Installation", "Look", "Setup", "environment", "look", "setup"]

INSTALL = (
    "Install it (uv tool install deepseek-harness-runtime-bin==0.2.1rc2), or set AGENTMAIL_DSH_COMMAND to its path."
)
DEFAULT_ENV = "DEEPSEEK_API_KEY DEEPSEEK_BASE_URL"
OWN_ENV = {"DSH_TELEMETRY_DISABLED": "1"}
LARGE = 20_000_000  # bytes; the harness is one large program, Debian's dsh a small one
LIMIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Setup:
    """What the user set for dsh: `keys` are variables with their values, `patch` a file of theirs, `model` a choice."""

    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    patch: Path | None = None
    model: str = ""


@dataclass(frozen=True, slots=True)
class Installation:
    """How to start dsh: `command` (absolute, without options), what it needs to see, and the patches in order."""

    command: tuple[str, ...]
    programs: tuple[Path, ...]
    patches: tuple[Path, ...]

    @property
    def headless(self) -> tuple[str, ...]:
        """The command line up to the options of the headless profile."""
        patches = [word for patch in self.patches for word in ("--patch", str(patch))]
        return (*self.command, "--profile", "headless", *patches)


@dataclass(frozen=True, slots=True)
class Look:
    """What was found: `installation` None when dsh can't be started, `failure` when a turn can't run."""

    findings: tuple[Finding, ...]
    installation: Installation | None = None
    version: str | None = None
    failure: Failure | None = None


def setup(settings: Settings) -> Setup:
    """The settings of dsh's own, from the environment."""
    environ = settings.environ
    names = re.split(r"[\s,]+", environ.get("AGENTMAIL_DSH_ENV", DEFAULT_ENV))
    keys = {name: value for name in names if name and (value := environ.get(name))}
    patch = environ.get("AGENTMAIL_DSH_PATCH", "").strip()
    if patch.startswith("~/"):
        patch = str(user_home(environ) / patch[2:])
    return Setup(keys, Path(patch).absolute() if patch else None, environ.get("AGENTMAIL_DSH_MODEL", "").strip())


def environment(settings: Settings) -> dict[str, str]:
    """The variables that every dsh of the bridge gets."""
    return {**OWN_ENV, **setup(settings).keys}


async def look(settings: Settings, folder: Path) -> Look:
    """Look at everything; `folder` is the bridge's own for its patch and its trials. Calls no model.

    Never raises for what is missing.
    """
    command, finding = _command(settings)
    if command is None:
        return Look((finding,), failure=Failure("cli_missing", f"{finding.found}.", finding.mend))
    chosen = setup(settings)
    try:
        own = _write_patch(folder, chosen)
    except OSError as error:
        told = f"the bridge's patch for dsh can't be written: {error.strerror or error}"
        mend = "Look at the bridge's state folder."
        return Look((finding, Finding(False, "dsh's set-up", told, mend)), failure=Failure("bridge_error", told, mend))
    patches = (chosen.patch, own) if chosen.patch is not None else (own,)
    installation = Installation(command, tuple(dict.fromkeys(map(_visible, command))), patches)
    trials = _Trials(folder, settings)
    program, headless, version, config = await asyncio.gather(
        trials.run((*command, "--help")),
        trials.run((*command, "--profile", "headless", "--help")),
        trials.run((*command, "--version")),
        trials.run((*installation.headless, "--dump-config")),
    )
    findings = [finding]
    number = version_text(version)
    for trial in (
        _is_harness(command, program),
        _speaks_json(headless, number),
        _obeys(config, chosen),
    ):
        findings.append(trial)
        if not trial.ok:
            class_: FailureClass = "cli_missing" if trial.what == "DeepSeek Harness" else "bad_option"
            return Look(tuple(findings), None, number, Failure(class_, f"{trial.found}.", trial.mend))
    key = _key(chosen)
    failure = None if key.ok else Failure("not_signed_in", f"{key.found}.", key.mend)
    return Look((*findings, key), installation, number, failure)


def _command(settings: Settings) -> tuple[tuple[str, ...] | None, Finding]:
    environ, home = settings.environ, user_home(settings.environ)
    found = find_command(
        ["dsh"],
        environ=environ,
        home=home,
        list_folder=list_folder,
        is_program=is_program,
        command=settings.command,
        fits=_may_be_harness,
    )
    if isinstance(found, Missing):
        return None, Finding(False, "dsh", found.why.replace("dsh was", "dsh (DeepSeek Harness) was"), INSTALL)
    runtime = _runtime(found) if len(found.argv) == 1 else None
    argv = (str(runtime),) if runtime is not None else (str(found.path.resolve()), *found.argv[1:])
    return argv, Finding(True, "dsh", " ".join(argv))


def _may_be_harness(path: Path) -> bool:
    """Turns down other programs of that name (Debian's distributed shell) without starting them."""
    real = path.resolve()
    if "deepseek" in str(real).lower():
        return True
    try:
        with real.open("rb") as file:
            return b"deepseek" in file.read(8192).lower() or real.stat().st_size > LARGE
    except OSError:
        return False


def _runtime(found: Found) -> Path | None:
    """The program itself behind the small Python script that its wheel installs: a signal must reach it."""
    for top in dict.fromkeys((found.path.resolve().parent.parent, found.path.parent.parent)):
        for place in sorted(top.glob("lib/python*/site-packages/deepseek_harness_runtime/runtime")):
            for file in sorted(place.glob("deepseek-harness-sdk-runtime-*")):
                if file.is_file() and not file.name.endswith(("-rg", "-spawn-helper")) and is_program(file):
                    return file.resolve()
    return None


def _visible(word: str) -> Path:
    """What a turn must see for a word of the command: its folder, or all that npm put beside it."""
    real = Path(word).resolve()
    for place in reversed(real.parents):
        if place.name == "node_modules":
            return place
    return real.parent if real.parent.name == "runtime" else real


def _write_patch(folder: Path, chosen: Setup) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = PATCH
    provider, slash, model = chosen.model.partition("/")
    if slash:
        text += "- id: agent-default-model\n  name: '@deepseek-ai/dsh-agent-default-model'\n"
        text += f"  config:\n    provider: {_quoted(provider)}\n    model: {_quoted(model)}\n"
    path = folder / "bridge.yml"
    path.write_text(text, encoding="utf-8")
    return path


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class _Trials:
    """Runs dsh with short options, in a home of its own."""

    folder: Path
    settings: Settings

    async def run(self, argv: tuple[str, ...]) -> str:
        """What it printed on both outputs; why it did not start, if so."""
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.folder), "DSH_HOME": str(self.folder / "trial")}
        env |= OWN_ENV
        try:
            said = await process.capture(argv, cwd=self.folder, env=env, timeout=LIMIT_S)
        except process.ProcessError as error:
            return error.message
        return f"{said.stdout}\n{said.stderr}"


def _is_harness(command: tuple[str, ...], said: str) -> Finding:
    if "DeepSeek Harness" in said:
        return Finding(True, "DeepSeek Harness", "it says that it is")
    told = f"{command[0]} does not say that it is the DeepSeek Harness (it said: {' '.join(said.split())[:200]})"
    return Finding(False, "DeepSeek Harness", told, INSTALL)


def _speaks_json(said: str, version: str | None) -> Finding:
    if "--json" in said and "--session-id" in said:
        return Finding(True, "dsh's version", f"{version}, with --json and --session-id")
    told = f"dsh {version or ''} has no --json and --session-id in its headless profile".replace("  ", " ")
    return Finding(False, "dsh's version", told, "Update it: 0.2.1rc2 of deepseek-harness-runtime-bin has them.")


def _obeys(config: str, chosen: Setup) -> Finding:
    why = obeyed(config)
    if not why:
        return Finding(True, "dsh's permission mode", "set anew for each turn")
    mend = "Take the rows `permission` and `sandbox-policy` out of AGENTMAIL_DSH_PATCH." if chosen.patch else INSTALL
    said = next((line for line in config.splitlines() if line.startswith("Error:")), "")
    return Finding(False, "dsh's permission mode", f"dsh can't be held to a tier: {said[:300] or why}", mend)


def _key(chosen: Setup) -> Finding:
    secret = [name for name in chosen.keys if not name.endswith("_URL")]
    if secret:
        return Finding(True, "dsh's key", f"from {', '.join(secret)}")
    mend = "Set DEEPSEEK_API_KEY, or name another provider's variable in AGENTMAIL_DSH_ENV (with AGENTMAIL_DSH_PATCH)."
    return Finding(False, "dsh's key", "no key for a provider is in the bridge's environment", mend)
