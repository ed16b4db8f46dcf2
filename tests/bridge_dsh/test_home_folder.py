"""What of dsh's folder stays from turn to turn."""

import os
from pathlib import Path

from bridge_dsh.home_folder import prepare


def test_a_new_session_has_an_empty_folder(tmp_path: Path) -> None:
    home = prepare(tmp_path)
    assert home == tmp_path / "dsh"
    assert list(home.iterdir()) == []


def test_only_the_sessions_stay(tmp_path: Path) -> None:
    home = prepare(tmp_path)
    for name in ("sessions/a/log", "profiles/headless/cordis.patch.yml", "storages/x"):
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text("x")
    for name in ("cordis.patch.yml", ".env", "settings.yaml"):
        (home / name).write_text("x")
    assert prepare(tmp_path) == home
    assert [str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()] == ["sessions/a/log"]


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    home = prepare(tmp_path)
    (home / "sessions").symlink_to(outside)
    (home / "profiles").symlink_to(outside)
    prepare(tmp_path)
    assert list(home.iterdir()) == []
    home.rmdir()
    home.symlink_to(outside)
    prepare(tmp_path)
    assert not home.is_symlink()
    assert (outside / "kept").exists()


def test_links_and_pipes_among_the_sessions_are_removed(tmp_path: Path) -> None:
    person = tmp_path / "bashrc"
    person.write_text("x")
    home = prepare(tmp_path)
    log = home / "sessions" / "cwd" / "id"
    log.mkdir(parents=True)
    (log / "session.v4.jsonl.zstd").symlink_to(person)
    (log / "link").symlink_to(tmp_path)
    os.mkfifo(log / "session.lock")
    (log / "kept").write_text("x")
    prepare(tmp_path)
    assert [path.name for path in log.iterdir()] == ["kept"]
    assert person.read_text() == "x"


def test_a_file_in_the_folder_s_place_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "dsh").write_text("x")
    assert prepare(tmp_path).is_dir()
