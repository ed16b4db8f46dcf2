"""Is an agent's program on this machine? A wide look: its bridge says what is wrong with what is there.

A program counts as found wherever its bridge would find it, so that no agent goes without a bridge; one that only looks
like it costs a bridge that reports what it lacks.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

__all__ = ["is_here", "places"]

# Where the installers of the agents, and of the Node package managers they come with, put programs.
_HOME_FOLDERS = (
    ".local/bin",
    ".opencode/bin",
    ".bun/bin",
    ".volta/bin",
    ".npm-global/bin",
    ".local/share/pnpm",
    ".cargo/bin",
    "bin",
)
_FOLDERS = ("/usr/local/bin", "/opt/homebrew/bin", "/usr/bin")


def places(agent: str, *, environ: Mapping[str, str], home: Path, platform: str) -> Iterator[Path]:
    """Files that are the program of `agent` if they exist, beside what PATH holds. `platform` is `sys.platform`."""
    yield from (home / folder / agent for folder in _HOME_FOLDERS)
    yield from (Path(folder) / agent for folder in _FOLDERS)
    yield from sorted(home.glob(f".nvm/versions/node/*/bin/{agent}"))
    if agent != "zcode":
        return
    # ZCode's command line is a file inside its desktop app.
    inside = Path("glm") / "zcode.cjs"
    match platform:
        case "darwin":
            apps = (Path("/Applications"), home / "Applications")
            yield from (folder / "ZCode.app" / "Contents" / "Resources" / inside for folder in apps)
        case "win32":
            bases = (environ.get(name) for name in ("LOCALAPPDATA", "PROGRAMFILES", "PROGRAMFILES(X86)"))
            for base in filter(None, bases):
                yield Path(base) / "Programs" / "ZCode" / "resources" / inside
                yield Path(base) / "ZCode" / "resources" / inside
        case _:
            for folder in (Path("/opt/ZCode"), Path("/usr/lib/zcode"), home / ".local/opt/ZCode"):
                yield folder / "resources" / inside


def is_here(agent: str, *, environ: Mapping[str, str], home: Path, platform: str) -> bool:
    """Whether the program of `agent` is here, or a setting names it (then its bridge says whether that is right)."""
    if environ.get(f"AGENTMAIL_{agent.upper()}_COMMAND", "").strip():
        return True
    if shutil.which(agent, mode=os.X_OK, path=environ.get("PATH", "")):
        return True
    return any(place.is_file() for place in places(agent, environ=environ, home=home, platform=platform))
