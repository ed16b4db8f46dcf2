"""Where ZCode's command line, a Node to run it and its provider files are. Reads the file system, starts nothing.

ZCode's command line is a file of its desktop app (``resources/glm/zcode.cjs``), run by Node. The program `zcode` on
PATH is often the desktop app itself, which opens a window even for ``--version`` (reported by crossweave): a file is
looked at before it is called the command line, and only a script is.
"""

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = [
    "COMMAND_VARIABLE",
    "Cli",
    "NodeCandidate",
    "NotFound",
    "ProviderFiles",
    "file_kind",
    "find_cli",
    "node_candidates",
    "provider_files",
]

COMMAND_VARIABLE = "AGENTMAIL_ZCODE_COMMAND"
BUNDLE = Path("glm") / "zcode.cjs"
_JAVASCRIPT = frozenset({".cjs", ".mjs", ".js"})
# cmd.exe reads the arguments of a batch file again: a mail's text could hold a command for it.
_BATCH = frozenset({".cmd", ".bat"})
_MACHO = (b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_MOST_CANDIDATES = 8

FileKind = Literal["missing", "javascript", "script", "batch", "binary", "other"]


@dataclass(frozen=True, slots=True)
class Cli:
    """ZCode's command line: a `script` that a Node must run, or a whole `command`. `source` says how it was found."""

    source: str
    script: Path | None = None
    command: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """What was found, in one line."""
        return str(self.script) if self.script is not None else shlex.join(self.command)


@dataclass(frozen=True, slots=True)
class NotFound:
    """Nothing to run: why, and what to do."""

    why: str
    mend: str


@dataclass(frozen=True, slots=True)
class NodeCandidate:
    """A program that may serve as Node; `electron` is the desktop's own, which needs ``ELECTRON_RUN_AS_NODE=1``."""

    path: Path
    electron: bool = False


@dataclass(frozen=True, slots=True)
class ProviderFiles:
    """The two files without which CLI 0.16.9 ends before it reads its arguments; None where there is none."""

    builtin: Path | None
    personal: Path | None


def file_kind(path: Path) -> FileKind:
    """What `path` is, by its name and its first bytes. An unreadable file is `other`."""
    try:
        if not path.is_file():
            return "missing"
        with path.open("rb") as file:
            head = file.read(4)
    except OSError:
        return "other"
    suffix = path.suffix.lower()
    if suffix in _BATCH:
        return "batch"
    if head.startswith((b"\x7fELF", b"MZ")) or head in _MACHO:
        return "binary"
    if suffix in _JAVASCRIPT:
        return "javascript"
    return "script" if head.startswith(b"#!") else "other"


def find_cli(command: str | None, *, environ: Mapping[str, str], home: Path, platform: str) -> Cli | NotFound:
    """ZCode's command line: from the setting, else an install place, else PATH. `platform` is `sys.platform`."""
    if command is not None:
        return _from_setting(command, environ=environ, windows=platform == "win32")
    for place in _install_places(environ, home, platform):
        if file_kind(place) == "javascript":
            return Cli("installed app", script=place)
    found = _from_path(environ)
    if found is not None:
        return found
    return NotFound(
        "ZCode was not found",
        f"Install the ZCode desktop app from https://zcode.z.ai, or set {COMMAND_VARIABLE} to the path of zcode.cjs",
    )


def _from_setting(command: str, *, environ: Mapping[str, str], windows: bool) -> Cli | NotFound:
    try:
        words = [word.strip('"') for word in shlex.split(command, posix=not windows)]
    except ValueError as error:
        return NotFound(f"{COMMAND_VARIABLE} can't be read: {error}", "Correct its quotes")
    if not words:
        return NotFound(f"{COMMAND_VARIABLE} is blank", "Set it to the path of zcode.cjs, or unset it")
    program = _resolve(words[0], environ)
    if program is None:
        return NotFound(f"{COMMAND_VARIABLE}: there is no {words[0]}", "Set it to the path of zcode.cjs")
    match file_kind(program):
        case "javascript" if len(words) == 1:
            return Cli(COMMAND_VARIABLE, script=program)
        case "binary" if len(words) == 1:
            return _beside_desktop(program) or NotFound(
                f"{COMMAND_VARIABLE}: {program} is a desktop program, and running it would open its window",
                "Set it to the path of zcode.cjs inside the app (resources/glm/zcode.cjs)",
            )
        case "batch":
            return NotFound(
                f"{COMMAND_VARIABLE}: {program} is a batch file, which reads a mail's text as commands",
                "Set it to the path of zcode.cjs",
            )
        case _:
            return Cli(COMMAND_VARIABLE, command=(str(program), *words[1:]))


def _resolve(word: str, environ: Mapping[str, str]) -> Path | None:
    if os.sep in word or "/" in word:
        path = Path(word).expanduser().absolute()
        return path if path.is_file() else None
    return next(_on_path(word, environ), None)


def _on_path(name: str, environ: Mapping[str, str]) -> Iterator[Path]:
    for folder in environ.get("PATH", "").split(os.pathsep):
        if not folder or not Path(folder).is_absolute():
            continue
        for candidate in (Path(folder) / name, Path(folder) / f"{name}.exe"):
            if candidate.is_file() and os.access(candidate, os.X_OK):
                yield candidate


def _from_path(environ: Mapping[str, str]) -> Cli | None:
    for program in _on_path("zcode", environ):
        real = program.resolve()
        match file_kind(real):
            case "javascript":
                return Cli("PATH", script=real)
            case "script":
                return Cli("PATH", command=(str(program),))
            case "binary":
                beside = _beside_desktop(real)
                if beside is not None:
                    return beside
            case _:
                continue
    return None


def _beside_desktop(program: Path) -> Cli | None:
    real = program.resolve()
    for resources in (real.parent / "resources", real.parent.parent / "Resources"):
        if file_kind(resources / BUNDLE) == "javascript":
            return Cli(f"beside the desktop program {program}", script=resources / BUNDLE)
    return None


def _resources(environ: Mapping[str, str], home: Path, platform: str) -> tuple[Path, ...]:
    """The app's resource folders, by platform. Only the Linux one was seen; the others are the platforms' customs."""
    match platform:
        case "darwin":
            inside = Path("ZCode.app") / "Contents" / "Resources"
            return (Path("/Applications") / inside, home / "Applications" / inside)
        case "win32":
            bases = (environ.get("LOCALAPPDATA"), environ.get("PROGRAMFILES"), environ.get("PROGRAMFILES(X86)"))
            named = [Path(base) for base in bases if base]
            return tuple(
                base / part / "resources" for base in named for part in (Path("Programs") / "ZCode", Path("ZCode"))
            )
        case _:
            return (Path("/opt/ZCode/resources"), Path("/usr/lib/zcode/resources"), home / ".local/opt/ZCode/resources")


def _install_places(environ: Mapping[str, str], home: Path, platform: str) -> tuple[Path, ...]:
    return tuple(folder / BUNDLE for folder in _resources(environ, home, platform))


def node_candidates(cli: Cli, *, environ: Mapping[str, str], home: Path, platform: str) -> tuple[NodeCandidate, ...]:
    """Programs that may be a fitting Node, best first; the desktop's own Electron is the last resort."""
    paths = list(_on_path("node", environ))
    usual = (Path("/usr/local/bin"), Path("/opt/homebrew/bin"), home / ".volta" / "bin", home / ".local" / "bin")
    paths += [folder / "node" for folder in usual]
    paths += sorted(home.glob(".nvm/versions/node/*/bin/node"), key=_version_key, reverse=True)
    unique = dict.fromkeys(path for path in paths if path.is_file() and os.access(path, os.X_OK))
    candidates = [NodeCandidate(path) for path in unique][: _MOST_CANDIDATES - 1]
    electron = _electron(cli, platform)
    return (*candidates, NodeCandidate(electron, electron=True)) if electron is not None else tuple(candidates)


def _version_key(path: Path) -> tuple[int, ...]:
    digits = path.parent.parent.name.lstrip("v").split(".")
    return tuple(int(part) for part in digits if part.isdecimal())


def _electron(cli: Cli, platform: str) -> Path | None:
    if cli.script is None:
        return None
    resources = cli.script.parent.parent
    match platform:
        case "darwin":
            program = resources.parent / "MacOS" / "ZCode"
        case "win32":
            program = resources.parent / "ZCode.exe"
        case _:
            program = resources.parent / "zcode"
    return program if file_kind(program) == "binary" and os.access(program, os.X_OK) else None


def provider_files(cli: Cli, *, environ: Mapping[str, str], home: Path, platform: str) -> ProviderFiles:
    """The provider files that exist: where the environment says, beside the command line, or where the app keeps
    them.
    """
    builtin: list[Path] = []
    if named := environ.get("ZCODE_BUILTIN_PROVIDER_CONFIG_FILE"):
        builtin.append(Path(named))
    below = Path("config") / "provider" / "zcode-builtin.json"
    if cli.script is not None:
        builtin.append(cli.script.parent.parent / below)
    builtin += [folder / below for folder in _resources(environ, home, platform)]
    builtin += _newest(home.glob(".zcode/v2/runtime/provider/*/*/endpoint-*/zcode-builtin.json"))
    personal = [home / ".zcode" / "v2" / "provider_config.json"]
    if named := environ.get("ZCODE_PERSONAL_PROVIDER_CONFIG_FILE"):
        personal.insert(0, Path(named))
    return ProviderFiles(_first_file(builtin), _first_file(personal))


def _newest(paths: Iterator[Path]) -> list[Path]:
    return sorted((path for path in paths if path.is_file()), key=lambda path: path.stat().st_mtime, reverse=True)


def _first_file(paths: list[Path]) -> Path | None:
    return next((path for path in paths if path.is_file()), None)
