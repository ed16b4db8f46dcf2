"""What of pi's folder stays from turn to turn."""

import os
from pathlib import Path

from bridge_pi.session_folder import prepare


def test_a_new_session_has_an_empty_folder_and_files_stay(tmp_path: Path) -> None:
    folder = prepare(tmp_path)
    (folder / "--cwd--").mkdir()
    (folder / "--cwd--" / "a.jsonl").write_text("x")
    assert prepare(tmp_path) == folder
    assert (folder / "--cwd--" / "a.jsonl").read_text() == "x"


def test_links_and_pipes_are_removed_and_not_followed(tmp_path: Path) -> None:
    person = tmp_path / "bashrc"
    person.write_text("x")
    folder = prepare(tmp_path)
    (folder / "a.jsonl").symlink_to(person)
    (folder / "--cwd--").symlink_to(tmp_path)
    os.mkfifo(folder / "b.jsonl")
    prepare(tmp_path)
    assert list(folder.iterdir()) == []
    assert person.read_text() == "x"


def test_a_link_or_a_file_in_the_folder_s_place_is_no_obstacle(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    (tmp_path / "pi").symlink_to(outside)
    assert not prepare(tmp_path).is_symlink()
    assert (outside / "kept").exists()
    (tmp_path / "pi").rmdir()
    (tmp_path / "pi").write_text("x")
    assert prepare(tmp_path).is_dir()
