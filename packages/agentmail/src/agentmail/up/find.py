"""Is an agent's program on this machine? A wide look: its bridge says what is wrong with what is there.

A program counts as found wherever its bridge would find it, so that no agent goes without a bridge; one that only looks
like it costs a bridge that reports what it lacks.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from ..vendor.discovery import Found, find_command, is_program, list_folder

__all__ = ["is_here", "places"]


def places(agent: str, *, environ: Mapping[str, str], home: Path, platform: str) -> Iterator[Path]:
    """Files outside of the usual folders that are the program of `agent` if they exist. `platform`: `sys.platform`."""
    match agent:
        case "opencode":
            yield home / ".opencode" / "bin" / "opencode"
        case "zcode":
            yield from _inside_app(environ, home, platform)


def _inside_app(environ: Mapping[str, str], home: Path, platform: str) -> Iterator[Path]:
    """ZCode's command line is a file of its desktop app."""
    file = Path("glm") / "zcode.cjs"
    match platform:
        case "darwin":
            apps = (Path("/Applications"), home / "Applications")
            yield from (folder / "ZCode.app" / "Contents" / "Resources" / file for folder in apps)
        case "win32":
            bases = (environ.get(name) for name in ("LOCALAPPDATA", "PROGRAMFILES", "PROGRAMFILES(X86)"))
            for base in filter(None, bases):
                yield Path(base) / "Programs" / "ZCode" / "resources" / file
                yield Path(base) / "ZCode" / "resources" / file
        case _:
            for folder in (Path("/opt/ZCode"), Path("/usr/lib/zcode"), home / ".local/opt/ZCode"):
                yield folder / "resources" / file


def is_here(agent: str, *, environ: Mapping[str, str], home: Path, platform: str) -> bool:
    """Whether the program of `agent` is here, or a setting names it (then its bridge says whether that is right)."""
    if environ.get(f"AGENTMAIL_{agent.upper()}_COMMAND", "").strip():
        return True
    found = find_command(
        [agent],
        environ=environ,
        home=home,
        list_folder=list_folder,
        is_program=is_program,
        places=tuple(places(agent, environ=environ, home=home, platform=platform)),
    )
    return isinstance(found, Found)
