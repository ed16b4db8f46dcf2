"""Agents in the directory, programs on the machine."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from ..discovery import (
    Found,
    Missing,
    child_path,
    find_agent,
    find_command,
    is_program,
    list_folder,
    online,
    parse_version,
    search_path,
    version_text,
)
from ..discovery import __all__ as exported
from ..wire import Agent

HOME = Path("/home/ada")


def test_the_public_names_are_sorted() -> None:
    assert exported == sorted(exported)


def nothing(_: Path) -> Sequence[str]:
    return ()


AGENTS = (
    Agent("zcode", "agent", True),
    Agent("pi", "agent", False),
    Agent("dsh", "agent", True, paused=True),
    Agent("opencode", "agent", True, ready=False, lacks=("login",)),
    Agent("old", "agent", True, disabled=True),
    Agent("echo", "agent", True, busy=3),
)


def test_who_can_take_a_mail_now() -> None:
    assert [agent.name for agent in online(AGENTS)] == ["zcode", "echo"]


@pytest.mark.parametrize(("name", "found"), [("zcode", "zcode"), ("ZCode", "zcode"), ("nobody", None)])
def test_an_agent_is_found_however_its_name_is_written(name: str, found: str | None) -> None:
    agent = find_agent(AGENTS, name)
    assert (agent.name if agent else None) == found


@pytest.mark.parametrize(
    ("text", "numbers", "version"),
    [
        ("v20.19.2\n", (20, 19, 2), "20.19.2"),
        ("zcode 0.16.9 (build 7)", (0, 16, 9), "0.16.9"),
        ("0.2.1-rc.2", (0, 2, 1), "0.2.1-rc.2"),
        ("dsh/1.6.0 linux-x64 node-v22.1.0", (1, 6, 0), "1.6.0"),
        ("version: 1.2.", (1, 2), "1.2"),
        ("1.2.3-", (1, 2, 3), "1.2.3"),
        ("\x1b[32m1.2.3\x1b[0m", None, None),
        ("no number 7 here", None, None),
        ("", None, None),
        ("9999999999999999.1", (999999999, 1), "9999999999999999.1"),
    ],
)
def test_a_version_is_read_from_what_a_program_prints(
    text: str, numbers: tuple[int, ...] | None, version: str | None
) -> None:
    assert (parse_version(text), version_text(text)) == (numbers, version)


def test_path_comes_first_and_relative_entries_are_left_out() -> None:
    found = search_path({"PATH": "/a:bin::/usr/bin:.:/a"}, HOME, nothing)
    assert found[:2] == ((Path("/a"), True), (Path("/usr/bin"), True))
    assert (Path("/usr/local/bin"), False) in found
    assert len({path for path, _ in found}) == len(found)
    assert all(path.is_absolute() for path, _ in found)


@pytest.mark.parametrize(
    "folder",
    [
        HOME / ".local/bin",
        HOME / ".npm-global/bin",
        HOME / ".volta/bin",
        HOME / ".asdf/shims",
        HOME / ".pyenv/shims",
        Path("/usr/local/bin"),
        Path("/opt/homebrew/bin"),
    ],
)
@pytest.mark.parametrize("environ", [{}, {"PATH": ""}, {"PATH": "/usr/bin:/bin"}])
def test_a_service_with_a_short_path_looks_where_people_install(environ: dict[str, str], folder: Path) -> None:
    """kandev#996"""
    assert folder in [path for path, _ in search_path(environ, HOME, nothing)]


def test_the_newest_node_of_a_version_manager_comes_first() -> None:
    """kandev#996"""

    def listing(folder: Path) -> Sequence[str]:
        return ["v18.20.0", "v22.1.0", "v9.11.2", "junk"] if folder == HOME / ".nvm/versions/node" else ()

    paths = [path for path, _ in search_path({}, HOME, listing) if ".nvm" in path.parts]
    assert [path.parts[-2] for path in paths] == ["v22.1.0", "v18.20.0", "v9.11.2", "junk"]


