"""The sync as a person runs it, on a small checkout."""

import os
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from deploy import sync_shared
from deploy.shared_guard.baseline import Baseline
from deploy.shared_guard.compare import drift
from deploy.shared_guard.manifest import MANIFEST, read
from deploy.shared_guard.mutations import CannotMakeError, mutations
from deploy.shared_guard.plan import Step
from deploy.shared_guard.sample import Sample
from deploy.shared_guard.tree import scan

from .checkouts import ALL, BASELINE, NAMED, REPOSITORY, TARGETS, checkout, content, copy_programs, run, write

ALPHA = f"{ALL}/alpha.py"
EDIT = '"""Alpha, edited where it stands."""\n'


def sync(root: Path, *options: str) -> int:
    return sync_shared.main(["--root", str(root), *options])


def stamps(root: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_ino) for path in root.rglob("*")}


def test_all_takes_everything_and_named_modules_take_their_imports_and_tests_along(tmp_path: Path) -> None:
    checkout(tmp_path)
    assert content(tmp_path / ALL) == content(tmp_path / "shared")
    assert content(tmp_path / NAMED).keys() == {
        "__init__.py",
        "alpha.py",
        "beta.py",
        "tests/__init__.py",
        "tests/helper.py",
        "tests/test_alpha.py",
    }
    assert drift(tmp_path) == []


def test_a_second_run_touches_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = stamps(checkout(tmp_path))
    capsys.readouterr()
    assert sync(tmp_path) == 0
    assert capsys.readouterr().out == "nothing to do\n"
    assert stamps(tmp_path) == before


def test_the_manifest_is_the_same_bytes_wherever_and_however_it_is_made(tmp_path: Path) -> None:
    forwards = checkout(tmp_path / "one") / MANIFEST
    backwards = checkout(tmp_path / "two", dict(sorted(BASELINE.items(), reverse=True))) / MANIFEST
    assert forwards.read_bytes() == backwards.read_bytes()
    assert tomllib.loads(forwards.read_text())["target"] == tomllib.loads(TARGETS)["target"]
    files = list(tomllib.loads(forwards.read_text())["files"])
    assert files == sorted(files)


def test_a_dry_run_says_what_would_change_and_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout(tmp_path)
    write(tmp_path, {"shared/alpha.py": "ALPHA = 1\n", "shared/delta.py": "DELTA = 4\n"})
    (tmp_path / "shared/gamma.py").unlink()
    before = stamps(tmp_path)
    capsys.readouterr()
    assert sync(tmp_path, "--dry-run") == 0
    assert capsys.readouterr().out.splitlines() == [
        f"would remove {ALL}/gamma.py",
        f"would update {ALL}/alpha.py",
        f"would add {ALL}/delta.py",
        f"would remove {NAMED}/beta.py",
        f"would update {NAMED}/alpha.py",
        f"would update {MANIFEST}",
    ]
    assert stamps(tmp_path) == before


def test_a_copy_with_edits_of_its_own_is_refused_by_name_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout(tmp_path)
    write(tmp_path, {ALPHA: EDIT, "shared/gamma.py": "GAMMA = 33\n"})
    before = stamps(tmp_path)
    for options in ([], ["--dry-run"]):
        assert sync(tmp_path, *options) == 1
        assert f"refused: {ALPHA} holds edits that are nowhere in shared/" in capsys.readouterr().err
        assert stamps(tmp_path) == before


def test_force_overwrites_a_copy_with_edits_of_its_own(tmp_path: Path) -> None:
    checkout(tmp_path)
    write(tmp_path, {ALPHA: EDIT, f"{NAMED}/stranger.py": "STRANGER = 1\n"})
    assert sync(tmp_path, "--force") == 0
    assert drift(tmp_path) == []


def test_an_extra_file_with_content_of_its_own_is_refused_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout(tmp_path)
    write(tmp_path, {f"{ALL}/folder/stranger.py": "STRANGER = 1\n"})
    assert sync(tmp_path) == 1
    assert f"refused: {ALL}/folder/stranger.py" in capsys.readouterr().err
    assert (tmp_path / ALL / "folder/stranger.py").exists()


