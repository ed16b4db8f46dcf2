"""This checkout's packages and baseline keep the rules that let copies work alone."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.shared_guard.baseline import Baseline
from deploy.shared_guard.manifest import Target, read
from deploy.shared_guard.selection import selection, unknown_names

from .checkouts import REPOSITORY

TARGETS = read(REPOSITORY).targets
OUTSIDE = {"httpx2", "msgspec", "platformdirs", "psutil"}


def vendored_names(package: Path) -> Iterator[str]:
    """The shared modules that a package's own sources name in their imports."""
    for path in package.rglob("*.py"):
        if "vendor" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if not isinstance(node, ast.ImportFrom) or not node.module:
                continue
            before, found, after = f".{node.module}".partition(".vendor")
            if found and not after:
                yield from (alias.name for alias in node.names)
            elif found and after.startswith("."):
                yield after.removeprefix(".").split(".")[0]
            assert not before.startswith(".shared"), f"{path} imports the baseline instead of its copy"


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.owner)
def test_a_package_has_the_shared_modules_it_imports(target: Target) -> None:
    baseline = Baseline.read(REPOSITORY).contents
    carried = selection(baseline, target.modules)
    used = set(vendored_names((REPOSITORY / target.path).parent))
    assert {name for name in used if f"{name}.py" not in carried} == set()
    assert unknown_names(baseline, target.modules) == []


def test_the_baseline_imports_itself_by_relative_names_only() -> None:
    """A copy has another name than the baseline; and it may need no more than its package declares."""
    for path, source in Baseline.read(REPOSITORY).contents.items():
        if not path.endswith(".py"):
            continue
        names = set()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names.add((node.module or "").split(".")[0])
        assert "shared" not in names, path
        if not path.startswith("tests/"):
            assert names - OUTSIDE - sys.stdlib_module_names == set(), path
