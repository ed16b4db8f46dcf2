from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ..workspace import (
    BusyDirectories,
    Place,
    WorkspaceError,
    Workspaces,
    WorkspaceSettingsError,
    overlaps,
    workspaces,
)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A machine in small: projects, a home, a bridge's state folder, and things that are nobody's workspace."""
    real = tmp_path.resolve()
    for folder in (
        "srv/site/sub/dir",
        "srv/site/.git/hooks",
        "srv/api",
        "srv/tools",
        "home/ada/project",
        "state/workspaces/default",
        "state/spool",
        "outside/secret",
    ):
        (real / folder).mkdir(parents=True)
    (real / "srv/site/file.txt").write_text("")
    return real


@pytest.fixture
def known(base: Path) -> Workspaces:
    return _made(base, ("site", base / "srv/site"), ("Api", base / "srv/api"), ("gone", base / "srv/gone"))


def _made(base: Path, *entries: tuple[str, Path]) -> Workspaces:
    return workspaces(entries, home=base / "home/ada", state_dir=base / "state")


@pytest.mark.parametrize(
    ("asked", "name", "path"),
    [
        ("site", "site", "srv/site"),
        (" SITE ", "site", "srv/site"),
        ("site/", "site", "srv/site"),
        ("site/sub/dir", "site/sub/dir", "srv/site/sub/dir"),
        ("site//sub/./dir/", "site/sub/dir", "srv/site/sub/dir"),
        ("api", "api", "srv/api"),
        ("ＡＰＩ", "api", "srv/api"),
        (None, "site", "srv/site"),
        ("", "site", "srv/site"),
        ("  ", "site", "srv/site"),
    ],
)
def test_a_workspace_is_found(known: Workspaces, base: Path, asked: str | None, name: str, path: str) -> None:
    place = known.resolve(asked)
    assert (place.name, place.path, place.instead_of) == (name, base / path, None)
    assert place.path.is_relative_to(place.root)


def test_an_absolute_path_is_taken_inside_a_root_only(known: Workspaces, base: Path) -> None:
    assert known.resolve(str(base / "srv/site/sub")) == Place("site/sub", base / "srv/site/sub", base / "srv/site")
    for path in (base / "srv", base / "srv/tools", base / "srv/site2", base / "home/ada", Path("/"), Path("/etc")):
        assert _refusal(known, str(path)).class_ == "workspace_unknown", path


@pytest.mark.parametrize(
    ("asked", "class_"),
    [
        ("unknown", "workspace_unknown"),
        ("unknown/sub", "workspace_unknown"),
        ("..", "workspace_unknown"),
        ("site/..", "workspace_unknown"),
        ("site/../api", "workspace_unknown"),
        ("site/sub/../../..", "workspace_unknown"),
        ("site\\..\\..", "workspace_unknown"),
        ("../outside", "workspace_unknown"),
        ("~", "workspace_unknown"),
        ("./site", "workspace_unknown"),
        ("site\0", "workspace_unknown"),
        ("site/\0", "workspace_unknown"),
        ("site/a\nb", "workspace_unknown"),
        ("site/\ud800", "workspace_unknown"),
        ("x" * 5000, "workspace_unknown"),
        ("site/" + "y" * 300, "workspace_gone"),
        ("site/.git", "workspace_unknown"),
        ("site/.git/hooks", "workspace_unknown"),
        ("site/.GIT", "workspace_unknown"),
        ("gone", "workspace_gone"),
        ("gone/sub", "workspace_gone"),
        ("site/missing", "workspace_gone"),
        ("site/file.txt", "workspace_gone"),
        ("site/file.txt/x", "workspace_gone"),
    ],
)
def test_what_is_no_workspace_is_refused_naming_those_there_are(known: Workspaces, asked: str, class_: str) -> None:
    error = _refusal(known, asked)
    failure = error.failure()
    assert failure.class_ == error.class_ == class_
    assert "site (the default), api, gone" in failure.next_step
    assert failure.message == str(error)
    assert failure.message.isprintable()
    assert len(failure.message) < 300


def test_an_absolute_path_with_dots_is_refused(known: Workspaces, base: Path) -> None:
    assert _refusal(known, f"{base}/srv/site/../api").class_ == "workspace_unknown"


def test_nothing_is_told_about_what_exists_outside(known: Workspaces, base: Path) -> None:
    there, not_there = _refusal(known, f"{base}/outside/secret"), _refusal(known, f"{base}/outside/nothin")
    assert str(there).replace("secret", "nothin") == str(not_there)
    assert there.class_ == not_there.class_


def test_a_link_out_of_the_root_is_not_followed(known: Workspaces, base: Path) -> None:
    (base / "srv/site/out").symlink_to(base / "outside")
    (base / "srv/site/up").symlink_to("..")
    for asked in ("site/out", "site/out/secret", "site/up", "site/up/tools", str(base / "srv/site/out")):
        assert _refusal(known, asked).class_ == "workspace_unknown", asked


def test_a_link_into_git_data_is_not_followed(known: Workspaces, base: Path) -> None:
    (base / "srv/site/nice").symlink_to(".git/hooks")
    assert _refusal(known, "site/nice").class_ == "workspace_unknown"


def test_a_link_to_a_directory_whose_name_can_not_be_written_is_not_followed(known: Workspaces, base: Path) -> None:
    for number, name in enumerate(("a\nb", "a\udce4b")):
        (base / "srv/site" / name).mkdir()
        (base / f"srv/site/link{number}").symlink_to(name)
        assert _refusal(known, f"site/link{number}").class_ == "workspace_unknown"


def test_a_link_inside_the_roots_has_the_name_of_where_it_leads(known: Workspaces, base: Path) -> None:
    (base / "srv/site/short").symlink_to("sub/dir")
    (base / "srv/site/other").symlink_to(base / "srv/api")
    assert known.resolve("site/short") == known.resolve("site/sub/dir")
    assert known.resolve("site/other") == known.resolve("api")


def test_a_link_to_itself_is_gone(known: Workspaces, base: Path) -> None:
    (base / "srv/site/loop").symlink_to("loop")
    assert _refusal(known, "site/loop").class_ == "workspace_gone"


def test_a_root_that_is_a_link_stands_for_where_it_led_at_start(base: Path) -> None:
    (base / "current").symlink_to(base / "srv/site")
    known = _made(base, ("site", base / "current"))
    assert known.resolve("site").path == base / "srv/site"
    (base / "current").unlink()
    (base / "current").symlink_to(base / "outside")
    assert known.resolve("site").path == base / "srv/site"


def test_a_root_replaced_by_a_link_does_not_open_where_it_leads(base: Path) -> None:
    known = _made(base, ("all", base / "srv"), ("api", base / "srv/api"))
    (base / "srv/api").rmdir()
    (base / "srv/api").symlink_to(base / "outside")
    assert _refusal(known, "api").class_ == "workspace_unknown"
    assert _refusal(known, "api/secret").class_ == "workspace_unknown"


def test_in_nested_roots_a_directory_has_one_name(base: Path) -> None:
    known = _made(base, ("all", base / "srv"), ("site", base / "srv/site"))
    assert known.resolve("all/site/sub") == known.resolve("site/sub")
    assert known.resolve("site/sub") == Place("site/sub", base / "srv/site/sub", base / "srv/site")
    assert known.resolve("all/tools").name == "all/tools"


def test_two_aliases_of_one_directory_give_it_the_first_name(base: Path) -> None:
    known = _made(base, ("a", base / "srv/site"), ("b", base / "srv/site"))
    assert known.resolve("b").name == "a"


def test_a_name_leads_back_to_its_directory(known: Workspaces) -> None:
    for asked in ("site", "site/sub/dir", "api"):
        place = known.resolve(asked)
        assert known.resolve(place.name) == place


def test_without_a_workspace_the_last_of_the_thread_counts(known: Workspaces) -> None:
    assert known.resolve(None, "api").name == "api"
    assert known.resolve("site", "api").name == "site"


@pytest.mark.parametrize("last", ["renamed", "gone", "site/missing", "site/../x", "\0"])
def test_when_the_last_workspace_is_no_more_the_default_takes_its_place_and_says_so(
    known: Workspaces, last: str
) -> None:
    """claude-code#62406"""
    place = known.resolve(None, last)
    assert (place.name, place.instead_of) == ("site", last)


