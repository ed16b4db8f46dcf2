import stat
from pathlib import Path

import pytest

from agentmail_gateway.store.private_file import make_private, open_private, private_folder, write_private


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_folder_is_closed_to_others_also_when_it_was_open(tmp_path: Path) -> None:
    made = tmp_path / "a" / "b"
    made.mkdir(parents=True, mode=0o755)
    private_folder(made)
    assert mode(made) == 0o700


def test_a_file_is_closed_to_others_and_keeps_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("kept")
    path.chmod(0o644)
    make_private(path)
    assert (mode(path), path.read_text()) == (0o600, "kept")


def test_a_private_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("old")
    path.chmod(0o644)
    write_private(path, "new\n")
    assert (mode(path), path.read_text()) == (0o600, "new\n")
    assert [each.name for each in tmp_path.iterdir()] == ["token"]


def test_a_new_file_does_not_replace_another(tmp_path: Path) -> None:
    with open_private(tmp_path / "new") as file:
        file.write(b"x")
    assert mode(tmp_path / "new") == 0o600
    with pytest.raises(FileExistsError):
        open_private(tmp_path / "new")
