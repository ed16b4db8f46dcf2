"""Every package installs and runs alone: its wheel in an empty environment, without any other part of the workspace."""

import ast
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.shared_guard.baseline import Baseline
from deploy.shared_guard.manifest import Target, read
from deploy.shared_guard.selection import selection

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent.parent
TARGETS = {target.owner: target for target in read(ROOT).targets}
# The folder of a package, and the name it is distributed and started by.
NAMES = {owner: "agentmail-gateway" if owner == "gateway" else owner for owner in TARGETS}
IMPORT_NAMES = {name: name.replace("-", "_") for name in NAMES.values()}
BRIDGES = [owner for owner in TARGETS if owner.startswith("bridge-")]
FOREIGN_VARIABLES = ("PYTHON", "VIRTUAL_ENV", "UV_PROJECT", "AGENTMAIL_", "CONDA_")

IMPORT_EVERYTHING = """
import importlib, json, pkgutil, sys
package = importlib.import_module(sys.argv[1])
names = [found.name for found in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
for name in names:
    importlib.import_module(name)
files = sorted({str(module.__file__) for module in list(sys.modules.values()) if getattr(module, "__file__", None)})
print(json.dumps({"imported": names, "modules": sorted(sys.modules), "files": files}))
"""


@dataclass(frozen=True)
class Installed:
    """A package's wheel, and the environment that has it and what it asks for, and nothing else."""

    target: Target
    name: str
    wheel: Path
    environment: Path

    def run(self, *command: str, folder: Path) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment; ``folder`` is its working folder and home."""
        system = {"PATH": os.defpath, "HOME": str(folder), "LANG": "C.UTF-8"}
        program, *arguments = command
        return subprocess.run(
            [str(self.environment / "bin" / program), *arguments],
            cwd=folder,
            env=system,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture(scope="module")
def uv() -> str:
    found = os.environ.get("UV") or shutil.which("uv")
    if found is None:
        pytest.skip("uv is not on the PATH")
    return found


@pytest.fixture(scope="module")
def locked(uv: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The versions of the lock file, so that a release elsewhere doesn't change what is tested here."""
    path = tmp_path_factory.mktemp("locked") / "constraints.txt"
    options = ["--frozen", "--all-packages", "--no-dev", "--no-emit-workspace", "--no-hashes", "--no-annotate"]
    uv_run(uv, "export", *options, "--quiet", "--output-file", str(path), folder=ROOT)
    return path


@pytest.fixture(scope="module", params=TARGETS)
def installed(
    request: pytest.FixtureRequest, uv: str, locked: Path, tmp_path_factory: pytest.TempPathFactory
) -> Installed:
    owner = str(request.param)
    name = NAMES[owner]
    place = tmp_path_factory.mktemp(owner)
    uv_run(uv, "build", "--package", name, "--wheel", "--out-dir", str(place / "dist"), folder=ROOT)
    (wheel,) = (place / "dist").glob("*.whl")
    environment = place / "environment"
    # From elsewhere, so that uv finds no workspace to take the other parts from.
    uv_run(uv, "venv", "--python", sys.executable, str(environment), folder=place)
    python = str(environment / "bin" / "python")
    uv_run(uv, "pip", "install", "--python", python, "--constraint", str(locked), str(wheel), folder=place)
    return Installed(TARGETS[owner], name, wheel, environment)


def uv_run(uv: str, *arguments: str, folder: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(FOREIGN_VARIABLES)}
    result = subprocess.run(
        [uv, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=100, check=False
    )
    assert result.returncode == 0, f"uv {arguments[0]}: {result.stderr}"


def sources(wheel: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(".py"):
                yield name, archive.read(name)


def test_the_wheel_has_its_shared_modules_and_not_their_tests(installed: Installed) -> None:
    baseline = Baseline.read(ROOT).contents
    carried = selection(baseline, installed.target.modules)
    prefix = f"{IMPORT_NAMES[installed.name]}/vendor/"
    vendored = {name.removeprefix(prefix): data for name, data in sources(installed.wheel) if name.startswith(prefix)}
    wanted = {name for name in carried if name.endswith(".py") and not name.startswith("tests/")}
    assert vendored.keys() == wanted
    assert {name for name in wanted if vendored[name] != baseline[name]} == set()


def test_the_wheel_has_one_top_folder(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {IMPORT_NAMES[installed.name]}


def test_nothing_in_the_wheel_imports_another_part_of_the_workspace(installed: Installed) -> None:
    others = {"shared", "tests", "deploy", *IMPORT_NAMES.values()} - {IMPORT_NAMES[installed.name]}
    for path, source in sources(installed.wheel):
        names = set()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names.add((node.module or "").split(".")[0])
        assert names & others == set(), path


def test_it_installs_without_another_part_of_the_workspace(installed: Installed) -> None:
    (packages,) = (installed.environment / "lib").glob("python*/site-packages")
    present = {path.name.split("-")[0].lower() for path in packages.glob("*.dist-info")}
    assert present & set(IMPORT_NAMES.values()) == {IMPORT_NAMES[installed.name]}


def test_every_module_imports_from_the_environment_alone(installed: Installed, tmp_path: Path) -> None:
    name = IMPORT_NAMES[installed.name]
    result = installed.run("python", "-I", "-W", "error", "-c", IMPORT_EVERYTHING, name, folder=tmp_path)
    assert result.returncode == 0, result.stderr
    seen = json.loads(result.stdout)
    assert f"{name}.vendor.wire" in seen["imported"]
    assert {"shared", *IMPORT_NAMES.values()} & set(seen["modules"]) == {name}
    assert [file for file in seen["files"] if Path(file).is_relative_to(ROOT / "packages")] == []
    assert [file for file in seen["files"] if Path(file).is_relative_to(ROOT / "shared")] == []


def test_its_command_explains_itself(installed: Installed, tmp_path: Path) -> None:
    result = installed.run(installed.name, "--help", folder=tmp_path)
    assert result.returncode == 0, result.stderr
    assert installed.name in result.stdout
    assert result.stderr == ""


@pytest.mark.parametrize("installed", BRIDGES, indirect=True)
def test_a_bridge_tells_its_version(installed: Installed, tmp_path: Path) -> None:
    result = installed.run(installed.name, "--version", folder=tmp_path)
    assert (result.returncode, result.stdout) == (0, f"{installed.name} {version(installed.wheel)}\n")


@pytest.mark.parametrize("installed", BRIDGES, indirect=True)
def test_a_bridge_checks_itself(installed: Installed, tmp_path: Path) -> None:
    """With or without its agent on this machine: it says what is there and what is missing, and does not break."""
    result = installed.run(installed.name, "--check", folder=tmp_path)
    assert result.returncode in (0, 1), result.stderr
    assert result.stderr == ""
    assert result.stdout.startswith(f"{installed.name} {version(installed.wheel)}")
    last = result.stdout.splitlines()[-1]
    assert last.startswith("ready" if result.returncode == 0 else "not ready")


@pytest.mark.parametrize("installed", ["bridge-echo"], indirect=True)
def test_the_echo_bridge_needs_nothing_more(installed: Installed, tmp_path: Path) -> None:
    result = installed.run(installed.name, "--check", folder=tmp_path)
    assert result.returncode == 0, result.stdout


def version(wheel: Path) -> str:
    return wheel.name.split("-")[1]
