"""Finding a Node by asking it."""

import json
import shutil
from pathlib import Path

import pytest

from ..discovery import Missing
from ..node_probe import Node, NoNode, find_node, probe_version
from ..node_probe import __all__ as exported


def program(folder: Path, name: str, script: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)
    return path


def node(folder: Path, version: str, has: bool = True, path: str = "$0") -> Path:
    """A program that answers as a Node of that version does."""
    answer = json.dumps({"version": version, "path": path, "has": has}).replace('"', '\\"')
    return program(folder, "node", f'echo "{answer}"\n')


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Only the folders of this test are looked in."""
    from .. import discovery

    monkeypatch.setattr(discovery, "SYSTEM_FOLDERS", ())
    return {"PATH": f"{tmp_path / 'a'}:{tmp_path / 'b'}", "SECRET": "s3cret"}


def test_the_public_names_are_sorted() -> None:
    assert exported == sorted(exported)


async def test_the_first_node_that_fits_is_taken(tmp_path: Path, environ: dict[str, str]) -> None:
    node(tmp_path / "a", "20.1.0", has=False)
    fitting = node(tmp_path / "b", "22.13.0")
    assert await find_node(environ, tmp_path, feature="node:sqlite") == Node(fitting, "22.13.0")


async def test_a_node_that_is_too_old_is_told_with_its_version(tmp_path: Path, environ: dict[str, str]) -> None:
    old = node(tmp_path / "a", "20.1.0", has=False)
    found = await find_node(environ, tmp_path, feature="node:sqlite")
    assert isinstance(found, NoNode)
    assert found.why == f"no Node.js fits: {old} 20.1.0 has no node:sqlite"


async def test_a_version_bound_is_kept(tmp_path: Path, environ: dict[str, str]) -> None:
    node(tmp_path / "a", "22.4.9")
    found = await find_node(environ, tmp_path, at_least=(22, 5))
    assert isinstance(found, NoNode)
    assert "is older than 22.5" in found.why
    assert isinstance(await find_node(environ, tmp_path, at_least=(22, 4)), Node)


async def test_the_real_program_behind_a_shim_is_given(tmp_path: Path, environ: dict[str, str]) -> None:
    """A signal to a version manager's shim leaves the real Node running."""
    node(tmp_path / "a", "22.13.0", path="/opt/real/node")
    found = await find_node(environ, tmp_path)
    assert isinstance(found, Node)
    assert found.path == Path("/opt/real/node")


async def test_a_service_without_a_path_finds_the_node_of_a_version_manager(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    """kandev#996"""
    fitting = node(tmp_path / ".nvm/versions/node/v22.13.0/bin", "22.13.0")
    assert await find_node({}, tmp_path) == Node(fitting, "22.13.0")


async def test_no_node_at_all_is_told(tmp_path: Path, environ: dict[str, str]) -> None:
    found = await find_node(environ, tmp_path)
    assert isinstance(found, NoNode)
    assert found.why == "no Node.js was found on this machine"


@pytest.mark.parametrize(
    ("script", "why", "limit_s"),
    [
        ("echo hello\n", "does not answer as Node.js does", 20.0),
        ("exit 3\n", "ended with 3", 20.0),
        ("echo broken >&2; exit 1\n", "broken", 20.0),
        ("", "does not answer as Node.js does", 20.0),
        ("while :; do :; done\n", "did not answer within 0.1 s", 0.1),
    ],
)
async def test_what_is_no_node_is_passed_over_with_the_reason(
    script: str, why: str, limit_s: float, tmp_path: Path, environ: dict[str, str]
) -> None:
    program(tmp_path / "a", "node", script)
    found = await find_node(environ, tmp_path, limit_s=limit_s)
    assert isinstance(found, NoNode)
    assert why in found.why


async def test_an_explicit_node_is_the_only_one_asked(tmp_path: Path, environ: dict[str, str]) -> None:
    node(tmp_path / "a", "22.13.0")
    other = node(tmp_path / "c", "23.0.0")
    assert await find_node(environ, tmp_path, command=str(other)) == Node(other, "23.0.0")
    found = await find_node(environ, tmp_path, command="/none/node")
    assert isinstance(found, NoNode)
    assert "/none/node, is not a program" in found.why


async def test_a_probe_sees_no_secret_and_no_option_of_this_process(tmp_path: Path, environ: dict[str, str]) -> None:
    seen = tmp_path / "seen"
    program(tmp_path / "a", "agent", f"env > {seen}; echo 1.2.3\n")
    given = {**environ, "PATH": f"{environ['PATH']}:/usr/bin:/bin", "NODE_OPTIONS": "--require /evil.js"}
    assert await probe_version([str(tmp_path / "a/agent"), "--version"], given, tmp_path) == "1.2.3"
    assert "s3cret" not in seen.read_text()
    assert "evil" not in seen.read_text()


@pytest.mark.parametrize(
    ("script", "version"), [("echo 'agent v0.2.1-rc.2'\n", "0.2.1-rc.2"), ("echo 1.2.3 >&2\n", "1.2.3")]
)
async def test_a_version_is_asked_for(script: str, version: str, tmp_path: Path, environ: dict[str, str]) -> None:
    path = program(tmp_path / "a", "agent", script)
    assert await probe_version([str(path)], environ, tmp_path) == version


async def test_a_program_without_a_version_is_told(tmp_path: Path, environ: dict[str, str]) -> None:
    path = program(tmp_path / "a", "agent", "echo no\n")
    for argv, why in (([str(path)], "printed no version"), (["/none"], "was not found")):
        missing = await probe_version(argv, environ, tmp_path)
        assert isinstance(missing, Missing)
        assert why in missing.why


@pytest.mark.skipif(shutil.which("node") is None, reason="needs a real Node.js")
async def test_a_real_node_answers(tmp_path: Path) -> None:
    path = shutil.which("node")
    found = await find_node({}, tmp_path, command=path, feature="node:fs", limit_s=60.0)
    assert isinstance(found, Node)
    assert found.path.is_file()
    missing = await find_node({}, tmp_path, command=path, feature="node:no-such-module", limit_s=60.0)
    assert isinstance(missing, NoNode)
    assert "has no node:no-such-module" in missing.why