@pytest.mark.parametrize(
    ("case", "files"),
    [
        ("the baseline was edited since the last sync", {"shared/alpha.py": "ALPHA = 11\n"}),
        ("the copy has the baseline's edit already", {"shared/alpha.py": "ALPHA = 11\n", ALPHA: "ALPHA = 11\n"}),
        ("the copy is the content of another module", {ALPHA: BASELINE["gamma.py"]}),
        ("the copy is empty", {ALPHA: ""}),
        ("a killed sync left its temporary file", {f"{ALL}/.alpha.py-12ab34cd.sync-tmp": "ALP"}),
        ("an extra file is the copy of a module", {f"{ALL}/old_alpha.py": BASELINE["alpha.py"]}),
    ],
)
def test_nothing_is_lost_so_nothing_is_refused(case: str, files: dict[str, str], tmp_path: Path) -> None:
    write(checkout(tmp_path), files)
    assert sync(tmp_path) == 0, case
    assert drift(tmp_path) == []
    assert not list(tmp_path.rglob("*.sync-tmp"))


def test_a_module_that_left_the_baseline_leaves_the_copies_with_its_folder(tmp_path: Path) -> None:
    checkout(tmp_path, {**BASELINE, "deep/__init__.py": '"""Deep."""\n', "deep/down.py": "DOWN = 1\n"})
    write(tmp_path, {f"{ALL}/deep/__pycache__/down.cpython-311.pyc": ""})
    for path in ("deep/__init__.py", "deep/down.py"):
        (tmp_path / "shared" / path).unlink()
    assert sync(tmp_path) == 0
    assert not (tmp_path / ALL / "deep").exists()
    assert drift(tmp_path) == []


def test_what_every_mutation_of_the_guard_damages_the_sync_mends(tmp_path: Path) -> None:
    sample = Sample.build(tmp_path, Baseline.read(REPOSITORY).contents)
    mended = []
    for mutation in mutations(sample):
        if mutation.name == "a target the manifest doesn't name":
            continue
        try:
            mutation.make(tmp_path / mutation.path)
        except CannotMakeError:
            continue
        assert sync(tmp_path, "--force") == 0, mutation.name
        assert drift(tmp_path) == [], mutation.name
        mended.append(mutation.name)
    assert len(mended) > 30


def test_a_symlink_is_replaced_and_what_it_points_to_is_left_alone(tmp_path: Path) -> None:
    checkout(tmp_path)
    precious = tmp_path / "precious.py"
    precious.write_text("PRECIOUS = 1\n")
    (tmp_path / ALPHA).unlink()
    (tmp_path / ALPHA).symlink_to(precious)
    assert sync(tmp_path) == 0
    assert precious.read_text() == "PRECIOUS = 1\n"
    assert drift(tmp_path) == []


def test_nothing_is_written_through_a_target_that_is_a_symlink(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / ALL).rename(elsewhere)
    (tmp_path / ALL).symlink_to(elsewhere)
    write(tmp_path, {"shared/alpha.py": "ALPHA = 11\n"})
    before = content(elsewhere)
    assert sync(tmp_path) == 1
    assert f"refused: {ALL} is a symlink" in capsys.readouterr().err
    assert sync(tmp_path, "--force") == 0
    assert not (tmp_path / ALL).is_symlink()
    assert content(elsewhere) == before
    assert drift(tmp_path) == []


