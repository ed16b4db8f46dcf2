"""Whether an agent's program is on this machine."""

import asyncio
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from .fleet import AgentKind

__all__ = ["find_program"]


async def find_program(kind: AgentKind, environ: Mapping[str, str]) -> bool:
    """Whether the program of `kind` is here."""
    if environ.get(f"AGENTMAIL_{kind.name.upper()}_COMMAND", "").strip():
        return True
    return await asyncio.to_thread(shutil.which, kind.name, os.X_OK, environ.get("PATH")) is not None or (
        kind.name == "zcode" and Path("/opt/ZCode/resources/glm/zcode.cjs").is_file()
    )
