"""This program's own commands, spelled so that they work where the reader typed the last one."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

__all__ = ["spelled"]


def spelled(text: str, environ: Mapping[str, str], folder: Path | None = None) -> str:
    """`text` with each ``agentmail COMMAND`` as the reader has to type it in `folder` (default: the current one).

    Under ``uv run`` the program is in no folder of the reader's PATH: ``uv run agentmail COMMAND`` works there. uv
    itself may stand below the folder only, where the README's command puts it.
    """
    if not environ.get("UV_RUN_RECURSION_DEPTH"):
        return text
    return re.sub(r"(?<![\w./-])agentmail (?=[a-z])", f"{_uv(environ, folder or Path.cwd())} run agentmail ", text)


def _uv(environ: Mapping[str, str], folder: Path) -> str:
    running = Path(environ.get("UV") or folder.parent)
    if running.is_relative_to(folder):
        return str(running.relative_to(folder))
    return "uv" if shutil.which("uv", path=environ.get("PATH")) else "python3 -m uv"
