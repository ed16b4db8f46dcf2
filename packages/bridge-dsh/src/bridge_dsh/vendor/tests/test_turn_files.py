"""A turn's folder: attachments in, files out, and an agent that leaves traps behind."""

import os
from pathlib import Path

import pytest

from ..turn_files import (
    LARGEST_FILE,
    MOST_FILES,
    TurnFolder,
    lay_in,
    look_out,
    make_folder,
    media_type,
    open_plain,
    remove_folder,
)
from ..wire import Attachment


def folder_of(tmp_path: Path) -> TurnFolder:
    return make_folder(tmp_path / "turns" / "turn_1")


async def test_attachments_are_laid_in_read_only_under_safe_and_distinct_names(tmp_path: Path) -> None:
    async def fetch(attachment_id: str, dest: Path, size: int) -> None:
        dest.write_text(f"{attachment_id} {size}")

    folder = folder_of(tmp_path)
    attachments = [Attachment(f"att_{n}", "../../etc/passwd", "text/plain", n) for n in range(2)]
    paths = await lay_in(folder, attachments, fetch)
    assert [path.read_text() for path in paths] == ["att_0 0", "att_1 1"]
    assert len(set(paths)) == 2
    for path in paths:
        assert path.parent == folder.inbox
        assert path.stat().st_mode & 0o777 == 0o400
    assert folder.inbox.stat().st_mode & 0o777 == 0o500
    remove_folder(folder.path)
    assert not folder.path.exists()


def test_plain_files_left_in_out_are_found_by_name(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (folder.outbox / "b.txt").write_text("b")
    (folder.outbox / "a.txt").write_text("a")
    found = look_out(folder)
    assert found.files == ("a.txt", "b.txt")
    assert found.left == ()
    with open_plain(folder, "a.txt") as file:
        assert file.read() == b"a"


def test_links_pipes_folders_and_hard_links_are_not_attached(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    folder = folder_of(tmp_path)
    (folder.outbox / "link").symlink_to(secret)
    os.link(secret, folder.outbox / "hard")
    os.mkfifo(folder.outbox / "pipe")
    (folder.outbox / "sub").mkdir()
    (folder.outbox / "good").write_text("good")
    found = look_out(folder)
    assert found.files == ("good",)
    assert {line.split()[0] for line in found.left} == {"link", "hard", "pipe", "sub"}
    for name in ("link", "hard", "pipe"):
        with pytest.raises(OSError), open_plain(folder, name):
            raise AssertionError


def test_an_out_folder_that_became_a_link_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "secret").write_text("secret")
    folder = folder_of(tmp_path)
    folder.outbox.rmdir()
    folder.outbox.symlink_to(elsewhere)
    found = look_out(folder)
    assert found.files == ()
    assert len(found.left) == 1
    with pytest.raises(OSError), open_plain(folder, "secret"):
        raise AssertionError


def test_a_file_swapped_for_a_link_between_the_look_and_the_opening_is_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    folder = folder_of(tmp_path)
    (folder.outbox / "a").write_text("a")
    assert look_out(folder).files == ("a",)
    (folder.outbox / "a").unlink()
    (folder.outbox / "a").symlink_to(secret)
    with pytest.raises(OSError), open_plain(folder, "a"):
        raise AssertionError


def test_number_and_size_are_bounded_and_what_is_left_is_told(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    for n in range(MOST_FILES + 2):
        (folder.outbox / f"f{n:03}").write_text("x")
    with (folder.outbox / "a-large").open("wb") as file:
        file.truncate(LARGEST_FILE + 1)
    found = look_out(folder)
    assert len(found.files) == MOST_FILES
    assert len(found.left) == 3


def test_no_out_folder_is_no_files(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    folder.outbox.rmdir()
    assert look_out(folder).files == ()
    assert look_out(TurnFolder(tmp_path / "nowhere")).files == ()


def test_a_folder_made_unreadable_is_removed_and_links_in_it_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "keep").write_text("keep")
    folder = folder_of(tmp_path)
    deep = folder.outbox / "deep" / "er"
    deep.mkdir(parents=True)
    (deep / "file").write_text("x")
    (folder.outbox / "link").symlink_to(outside)
    deep.chmod(0)
    deep.parent.chmod(0)
    remove_folder(folder.path)
    assert not folder.path.exists()
    assert (outside / "keep").read_text() == "keep"


def test_a_second_attempt_starts_with_an_empty_folder(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (folder.outbox / "old").write_text("old")
    assert look_out(make_folder(folder.path)).files == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.png", "image/png"),
        ("a.html", "text/plain"),
        ("a.svg", "text/plain"),
        ("a.js", "text/plain"),
        ("a", "application/octet-stream"),
    ],
)
def test_no_file_is_announced_as_something_a_browser_runs(name: str, expected: str) -> None:
    assert media_type(name) == expected
