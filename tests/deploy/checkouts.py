"""A small checkout with a baseline and copies of it, made by the real sync, for the tests of this folder."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from deploy import sync_shared
from deploy.shared_guard.manifest import MANIFEST

REPOSITORY = Path(sync_shared.__file__).resolve().parent.parent
ALL = "packages/bridge-one/src/bridge_one/vendor"
NAMED = "packages/gateway/src/gateway/vendor"
TARGETS = f"""
[[target]]
path = "{ALL}"
modules = "all"

[[target]]
path = "{NAMED}"
modules = ["alpha"]
"""
BASELINE: Mapping[str, str] = {
    "__init__.py": '"""Shared."""\n',
    "alpha.py": '"""Alpha."""\n\nfrom .beta import BETA\n\nALPHA = BETA + 1\n\nprint(ALPHA)\n',
    "beta.py": '"""Beta."""\n\nBETA = 1\n\nprint(BETA)\n',
    "gamma.py": '"""Gamma."""\n\nGAMMA = 3\n\nprint(GAMMA)\n',
    "tests/__init__.py": "",
    "tests/helper.py": '"""Helps."""\n',
    "tests/test_alpha.py": "from ..alpha import ALPHA\nfrom .helper import help_me\n\nassert ALPHA\nassert help_me\n",
    "tests/test_gamma.py": "from ..gamma import GAMMA\n\nassert GAMMA == 3\nassert GAMMA\nassert 1\n",
}


def write(root: Path, files: Mapping[str, str]) -> None:
    """Write text files by their path below ``root``."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def checkout(root: Path, baseline: Mapping[str, str] = BASELINE) -> Path:
    """A checkout in ``root`` whose copies are in step with ``baseline``."""
    write(root, {f"shared/{name}": text for name, text in baseline.items()})
    write(root, {MANIFEST: TARGETS, f"{ALL}/../__init__.py": "", f"{NAMED}/../__init__.py": ""})
    assert sync_shared.main(["--root", str(root)]) == 0
    return root


def copy_programs(root: Path) -> Path:
    """Put a copy of both programs into the checkout ``root``, and return the folder, deploy."""
    shutil.copytree(
        REPOSITORY / "deploy",
        root / "deploy",
        ignore=shutil.ignore_patterns("__pycache__", "*.toml"),
        dirs_exist_ok=True,
    )
    return root / "deploy"


def run(
    program: Path, *arguments: str, prefix: Sequence[str] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a program of deploy/ as a process of its own, with plain Python: no site packages, no Python settings."""
    return subprocess.run(
        [*prefix, sys.executable, "-I", "-S", "-B", str(program), *arguments],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def content(root: Path) -> dict[str, bytes]:
    """Every file below ``root`` with its bytes."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
