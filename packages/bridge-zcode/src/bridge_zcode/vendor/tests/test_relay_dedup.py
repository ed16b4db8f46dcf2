import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ..relay_dedup import RelayDedup
from .crash_points import crash_points


def test_a_turn_is_taken_up_once(tmp_path: Path) -> None:
    """cc-connect#733"""
    dedup = RelayDedup.open(tmp_path / "taken")
    assert dedup.take("turn_1", 1, 1)
    assert not dedup.take("turn_1", 1, 1)
    assert dedup.taken("turn_1", 1, 1)
    assert not dedup.taken("turn_2", 1, 1)
    dedup.close()
    dedup.close()


def test_a_turn_taken_up_before_a_restart_is_not_taken_up_again(tmp_path: Path) -> None:
    """cc-connect#607"""
    dedup = RelayDedup.open(tmp_path / "taken")
    assert dedup.take("turn_1", 1, 1)
    again = RelayDedup.open(tmp_path / "taken")
    assert not again.take("turn_1", 1, 1)
    assert again.skipped == 0
    again.close()
    dedup.close()


def test_a_second_attempt_a_released_turn_and_a_retried_dead_letter_are_taken_up(tmp_path: Path) -> None:
    dedup = RelayDedup.open(tmp_path / "taken")
    assert dedup.take("turn_1", 1, 1)
    assert dedup.take("turn_1", 2, 2)
    assert dedup.take("turn_1", 2, 3)
    assert dedup.take("turn_1", 1, 4)
    dedup.close()


@pytest.mark.parametrize(
    ("data", "known", "skipped"),
    [
        (b"", 0, 0),
        (b'["turn_0",1,1]\n["turn_1",1,1]\n', 2, 0),
        (b'["turn_0",1,1]\n["turn_1",1,1]', 2, 0),
        (b'["turn_0",1,1]\n["turn_1",1,', 1, 1),
        (b'["turn_0",1,1]\n\0\0\0\0', 1, 1),
        (b'garbage\n["turn_0",1,1]\n{}\n["turn_1",1]\n["turn_1","1",1]\n["turn_1",1,1]\n', 2, 4),
        (b"\xff\xfe\n\n\n", 0, 1),
        (b"[" * 100_000, 0, 1),
    ],
)
def test_lines_that_can_not_be_read_are_skipped_and_taken_out(
    tmp_path: Path, data: bytes, known: int, skipped: int
) -> None:
    path = tmp_path / "taken"
    path.write_bytes(data)
    dedup = RelayDedup.open(path)
    assert dedup.skipped == skipped
    assert [dedup.taken(f"turn_{number}", 1, 1) for number in range(2)] == [number < known for number in range(2)]
    assert dedup.take("turn_new", 1, 1)
    dedup.close()
    again = RelayDedup.open(path)
    assert (again.skipped, again.taken("turn_new", 1, 1)) == (0, True)
    again.close()


def test_a_file_torn_at_any_byte_keeps_every_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "taken"
    dedup = RelayDedup.open(path)
    for number in range(3):
        dedup.take(f"turn_{number}", 1, 1)
    dedup.close()
    data = path.read_bytes()
    for size in range(len(data) + 1):
        path.write_bytes(data[:size])
        torn = RelayDedup.open(path)
        whole = data[:size].count(b"]")
        assert [torn.taken(f"turn_{number}", 1, 1) for number in range(3)] == [number < whole for number in range(3)]
        assert torn.take("turn_new", 1, 1)
        torn.close()
        again = RelayDedup.open(path)
        assert (again.skipped, again.taken("turn_new", 1, 1)) == (0, True)
        again.close()


def test_the_file_stays_bounded_and_the_newest_stay_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "taken"
    rewritten: list[Path] = []
    real = Path.replace

    def replace(self: Path, target: Path) -> Path:
        rewritten.append(self)
        return real(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    dedup = RelayDedup.open(path, limit=10)
    for number in range(100):
        assert dedup.take(f"turn_{number}", 1, 1)
        assert path.read_bytes().count(b"\n") < 20
    assert all(dedup.taken(f"turn_{number}", 1, 1) for number in range(90, 100))
    assert len(rewritten) == 10
    dedup.close()
    assert [entry.name for entry in tmp_path.iterdir()] == ["taken"]
    smaller = RelayDedup.open(path, limit=2)
    assert path.read_bytes().count(b"\n") == 2
    assert smaller.taken("turn_99", 1, 1)
    smaller.close()


def test_whatever_is_killed_whenever_what_was_taken_up_stays_known(tmp_path: Path) -> None:
    """cc-connect#733; each crash point of an append and of the compaction that follows it"""

    def prepare(folder: Path) -> None:
        dedup = RelayDedup.open(folder / "taken", limit=2)
        for number in range(3):
            dedup.take(f"turn_{number}", 1, 1)
        dedup.close()

    def action(folder: Path) -> None:
        dedup = RelayDedup.open(folder / "taken", limit=2)
        if dedup.take("turn_3", 1, 1):
            (folder / "run").touch()
        dedup.close()

    folders = list(crash_points(tmp_path, prepare, action))
    assert len(folders) > 8
    for folder in folders:
        dedup = RelayDedup.open(folder / "taken", limit=2)
        assert dedup.taken("turn_2", 1, 1)
        assert dedup.taken("turn_3", 1, 1) or not (folder / "run").exists()
        assert dedup.take("turn_4", 1, 1)
        dedup.close()


def test_a_full_disk_leaves_the_turn_untaken_and_the_file_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dedup = RelayDedup.open(tmp_path / "taken")
    assert dedup.take("turn_1", 1, 1)
    real = os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:5]))
        with pytest.raises(OSError, match="full"):
            dedup.take("turn_2", 1, 1)
    assert not dedup.taken("turn_2", 1, 1)
    assert dedup.take("turn_2", 1, 1)
    dedup.close()
    assert (tmp_path / "taken").read_bytes() == b'["turn_1",1,1]\n["turn_2",1,1]\n'


def test_a_turn_is_on_disk_before_it_is_taken_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dedup = RelayDedup.open(tmp_path / "taken")
    synced: list[bytes] = []
    monkeypatch.setattr(os, "fsync", lambda _: synced.append((tmp_path / "taken").read_bytes()))
    dedup.take("turn_1", 1, 1)
    assert synced == [b'["turn_1",1,1]\n']
    dedup.close()


turns = st.tuples(st.sampled_from(["turn_1", 'turn_"\n2', "文"]), st.integers(1, 3), st.integers(1, 3))


@settings(max_examples=20)
@given(st.lists(turns | st.none(), max_size=12))
def test_it_answers_as_a_set_does_whenever_it_is_restarted(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int] | None]
) -> None:
    path = tmp_path_factory.mktemp("dedup") / "taken"
    dedup = RelayDedup.open(path, limit=50)
    known: set[tuple[str, int, int]] = set()
    for step in steps:
        if step is None:
            dedup.close()
            dedup = RelayDedup.open(path, limit=50)
        else:
            assert dedup.take(*step) is (step not in known)
            known.add(step)
    dedup.close()
