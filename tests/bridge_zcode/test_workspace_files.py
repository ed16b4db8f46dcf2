"""What ZCode obeys in a workspace before any tool is asked."""

import json
import os
from pathlib import Path

import pytest

from bridge_zcode.workspace_files import look


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path / "home" / "project" / "sub"
    path.mkdir(parents=True)
    return path


def write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def dangers(workspace: Path) -> tuple[str, ...]:
    return look(workspace, workspace.parents[1]).dangers


def test_an_ordinary_workspace_has_nothing(workspace: Path) -> None:
    write(workspace / "AGENTS.md", "Be kind.")
    write(workspace / "package.json", {"scripts": {}})
    assert look(workspace, workspace.parents[1]).names == ()
    assert dangers(workspace) == ()


def test_the_nearest_env_file_counts_and_an_empty_one_ends_the_search(workspace: Path) -> None:
    write(workspace.parent / ".env", "OUTER=1")
    assert look(workspace, workspace.parents[1]).names == ("OUTER",)
    write(workspace / ".env", "")
    assert look(workspace, workspace.parents[1]).names == ()


def test_a_directory_of_that_name_is_passed_over(workspace: Path) -> None:
    (workspace / ".env").mkdir()
    write(workspace.parent / ".env", "OUTER=1")
    assert look(workspace, workspace.parents[1]).names == ("OUTER",)


def test_a_pipe_of_that_name_does_not_block(workspace: Path) -> None:
    os.mkfifo(workspace / ".env")
    os.mkfifo(workspace / "zcode.json")
    found = look(workspace, workspace.parents[1])
    assert found.names == ()
    assert "zcode.json" in found.dangers[0]


@pytest.mark.parametrize("content", ["X=1\n" * 300_000, "\n".join(f"N{number}=1" for number in range(3_000))])
def test_an_env_file_that_can_t_be_guarded_is_a_danger(workspace: Path, content: str) -> None:
    write(workspace / ".env", content)
    assert str(workspace / ".env") in dangers(workspace)[0]


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        (".agents/mcp.json", {"mcpServers": {"x": {"command": "sh"}}}),
        (".agents/mcp.json", "not json"),
        (".zcode/config.json", {"mcp": {"servers": {"x": {"url": "http://x"}}}}),
        (".zcode/config.json", {"model": {"main": "evil/model"}}),
        (".zcode/config.json", {"plugins": {"dirs": ["/x"]}}),
        (".zcode/config.json", {"something": "new"}),
        ("zcode.json", {"provider": {"x": {}}}),
        ("zcode.json", "[]"),
        ("zcode.json", "{ // comment\n}"),
    ],
)
def test_what_starts_programs_or_moves_requests_is_a_danger(
    workspace: Path, level: int, name: str, content: object
) -> None:
    path = (workspace if level == 0 else workspace.parent) / name
    write(path, content)
    (found,) = dangers(workspace)
    assert str(path) in found


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (".agents/mcp.json", {"mcpServers": {}}),
        (".agents/mcp.json", {}),
        (".zcode/config.json", {"hooks": {"enabled": True}, "permission": {"allowedTools": ["Bash"]}, "$schema": "x"}),
        ("zcode.json", {}),
    ],
)
def test_what_can_do_neither_is_left_alone(workspace: Path, name: str, content: object) -> None:
    write(workspace / name, content)
    assert dangers(workspace) == ()


def test_the_search_ends_at_the_repository(workspace: Path) -> None:
    write(workspace.parent / "zcode.json", {"mcp": {}})
    (workspace / ".git").mkdir()
    assert dangers(workspace) == ()


def test_the_person_s_own_files_in_the_home_are_not_the_workspace_s(workspace: Path) -> None:
    home = workspace.parents[1]
    write(home / ".agents/mcp.json", {"mcpServers": {"x": {}}})
    assert look(workspace, home).dangers == ()
    assert len(look(home, home).dangers) == 1


def test_a_link_that_leads_nowhere_is_a_danger(workspace: Path) -> None:
    (workspace / "zcode.json").symlink_to(workspace / "later")
    assert "zcode.json" in dangers(workspace)[0]