def test_a_package_that_is_a_symlink_is_refused_even_by_force(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout(tmp_path)
    (tmp_path / "packages/bridge-one").rename(tmp_path / "elsewhere")
    (tmp_path / "packages/bridge-one").symlink_to(tmp_path / "elsewhere")
    write(tmp_path, {"shared/alpha.py": "ALPHA = 11\n"})
    assert sync(tmp_path, "--force") == 1
    assert "refused: packages/bridge-one is a symlink" in capsys.readouterr().err


def test_a_symlink_in_the_baseline_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkout(tmp_path)
    (tmp_path / "shared/link.py").symlink_to("alpha.py")
    assert sync(tmp_path, "--force") == 1
    assert "refused: shared/link.py" in capsys.readouterr().err


def test_a_copy_has_the_execute_bit_of_its_baseline(tmp_path: Path) -> None:
    checkout(tmp_path)
    (tmp_path / "shared/alpha.py").chmod(0o755)
    assert sync(tmp_path) == 0
    assert os.access(tmp_path / ALPHA, os.X_OK)
    assert drift(tmp_path) == []


def test_a_sync_that_is_killed_anywhere_is_finished_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The crash points are the steps, and the moment before the renaming of each."""
    changes = {"shared/alpha.py": "ALPHA = 11\n", "shared/delta.py": "DELTA = 4\n", "shared/gamma.py": ""}
    for number in range(100):
        root = checkout(tmp_path / str(number))
        write(root, changes)
        killed = die_at(number, monkeypatch)
        try:
            sync(root)
        except KeyboardInterrupt:
            assert killed()
        monkeypatch.undo()
        assert set(scan(root / ALL)) >= {"alpha.py", "__init__.py"}
        assert (root / ALPHA).read_text() in (BASELINE["alpha.py"], changes["shared/alpha.py"])
        assert sync(root) == 0
        assert drift(root) == []
        if not killed():
            break
    else:
        pytest.fail("the sync never came to its end")
    assert number > 8


def die_at(number: int, monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """Interrupt the sync at the ``number``th point; the answer says whether it came to that."""
    points = [0]

    def point() -> None:
        points[0] += 1
        if points[0] == number + 1:
            raise KeyboardInterrupt

    take, replace = sync_shared.take, Path.replace

    def dying_take(root: Path, step: Step) -> None:
        point()
        take(root, step)

    def dying_replace(self: Path, target: Path) -> Path:
        point()
        return replace(self, target)

    monkeypatch.setattr(sync_shared, "take", dying_take)
    monkeypatch.setattr(Path, "replace", dying_replace)
    return lambda: points[0] > number


def test_the_manifest_keeps_the_old_record_until_all_copies_are_written(tmp_path: Path) -> None:
    """Else a copy that was not reached yet would be refused by the next run as somebody's edit."""
    checkout(tmp_path)
    write(tmp_path, {"shared/alpha.py": "ALPHA = 11\n"})
    before = read(tmp_path).files["alpha.py"]
    (tmp_path / NAMED / "alpha.py").unlink()
    (tmp_path / NAMED / "alpha.py").mkdir()
    write(tmp_path, {f"{NAMED}/alpha.py/mine.py": "MINE = 1\n"})
    assert sync(tmp_path) == 1
    assert read(tmp_path).files["alpha.py"] == before


def test_a_name_the_baseline_does_not_have_is_only_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkout(tmp_path)
    manifest = (tmp_path / MANIFEST).read_text()
    write(tmp_path, {MANIFEST: manifest.replace('"alpha"', '"alpha", "delta"')})
    assert sync(tmp_path) == 0
    assert f"note: {NAMED} names delta, which shared/ does not have" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"shared/alpha.py": "def\n"}, "shared/alpha.py, line 1: does not parse"),
        ({MANIFEST: "target = 1\n"}, f"{MANIFEST}: target has to be a list"),
        ({MANIFEST: "<<<<<<<\n"}, f"{MANIFEST}: not TOML"),
        ({MANIFEST: TARGETS.replace("bridge-one", "bridge-two")}, "bridge_one does not exist: make the package first"),
    ],
)
def test_what_can_not_be_done_is_said_in_a_line(
    files: dict[str, str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(checkout(tmp_path), files)
    before = stamps(tmp_path)
    assert sync(tmp_path) == 1
    assert said in capsys.readouterr().err
    assert stamps(tmp_path) == before


def test_without_a_manifest_or_a_baseline_nothing_is_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sync(tmp_path) == 1
    assert MANIFEST in capsys.readouterr().err
    write(tmp_path, {MANIFEST: TARGETS})
    assert sync(tmp_path) == 1
    assert "shared" in capsys.readouterr().err


def test_usage_is_exit_3() -> None:
    with pytest.raises(SystemExit) as exit_:
        sync_shared.main(["--no-such-option"])
    assert exit_.value.code == 3


def test_without_tomli_w_it_says_how_to_be_run(tmp_path: Path) -> None:
    result = run(copy_programs(checkout(tmp_path)) / "sync_shared.py")
    assert (result.returncode, result.stderr) == (
        3,
        "sync_shared.py needs tomli-w: run it as `uv run deploy/sync_shared.py`\n",
    )
