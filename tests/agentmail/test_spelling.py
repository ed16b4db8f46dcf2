"""Commands as the reader has to type them."""

from pathlib import Path

import pytest

from agentmail.spelling import spelled


@pytest.mark.parametrize(
    ("text", "under_uv"),
    [
        ("Start it: agentmail up", "Start it: uv run agentmail up"),
        ("start it with `agentmail up`", "start it with `uv run agentmail up`"),
        ("agentmail: no mail", "agentmail: no mail"),
        ("/home/agentmail and x-agentmail up", "/home/agentmail and x-agentmail up"),
    ],
)
def test_under_uv_run_the_readers_shell_needs_uv_run(text: str, under_uv: str, tmp_path: Path) -> None:
    uv = tmp_path / "uv"
    uv.write_text("#!/bin/sh\n")
    uv.chmod(0o755)
    assert spelled(text, {}) == text
    assert spelled(text, {"UV_RUN_RECURSION_DEPTH": "1", "PATH": str(tmp_path)}) == under_uv


def test_without_uv_on_the_path_it_is_a_module_of_python(tmp_path: Path) -> None:
    environ = {"UV_RUN_RECURSION_DEPTH": "1", "PATH": str(tmp_path)}
    assert spelled("See: agentmail agents", environ) == "See: python3 -m uv run agentmail agents"


def test_a_uv_below_the_folder_is_spelled_with_its_path(tmp_path: Path) -> None:
    environ = {"UV_RUN_RECURSION_DEPTH": "1", "PATH": str(tmp_path), "UV": str(tmp_path / ".uv" / "bin" / "uv")}
    assert spelled("See: agentmail agents", environ, tmp_path) == "See: .uv/bin/uv run agentmail agents"
