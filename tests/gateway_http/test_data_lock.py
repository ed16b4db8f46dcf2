"""One owner per data folder."""

import subprocess
import sys
from pathlib import Path

import pytest

from agentmail_gateway.http.data_lock import DataFolderInUseError, lock_data_folder, write_address

HOLD = """
import sys
from pathlib import Path
from agentmail_gateway.http.data_lock import lock_data_folder
with lock_data_folder(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_owner_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    with lock_data_folder(tmp_path):
        write_address(tmp_path, "http://127.0.0.1:8180")
        with pytest.raises(DataFolderInUseError) as caught, lock_data_folder(tmp_path):
            pass
    assert str(tmp_path) in str(caught.value)
    assert "at http://127.0.0.1:8180" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_folder_is_free_again_afterwards(tmp_path: Path) -> None:
    for _ in range(2):
        with lock_data_folder(tmp_path):
            write_address(tmp_path, "http://127.0.0.1:8180")
    assert list(tmp_path.iterdir()) == []


def test_files_left_behind_block_nobody(tmp_path: Path) -> None:
    """mcp_agent_mail#123, takopi#254"""
    (tmp_path / "holder").write_text("process 1 at http://127.0.0.1:8180")
    (tmp_path / "address").write_text("http://127.0.0.1:8180")
    (tmp_path / "lock").write_text("1")
    with lock_data_folder(tmp_path):
        assert "process 1 " not in (tmp_path / "holder").read_text()


def test_deleting_every_file_lets_no_second_owner_in(tmp_path: Path) -> None:
    """mcp_agent_mail#123"""
    with lock_data_folder(tmp_path):
        for path in tmp_path.iterdir():
            path.unlink()
        with pytest.raises(DataFolderInUseError, match="another process"), lock_data_folder(tmp_path):
            pass


def test_a_killed_owner_leaves_no_lock(tmp_path: Path) -> None:
    """takopi#254"""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"held\n"
        with pytest.raises(DataFolderInUseError, match=f"process {owner.pid}"), lock_data_folder(tmp_path):
            pass
        owner.kill()
        owner.wait()
    with lock_data_folder(tmp_path):
        pass


def test_the_address_file_is_one_line(tmp_path: Path) -> None:
    write_address(tmp_path, "http://127.0.0.1:8180")
    assert (tmp_path / "address").read_text() == "http://127.0.0.1:8180\n"
