"""Find a Node that has what an agent needs, by asking it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .discovery import Found, Missing, find_command, is_program, list_folder, parse_version, search_path, version_text
from .process import Captured, ProcessError, capture

__all__ = ["NoNode", "Node", "find_node", "probe_version"]

LIMIT_S = 10.0
QUESTION = """
let has = true;
try { if (process.argv[1]) require(process.argv[1]); } catch { has = false; }
console.log(JSON.stringify({ version: process.versions.node, path: process.execPath, has }));
"""


@dataclass(frozen=True, slots=True)
class Node:
    """A Node that fits. `path` is the real program, not the shim of a version manager: a signal must reach it."""

    path: Path
    version: str


@dataclass(frozen=True, slots=True)
class NoNode:
    """No Node fits. `tried` are (path, version, why not) of each that was asked."""

    tried: tuple[tuple[Path, str, str], ...]

    @property
    def why(self) -> str:
        """In words."""
        if not self.tried:
            return "no Node.js was found on this machine"
        return "no Node.js fits: " + "; ".join(" ".join(filter(None, map(str, each))) for each in self.tried)


async def find_node(
    environ: Mapping[str, str],
    home: Path,
    *,
    feature: str | None = None,
    at_least: Sequence[int] = (),
    command: str | None = None,
    places: Sequence[Path] = (),
    limit_s: float = LIMIT_S,
) -> Node | NoNode:
    """The first Node that has the built-in module `feature` (``node:sqlite``) and is `at_least` that version.

    `command` is an explicit setting and then the only one asked; `places` come before PATH and the usual folders. Each
    is asked for at most `limit_s` seconds.
    """
    tried: list[tuple[Path, str, str]] = []
    candidates = _candidates(environ, home, command, places)
    if isinstance(candidates, Missing):
        return NoNode(((Path(command or "node"), "", candidates.why),))
    for path in candidates:
        answer = await _ask(path, feature, environ, home, limit_s)
        if isinstance(answer, str):
            tried.append((path, "", answer))
            continue
        node, has = answer
        if not has:
            tried.append((node.path, node.version, f"has no {feature}"))
        elif tuple(at_least) > (parse_version(node.version) or ()):
            tried.append((node.path, node.version, f"is older than {'.'.join(map(str, at_least))}"))
        else:
            return node
    return NoNode(tuple(tried))


def _candidates(
    environ: Mapping[str, str], home: Path, command: str | None, places: Sequence[Path]
) -> list[Path] | Missing:
    if command:
        found = find_command(
            ["node"], environ=environ, home=home, list_folder=list_folder, is_program=is_program, command=command
        )
        return [found.path] if isinstance(found, Found) else found
    folders = [folder for folder, _ in search_path(environ, home, list_folder)]
    files = [*places, *(folder / name for folder in folders for name in ("node", "nodejs"))]
    distinct = {path.resolve(): path for path in reversed(files) if is_program(path)}
    return list(reversed(distinct.values()))


async def _ask(
    path: Path, feature: str | None, environ: Mapping[str, str], home: Path, limit_s: float
) -> tuple[Node, bool] | str:
    argv = [str(path), "-e", QUESTION, *([feature] if feature else [])]
    captured = await _run(argv, environ, home, limit_s)
    if isinstance(captured, str):
        return captured
    try:
        said = json.loads(captured.stdout.strip().splitlines()[-1])
        return Node(Path(str(said["path"])), str(said["version"])), said["has"] is True
    except (ValueError, KeyError, TypeError, IndexError):
        return "does not answer as Node.js does"


async def probe_version(
    argv: Sequence[str], environ: Mapping[str, str], home: Path, *, limit_s: float = LIMIT_S
) -> str | Missing:
    """The version that a program prints (`argv` with its own option, ``[path, "--version"]``), at most `limit_s` s."""
    captured = await _run(list(argv), environ, home, limit_s)
    if isinstance(captured, str):
        return Missing(f"{argv[0]} {captured}", ())
    version = version_text(captured.stdout) or version_text(captured.stderr)
    return version or Missing(f"{argv[0]} printed no version", ())


async def _run(argv: list[str], environ: Mapping[str, str], home: Path, limit_s: float) -> Captured | str:
    """What a program printed, or why there is nothing. It sees no secret of this process."""
    env = {"PATH": environ.get("PATH") or "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "NO_COLOR": "1"}
    env |= {name: environ[name] for name in ("LANG", "LC_ALL", "SYSTEMROOT") if name in environ}
    try:
        captured = await capture(argv, cwd=Path("/"), env=env, timeout=limit_s, limit=64 * 1024)
    except ProcessError as error:
        return error.message
    if captured.returncode is None:
        return f"did not answer within {limit_s:g} s"
    if captured.returncode != 0 and not captured.stdout:
        return f"ended with {captured.returncode}: {captured.stderr.strip()[-200:]}"
    return captured
