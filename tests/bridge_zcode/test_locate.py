"""Finding ZCode's command line, a Node and the provider files."""

import os
import sys
from pathlib import Path

import pytest

from bridge_zcode import locate
from bridge_zcode.locate import (
    Cli,
    NodeCandidate,
    NotFound,
    ProviderFiles,
    file_kind,
    find_cli,
    node_candidates,
    provider_files,
)

ELF = b"\x7fELF\x02\x01\x01"
EVIL = "#!/bin/sh\ntouch {}/executed\n"


def program(path: Path, content: bytes | str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(0o755)
    return path


def find(tmp_path: Path, command: str | None = None, platform: str = "linux", **environ: str) -> Cli | NotFound:
    return find_cli(
        command, environ={"PATH": str(tmp_path / "bin"), **environ}, home=tmp_path / "home", platform=platform
    )


@pytest.fixture(autouse=True)
def no_real_installation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A ZCode on the machine that runs the tests is not looked at."""
    real = locate._resources

    def below(environ: dict[str, str], home: Path, platform: str) -> tuple[Path, ...]:
        folders = real(environ, home, platform)
        return tuple(path if path.is_relative_to(tmp_path) else tmp_path / path.relative_to("/") for path in folders)

    monkeypatch.setattr(locate, "_resources", below)


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("zcode", ELF, "binary"),
        ("zcode", b"MZ\x90\x00", "binary"),
        ("zcode", b"\xcf\xfa\xed\xfe\x00", "binary"),
        ("zcode.cjs", b"'use strict'", "javascript"),
        ("zcode.js", b"", "javascript"),
        ("zcode.cjs", ELF, "binary"),
        ("zcode", b"#!/usr/bin/env node\n", "script"),
        ("zcode.cmd", b"@echo off", "batch"),
        ("zcode", b"text", "other"),
    ],
)
def test_a_file_is_looked_at_before_it_is_called_a_program(
    tmp_path: Path, name: str, content: bytes, kind: str
) -> None:
    assert file_kind(program(tmp_path / name, content)) == kind
    assert file_kind(tmp_path) == "missing"
    assert file_kind(tmp_path / "none") == "missing"


@pytest.mark.parametrize(
    ("platform", "place", "environ"),
    [
        ("linux", "opt/ZCode/resources/glm/zcode.cjs", {}),
        ("darwin", "Applications/ZCode.app/Contents/Resources/glm/zcode.cjs", {}),
        ("darwin", "home/Applications/ZCode.app/Contents/Resources/glm/zcode.cjs", {}),
        ("win32", "local/Programs/ZCode/resources/glm/zcode.cjs", {"LOCALAPPDATA": "local"}),
        ("win32", "pf/ZCode/resources/glm/zcode.cjs", {"PROGRAMFILES": "pf"}),
    ],
)
def test_the_app_is_found_where_each_platform_puts_it(
    tmp_path: Path, platform: str, place: str, environ: dict[str, str]
) -> None:
    script = program(tmp_path / place, "//")
    placed = {name: str(tmp_path / value) for name, value in environ.items()}
    assert find(tmp_path, platform=platform, **placed) == Cli("installed app", script=script)


def test_the_desktop_program_on_path_is_never_run(tmp_path: Path) -> None:
    """crossweave: `zcode` on PATH is the desktop app, which opens its window even for ``--version``."""
    program(tmp_path / "bin/zcode", ELF)
    assert isinstance(find(tmp_path), NotFound)
    assert isinstance(find(tmp_path, "zcode"), NotFound)


def test_beside_the_desktop_program_its_command_line_is_found(tmp_path: Path) -> None:
    desktop = program(tmp_path / "elsewhere/ZCode/zcode", ELF)
    script = program(desktop.parent / "resources/glm/zcode.cjs", "//")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/zcode").symlink_to(desktop)
    for command in (None, "zcode"):
        found = find(tmp_path, command)
        assert isinstance(found, Cli)
        assert found.script == script


def test_a_script_on_path_is_the_command_line(tmp_path: Path) -> None:
    script = program(tmp_path / "bin/zcode", "#!/bin/sh\n")
    assert find(tmp_path) == Cli("PATH", command=(str(script),))


def test_a_link_to_javascript_on_path_is_run_by_node(tmp_path: Path) -> None:
    script = program(tmp_path / "lib/zcode.cjs", "#!/usr/bin/env node\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/zcode").symlink_to(script)
    assert find(tmp_path) == Cli("PATH", script=script)


def test_relative_folders_on_path_are_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "zcode", "#!/bin/sh\n")
    monkeypatch.chdir(tmp_path)
    assert isinstance(find(tmp_path, PATH=f".{os.pathsep}{os.pathsep}bin"), NotFound)


def test_the_setting_goes_first(tmp_path: Path) -> None:
    program(tmp_path / "opt/ZCode/resources/glm/zcode.cjs", "//")
    script = program(tmp_path / "my copy/zcode.cjs", "//")
    python = program(tmp_path / "bin/python", ELF)
    assert find(tmp_path, f"'{script}'") == Cli("AGENTMAIL_ZCODE_COMMAND", script=script)
    whole = Cli("AGENTMAIL_ZCODE_COMMAND", command=(str(python), "/x/zcode.py", "--flag"))
    assert find(tmp_path, "python /x/zcode.py --flag") == whole


@pytest.mark.parametrize(
    ("command", "word"), [("'", "quotes"), ("  ", "blank"), ("/nowhere/zcode.cjs", "/nowhere"), ("batch.cmd", "batch")]
)
def test_a_setting_that_leads_nowhere_says_so(tmp_path: Path, command: str, word: str) -> None:
    program(tmp_path / "bin/batch.cmd", "@echo off")
    found = find(tmp_path, command)
    assert isinstance(found, NotFound)
    assert word in f"{found.why} {found.mend}"


def test_nothing_found_says_what_to_install(tmp_path: Path) -> None:
    found = find(tmp_path)
    assert isinstance(found, NotFound)
    assert "AGENTMAIL_ZCODE_COMMAND" in found.mend


def test_nodes_are_tried_by_path_then_by_version_and_electron_last(tmp_path: Path) -> None:
    script = program(tmp_path / "opt/ZCode/resources/glm/zcode.cjs", "//")
    electron = program(tmp_path / "opt/ZCode/zcode", ELF)
    first = program(tmp_path / "bin/node")
    old = program(tmp_path / "home/.nvm/versions/node/v9.1.0/bin/node")
    new = program(tmp_path / "home/.nvm/versions/node/v24.14.0/bin/node")
    cli = Cli("x", script=script)
    found = node_candidates(cli, environ={"PATH": str(tmp_path / "bin")}, home=tmp_path / "home", platform="linux")
    ours = [one for one in found if one.path.is_relative_to(tmp_path)]
    assert ours == [*map(NodeCandidate, (first, new, old)), NodeCandidate(electron, electron=True)]


def test_provider_files_lie_beside_the_command_line_and_in_the_home(tmp_path: Path) -> None:
    script = program(tmp_path / "opt/ZCode/resources/glm/zcode.cjs", "//")
    cli = Cli("x", script=script)

    def found(**environ: str) -> ProviderFiles:
        return provider_files(cli, environ=environ, home=tmp_path / "home", platform="linux")

    assert found() == ProviderFiles(None, None)
    runtime = program(tmp_path / "home/.zcode/v2/runtime/provider/linux-x64/3.14/endpoint-1/zcode-builtin.json", "{}")
    newer = program(tmp_path / "home/.zcode/v2/runtime/provider/linux-x64/3.15/endpoint-1/zcode-builtin.json", "{}")
    os.utime(runtime, (1, 1))
    personal = program(tmp_path / "home/.zcode/v2/provider_config.json", "{}")
    assert found() == ProviderFiles(newer, personal)
    beside = program(tmp_path / "opt/ZCode/resources/config/provider/zcode-builtin.json", "{}")
    assert found() == ProviderFiles(beside, personal)
    named = program(tmp_path / "named.json", "{}")
    assert found(ZCODE_BUILTIN_PROVIDER_CONFIG_FILE=str(named)) == ProviderFiles(named, personal)
    assert found(ZCODE_BUILTIN_PROVIDER_CONFIG_FILE="/nowhere") == ProviderFiles(beside, personal)
    assert sys.platform != "win32"
