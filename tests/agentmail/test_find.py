"""Which agents are on this machine."""

from pathlib import Path

import pytest

from agentmail.up.find import is_here, places
from bridge_zcode.locate import NotFound, find_cli


def _is_here(agent: str, home: Path, **environ: str) -> bool:
    return is_here(agent, environ=environ, home=home, platform="none of them")


def test_a_program_on_the_path_or_in_an_installers_folder_is_found(tmp_path: Path) -> None:
    assert not _is_here("pi", tmp_path, PATH=str(tmp_path))
    program = tmp_path / ".local" / "bin" / "pi"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert _is_here("pi", tmp_path, PATH="")
    assert _is_here("pi", tmp_path / "other", PATH=str(program.parent))


def test_a_setting_that_names_the_program_is_left_to_the_bridge_to_judge(tmp_path: Path) -> None:
    assert _is_here("opencode", tmp_path, AGENTMAIL_OPENCODE_COMMAND="/no/such/program")
    assert not _is_here("opencode", tmp_path, AGENTMAIL_OPENCODE_COMMAND=" ")


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_wherever_its_bridge_finds_zcode_it_is_found(platform: str, tmp_path: Path) -> None:
    environ = {"LOCALAPPDATA": str(tmp_path / "local"), "PATH": ""}
    mine = [p for p in places("zcode", environ=environ, home=tmp_path, platform=platform) if p.is_relative_to(tmp_path)]
    bundles = [place for place in mine if place.name == "zcode.cjs"]
    assert bundles
    for place in bundles:
        place.parent.mkdir(parents=True)
        place.write_text("//")
        found = find_cli(None, environ=environ, home=tmp_path, platform=platform)
        assert not isinstance(found, NotFound)
        assert is_here("zcode", environ=environ, home=tmp_path, platform=platform)
        place.unlink()


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_no_install_place_of_the_bridge_is_missed(platform: str, tmp_path: Path) -> None:
    from bridge_zcode import locate

    environ = {"LOCALAPPDATA": "L", "PROGRAMFILES": "P", "PROGRAMFILES(X86)": "X"}
    theirs = set(locate._install_places(environ, tmp_path, platform))
    assert theirs
    assert theirs <= set(places("zcode", environ=environ, home=tmp_path, platform=platform))
