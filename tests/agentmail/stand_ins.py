"""Small programs that `Service` runs in place of a gateway or a bridge."""

import os
import sys
from pathlib import Path

from agentmail.up.service import Program

__all__ = ["program"]


def program(tmp_path: Path, text: str, *arguments: str, grace_s: float = 5.0) -> Program:
    """A program whose module is `text`, in a folder of its own."""
    folder = tmp_path / "modules"
    folder.mkdir(exist_ok=True)
    (folder / "stand_in.py").write_text(text, "utf-8")
    path = os.pathsep.join([str(folder), *(entry for entry in sys.path if entry)])
    return Program(
        name="stand-in",
        module="stand_in",
        arguments=arguments,
        env={**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"},
        log=tmp_path / "logs" / "stand-in.log",
        cwd=tmp_path,
        grace_s=grace_s,
    )
