"""This program's own commands, spelled so that they work where the reader typed the last one."""

import re
import shutil
from collections.abc import Mapping

__all__ = ["spelled"]


def spelled(text: str, environ: Mapping[str, str]) -> str:
    """`text` with each ``agentmail COMMAND`` as the reader has to type it.

    Under ``uv run`` the program is in no folder of the reader's PATH: ``uv run agentmail COMMAND`` works there.
    """
    if not environ.get("UV_RUN_RECURSION_DEPTH"):
        return text
    uv = "uv run" if shutil.which("uv", path=environ.get("PATH")) else "python3 -m uv run"
    return re.sub(r"(?<![\w./-])agentmail (?=[a-z])", f"{uv} agentmail ", text)