def test_a_workspace_that_was_asked_for_is_never_replaced(known: Workspaces) -> None:
    assert _refusal(known, "gone").class_ == "workspace_gone"


def test_a_directory_deleted_or_replaced_between_claim_and_start_is_noticed(known: Workspaces, base: Path) -> None:
    sub = base / "srv/site/sub/dir"
    place = known.resolve("site/sub/dir")
    known.recheck(place)
    sub.rmdir()
    with pytest.raises(WorkspaceError, match="gone") as caught:
        known.recheck(place)
    assert caught.value.class_ == "workspace_gone"
    sub.symlink_to(base / "outside")
    with pytest.raises(WorkspaceError, match="gone"):
        known.recheck(place)
    sub.unlink()
    sub.write_text("")
    with pytest.raises(WorkspaceError, match="gone"):
        known.recheck(place)
    sub.unlink()
    sub.mkdir()
    known.recheck(place)


def test_a_parent_replaced_by_a_link_between_claim_and_start_is_noticed(known: Workspaces, base: Path) -> None:
    place = known.resolve("site/sub/dir")
    (base / "srv/site/sub").rename(base / "srv/moved")
    (base / "srv/site/sub").symlink_to(base / "srv/moved")
    with pytest.raises(WorkspaceError):
        known.recheck(place)


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ([], "no workspace"),
        ([("", "srv/site")], "no alias"),
        ([("a/b", "srv/site")], "no alias"),
        ([(".a", "srv/site")], "no alias"),
        ([("a\nb", "srv/site")], "no alias"),
        ([("x" * 65, "srv/site")], "no alias"),
        ([("site", "srv/site"), ("SITE", "srv/api")], "twice"),
        ([("ﬁ", "srv/site"), ("fi", "srv/api")], "twice"),
        ([("a", "home/ada")], "home directory"),
        ([("a", "home")], "home directory"),
        ([("a", "link-home")], "home directory"),
        ([("a", "/")], "home directory"),
        ([("a", "state")], "own files"),
        ([("a", "state/spool")], "own files"),
        ([("a", "state/workspaces")], "own files"),
        ([("a", "keys")], "own files"),
        ([("a", "keys/deep")], "own files"),
        ([("a", "link-state")], "own files"),
        ([("a", "vault")], "contains the bridge's own files"),
        ([("a", "vault/more")], "contains the bridge's own files"),
        ([("a", "srv/\udce4")], "absolute path"),
        ([("ok", "srv/site"), ("a", "")], "own files|home directory"),
    ],
)
def test_settings_that_hand_out_too_much_are_refused(base: Path, entries: list[tuple[str, str]], says: str) -> None:
    (base / "link-home").symlink_to(base / "home/ada")
    (base / "link-state").symlink_to(base / "state")
    (base / "keys").mkdir()
    given_ = [(alias, base / path) for alias, path in entries]
    with pytest.raises(WorkspaceSettingsError, match=says) as caught:
        workspaces(
            given_, home=base / "home/ada", state_dir=base / "state", private=[base / "keys", base / "vault/more/deep"]
        )
    assert str(caught.value).startswith("AGENTMAIL_WORKSPACES: ")
    assert str(caught.value).isprintable()