def test_folders_that_the_environment_moves_are_followed() -> None:
    environ = {"NVM_DIR": "/opt/nvm", "PNPM_HOME": "/opt/pnpm", "ASDF_DATA_DIR": "/opt/asdf"}
    paths = [path for path, _ in search_path(environ, HOME, lambda folder: ["v1.0"] if "nvm" in str(folder) else [])]
    assert {Path("/opt/nvm/versions/node/v1.0/bin"), Path("/opt/pnpm"), Path("/opt/asdf/shims")} <= set(paths)


def test_an_agent_gets_a_path_of_folders_that_exist() -> None:
    path = child_path(
        {"PATH": "/a:/gone"}, HOME, lambda folder: ["x"] if folder == HOME / ".local/bin" else [], Path("/first")
    )
    assert path == os.pathsep.join(["/first", "/a", "/gone", str(HOME / ".local/bin")])


def find(programs: set[str], **options: object) -> Found | Missing:
    given: dict[str, object] = {"environ": {"PATH": "/usr/bin"}, "home": HOME, "list_folder": nothing, **options}
    return find_command(["zcode", "zc"], is_program=lambda path: str(path) in programs, **given)  # type: ignore[arg-type]


ALL = {"/opt/z/zcode.cjs", "/usr/bin/zcode", "/usr/bin/zc", "/home/ada/.local/bin/zcode", "/srv/my z/run"}


@pytest.mark.parametrize(
    ("programs", "options", "argv", "origin"),
    [
        (ALL, {"command": "'/srv/my z/run' --flag 'a b'"}, ("/srv/my z/run", "--flag", "a b"), "setting"),
        (ALL, {"command": "zc -x"}, ("/usr/bin/zc", "-x"), "setting"),
        (ALL, {"command": "~/.local/bin/zcode"}, ("/home/ada/.local/bin/zcode",), "setting"),
        (ALL, {"command": "  ", "places": [Path("/opt/z/zcode.cjs")]}, ("/opt/z/zcode.cjs",), "place"),
        (ALL, {"places": [Path("/none"), Path("/opt/z/zcode.cjs")]}, ("/opt/z/zcode.cjs",), "place"),
        (ALL, {}, ("/usr/bin/zcode",), "path"),
        (ALL - {"/usr/bin/zcode"}, {}, ("/usr/bin/zc",), "path"),
        (ALL, {"environ": {}}, ("/home/ada/.local/bin/zcode",), "folder"),
        (ALL, {"fits": lambda path: path.name == "zc"}, ("/usr/bin/zc",), "path"),
    ],
)
def test_a_program_is_found_by_setting_place_path_and_folder(
    programs: set[str], options: dict[str, object], argv: tuple[str, ...], origin: str
) -> None:
    found = find(programs, **options)
    assert isinstance(found, Found)
    assert (found.argv, found.origin, str(found.path)) == (argv, origin, argv[0])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"command": "/none --x"}, "/none, is not a program"),
        ({"command": "nope"}, "nope, is not a program"),
        ({"command": "bin/zcode"}, "must be a full path or a name"),
        ({"command": "'/srv"}, "check its quotes"),
        ({"fits": lambda _: False}, "zcode or zc was not found"),
    ],
)
def test_a_wrong_setting_is_told_and_nothing_else_is_taken_instead(options: dict[str, object], why: str) -> None:
    missing = find(ALL, **options)
    assert isinstance(missing, Missing)
    assert why in missing.why


def test_a_program_that_is_nowhere_says_where_it_was_looked_for() -> None:
    missing = find(set(), places=[Path("/opt/z/zcode.cjs")])
    assert isinstance(missing, Missing)
    assert {"/opt/z/zcode.cjs", "/usr/bin", "/home/ada/.local/bin"} <= set(missing.looked)


def test_the_file_system_is_read_as_it_is(tmp_path: Path) -> None:
    for name, mode in (("run", 0o755), ("text", 0o644), ("agent.cjs", 0o644)):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(mode)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("run")
    (tmp_path / "dangling").symlink_to("none")
    assert list_folder(tmp_path) == ["agent.cjs", "dangling", "folder", "link", "run", "text"]
    assert [name for name in list_folder(tmp_path) if is_program(tmp_path / name)] == ["agent.cjs", "link", "run"]
    assert list_folder(tmp_path / "none") == ()
    assert not is_program(tmp_path / "run" / "below")
