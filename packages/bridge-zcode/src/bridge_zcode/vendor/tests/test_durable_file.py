import os
import stat
from pathlib import Path

import pytest

from ..durable_file import replace_file, sync_folder


def test_a_file_is_written_for_its_owner_alone(tmp_path: Path) -> None:
    replace_file(tmp_path / "a", b"one")
    assert (tmp_path / "a").read_bytes() == b"one"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600


def test_replacing_leaves_only_the_new_file(tmp_path: Path) -> None:
    replace_file(tmp_path / "a", b"one")
    replace_file(tmp_path / "a", b"")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"")]


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_file(tmp_path / "a", b"one")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os if failing == "fsync" else Path, failing, full)
    with pytest.raises(OSError, match="No space"):
        replace_file(tmp_path / "a", b"two")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"one")]


def test_the_data_is_on_disk_before_it_gets_its_name_and_the_name_before_it_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        seen.append(f"{kind} {'named' if (tmp_path / 'a').exists() else 'not named'}")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    replace_file(tmp_path / "a", b"one")
    assert seen == ["file not named", "folder named"]


def test_a_folder_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="missing"):
        replace_file(tmp_path / "missing" / "a", b"")
    with pytest.raises(OSError, match="missing"):
        sync_folder(tmp_path / "missing")