def test_a_relative_path_is_refused(base: Path) -> None:
    with pytest.raises(WorkspaceSettingsError, match="absolute path"):
        _made(base, ("a", Path("srv")))


def test_directories_in_the_home_and_in_the_state_folders_own_place_are_allowed(base: Path) -> None:
    known = _made(base, ("default", base / "state/workspaces/default"), ("p", base / "home/ada/project"))
    assert known.aliases == ("default", "p")
    assert known.resolve(None).path == base / "state/workspaces/default"


@pytest.mark.parametrize(
    ("a", "b", "together"),
    [
        ("/srv/a", "/srv/a", True),
        ("/srv/a", "/srv/a/b/c", True),
        ("/srv/a/b", "/srv/a", True),
        ("/srv/a", "/srv/ab", False),
        ("/srv/a", "/srv/b", False),
        ("/", "/srv", True),
    ],
)
def test_directories_overlap_when_one_lies_in_the_other(a: str, b: str, together: bool) -> None:
    assert overlaps(Path(a), Path(b)) is together


def test_one_turn_at_a_time_works_in_a_directory() -> None:
    busy = BusyDirectories()
    assert busy.take(Path("/srv/a"), "turn_1")
    assert busy.take(Path("/srv/a"), "turn_1")
    assert not busy.take(Path("/srv/a"), "turn_2")
    assert not busy.take(Path("/srv/a/sub"), "turn_2")
    assert not busy.take(Path("/srv"), "turn_2")
    assert busy.take(Path("/srv/b"), "turn_2")
    assert busy.holder(Path("/srv/a/x")) == "turn_1"
    assert busy.holder(Path("/srv/c")) is None
    busy.release("turn_1")
    busy.release("turn_1")
    assert busy.take(Path("/srv/a/sub"), "turn_3")
    assert not busy.take(Path("/srv"), "turn_1")


def test_a_turn_can_not_widen_its_directory_over_that_of_another() -> None:
    busy = BusyDirectories()
    assert busy.take(Path("/srv/a/x"), "turn_1")
    assert busy.take(Path("/srv/a/y"), "turn_2")
    assert not busy.take(Path("/srv/a"), "turn_1")
    assert busy.holder(Path("/srv/a/x")) == "turn_1"


paths = st.sampled_from(["/a", "/a/x", "/a/y", "/b"]).map(Path)


@given(st.lists(st.tuples(paths, st.sampled_from(["t1", "t2", "t3"]), st.booleans()), max_size=12))
def test_two_turns_never_hold_overlapping_directories(steps: list[tuple[Path, str, bool]]) -> None:
    busy = BusyDirectories()
    held: dict[str, Path] = {}
    for path, turn, give_up in steps:
        if give_up:
            busy.release(turn)
            held.pop(turn, None)
        elif busy.take(path, turn):
            held[turn] = path
        turns = sorted(held)
        assert not any(overlaps(held[a], held[b]) for a in turns for b in turns if a < b)


def test_a_directory_that_can_not_be_entered_is_gone(
    known: Workspaces, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_dir", denied)
    assert _refusal(known, "site/sub/dir").class_ == "workspace_gone"


def _refusal(known: Workspaces, asked: str) -> WorkspaceError:
    with pytest.raises(WorkspaceError) as caught:
        known.resolve(asked)
    return caught.value
