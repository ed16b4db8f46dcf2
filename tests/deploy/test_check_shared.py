"""The checker as a person runs it, on a small checkout."""

import json
import os
import socket
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from deploy import check_shared
from deploy.shared_guard.manifest import MANIFEST

from .checkouts import ALL, BASELINE, NAMED, REPOSITORY, checkout, copy_programs, run, write
from .unprivileged import unprivileged

Damage = Callable[[Path], object]
ALPHA = f"{ALL}/alpha.py"


def append(text: bytes) -> Damage:
    return lambda path: path.write_bytes(path.read_bytes() + text)


def swap(before: bytes, after: bytes) -> Damage:
    def damage(path: Path) -> None:
        assert path.read_bytes().count(before) >= 1
        path.write_bytes(path.read_bytes().replace(before, after))

    return damage


def same_size_same_time(path: Path) -> None:
    stamp = path.stat().st_mtime_ns
    swap(b"+ 1", b"- 1")(path)
    os.utime(path, ns=(stamp, stamp))


def in_its_place(make: Damage) -> Damage:
    def damage(path: Path) -> None:
        path.unlink()
        make(path)

    return damage


def create(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"EXTRA = 1\n")


def moved_away(then: Callable[[Path, Path], object]) -> Damage:
    """Move a folder out of the checkout's packages; ``then`` gets its old and its new place."""

    def damage(path: Path) -> None:
        root = next(parent for parent in path.parents if (parent / MANIFEST).exists())
        path.rename(root / "gone")
        then(path, root / "gone")

    return damage


def bind_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = Path.cwd()
        os.chdir(path.parent)  # the path of a socket has to be short
        try:
            made.bind(path.name)
        finally:
            os.chdir(here)


# What is damaged, how, and the one line that has to be said: whose copy, which file, what, and from which line.
DRIFT: dict[str, tuple[str, Damage, str]] = {
    "one byte": (ALPHA, swap(b"+ 1", b"- 1"), "bridge-one: alpha.py: changed from line 5"),
    "first byte": (ALPHA, swap(b'"""Alpha', b"'''Alpha"), "bridge-one: alpha.py: changed from line 1"),
    "same size and time": (ALPHA, same_size_same_time, "bridge-one: alpha.py: changed from line 5"),
    "a line more": (ALPHA, append(b"# more\n"), "bridge-one: alpha.py: changed from line 8"),
    "cut": (ALPHA, swap(b"\nprint(ALPHA)\n", b""), "bridge-one: alpha.py: truncated from line 6"),
    "empty": (ALPHA, lambda path: path.write_bytes(b""), "bridge-one: alpha.py: empty from line 1"),
    "a line end more": (ALPHA, append(b"\n"), "bridge-one: alpha.py: trailing-newline from line 8"),
    "CRLF": (ALPHA, swap(b"\n", b"\r\n"), "bridge-one: alpha.py: line-ends from line 1"),
    "a BOM": (ALPHA, swap(b'"""Alpha', b'\xef\xbb\xbf"""Alpha'), "bridge-one: alpha.py: byte-order-mark from line 1"),
    "no module": (ALPHA, Path.unlink, "bridge-one: alpha.py: missing-module"),
    "no test": (f"{ALL}/tests/test_gamma.py", Path.unlink, "bridge-one: tests/test_gamma.py: missing-test"),
    "no import of a named module": (f"{NAMED}/beta.py", Path.unlink, "gateway: beta.py: missing-module"),
    "no helper of a named module's test": (
        f"{NAMED}/tests/helper.py",
        Path.unlink,
        "gateway: tests/helper.py: missing-test",
    ),
    "an extra module": (f"{ALL}/extra.py", create, "bridge-one: extra.py: extra-module"),
    "an extra test": (f"{ALL}/tests/test_extra.py", create, "bridge-one: tests/test_extra.py: extra-test"),
    "an extra hidden file": (f"{ALL}/.extra", create, "bridge-one: .extra: extra-file"),
    "an extra file in folders": (f"{ALL}/a/b/notes.md", create, "bridge-one: a/b/notes.md: extra-file"),
    "a module that was not asked for": (f"{NAMED}/gamma.py", create, "gateway: gamma.py: extra-module"),
    "another case": (
        ALPHA,
        lambda path: path.rename(path.with_name("Alpha.py")),
        "bridge-one: alpha.py: renamed-by-case: here it is called Alpha.py",
    ),
    "a symlink to the right content": (
        ALPHA,
        in_its_place(lambda path: path.symlink_to(path.parents[5] / "shared/alpha.py")),
        "bridge-one: alpha.py: symlink: ",
    ),
    "a symlink elsewhere": (
        ALPHA,
        in_its_place(lambda path: path.symlink_to("beta.py")),
        "bridge-one: alpha.py: symlink: beta.py",
    ),
    "a symlink to nowhere": (
        ALPHA,
        in_its_place(lambda path: path.symlink_to("nowhere")),
        "bridge-one: alpha.py: symlink: nowhere",
    ),
    "a directory": (ALPHA, in_its_place(Path.mkdir), "bridge-one: alpha.py: directory"),
    "a directory with something in it": (
        ALPHA,
        in_its_place(lambda path: create(path / "in.py")),
        "bridge-one: alpha.py: directory",
    ),
    "a pipe": (ALPHA, in_its_place(os.mkfifo), "bridge-one: alpha.py: not-a-file"),
    "a socket": (ALPHA, in_its_place(bind_socket), "bridge-one: alpha.py: not-a-file"),
    "execute bit": (ALPHA, lambda path: path.chmod(0o744), "bridge-one: alpha.py: execute-bit: set in the copy only"),
    "execute bit of the group": (ALPHA, lambda path: path.chmod(0o654), "bridge-one: alpha.py: execute-bit"),
    "no target": (ALL, moved_away(lambda path, gone: None), "bridge-one: target-missing"),
    "a target that is a symlink": (ALL, moved_away(Path.symlink_to), "bridge-one: symlink: "),
    "a target that is a file": (
        NAMED,
        moved_away(lambda path, gone: path.write_bytes(b"")),
        "gateway: not-a-folder",
    ),
    "a package that is a symlink": (
        "packages/bridge-one",
        moved_away(Path.symlink_to),
        "bridge-one: symlink: packages/bridge-one is a symlink",
    ),
    "tests in a symlink": (
        f"{ALL}/tests",
        moved_away(Path.symlink_to),
        "bridge-one: tests: symlink: ",
    ),
    "a file in place of the tests": (
        f"{ALL}/tests",
        moved_away(lambda path, gone: path.write_bytes(b"")),
        "bridge-one: tests: not-a-folder",
    ),
    "a target nobody named": (
        "packages/bridge-two/src/bridge_two/vendor/alpha.py",
        create,
        f"bridge-two: target-unknown: not named in {MANIFEST}",
    ),
    "a manifest that isn't TOML": (MANIFEST, append(b"<<<<<<< ours\n"), "manifest: manifest-invalid: not TOML"),
    "another hash in the manifest": (MANIFEST, swap(b'sha256 = "', b'sha256 = "0'), "manifest: manifest-invalid"),
    "a file more in the manifest": (
        MANIFEST,
        append(b'[files."gone.py"]\nsha256 = "' + b"0" * 64 + b'"\nsize = 1\n'),
        "manifest: gone.py: manifest-only",
    ),
    "a name the baseline hasn't": (
        MANIFEST,
        swap(b'"alpha",', b'"alpha", "delta",'),
        f"manifest: delta: named-module-unknown: named for {NAMED}",
    ),
    "a symlink in the baseline": (
        "shared/link.py",
        lambda path: path.symlink_to("alpha.py"),
        "shared: link.py: symlink: alpha.py",
    ),
}


@pytest.mark.parametrize(("path", "damage", "said"), DRIFT.values(), ids=DRIFT.keys())
def test_each_kind_of_drift_is_one_line_and_exit_1(
    path: str, damage: Damage, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout(tmp_path)
    damage(tmp_path / path)
    capsys.readouterr()
    assert check_shared.main(["--root", str(tmp_path)]) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("self-test")]
    said_of = [line for line in lines if "target-unknown" not in line or "target-unknown" in said]
    assert len(said_of) == 1
    assert said_of[0].startswith(said)
    assert path in said_of[0] or said.startswith(("manifest", "bridge-one: symlink", "bridge-two"))


def test_a_clean_checkout_is_exit_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkout(tmp_path)
    assert check_shared.main(["--root", str(tmp_path)]) == 0
    assert capsys.readouterr().out.endswith("clean: every copy and the manifest are what the baseline is\n")


def test_it_runs_on_plain_python_and_skips_only_what_it_may(tmp_path: Path) -> None:
    program = copy_programs(checkout(tmp_path)) / "check_shared.py"
    result = run(program)
    assert (result.returncode, result.stderr) == (0, "")
    skipped = [line for line in result.stdout.splitlines() if line.startswith("self-test: skipped: ")]
    assert all("file that can't be read" in line or "renamed by case" in line for line in skipped)


def test_a_user_who_can_not_read_everything_skips_nothing(tmp_path: Path) -> None:
    program = copy_programs(checkout(tmp_path)) / "check_shared.py"
    result = run(program, prefix=unprivileged())
    assert result.returncode == 0, result.stdout + result.stderr
    assert "skipped: file that can't be read" not in result.stdout


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (ALPHA, "bridge-one: alpha.py: unreadable: Permission denied"),
        (f"{ALL}/tests", "bridge-one: tests: unreadable: Permission denied"),
        (NAMED, "gateway: unreadable: Permission denied"),
        ("shared/gamma.py", "shared: gamma.py: unreadable: Permission denied"),
    ],
)
def test_what_can_not_be_read_is_drift(path: str, said: str, tmp_path: Path) -> None:
    prefix = unprivileged()
    program = copy_programs(checkout(tmp_path)) / "check_shared.py"
    mode = (tmp_path / path).stat().st_mode
    (tmp_path / path).chmod(0)
    try:
        result = run(program, prefix=prefix)
    finally:
        (tmp_path / path).chmod(mode)
    assert result.returncode == 1
    drift = [line for line in result.stdout.splitlines() if not line.startswith("self-test")]
    assert len(drift) == 1
    assert drift[0].startswith(said)


def test_a_baseline_that_was_edited_is_told_from_a_copy_that_was_edited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout(tmp_path)
    swap(b"3", b"4")(tmp_path / "shared/gamma.py")
    swap(b"+ 1", b"+ 2")(tmp_path / ALPHA)
    assert check_shared.main(["--root", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "manifest: gamma.py: manifest-hash" in said
    assert "gamma.py: changed from line 3: the baseline was edited since the last sync" in said
    assert "alpha.py: changed from line 5: the copy was edited" in said


def test_without_a_baseline_or_a_manifest_it_is_drift(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_shared.main(["--root", str(tmp_path)]) == 1
    assert "shared: baseline-missing" in capsys.readouterr().out
    write(tmp_path, {"shared/alpha.py": "", f"{ALL}/alpha.py": ""})
    assert check_shared.main(["--root", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "manifest: manifest-invalid: No such file" in said
    assert "bridge-one: target-unknown" in said


def test_a_module_that_does_not_parse_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkout(tmp_path)
    write(tmp_path, {"shared/alpha.py": "def\n", ALPHA: "def\n"})
    assert check_shared.main(["--root", str(tmp_path)]) == 1
    assert "shared: alpha.py: does-not-parse from line 1" in capsys.readouterr().out


def test_a_name_that_is_no_text_is_still_one_line(tmp_path: Path) -> None:
    program = copy_programs(checkout(tmp_path)) / "check_shared.py"
    name = os.fsdecode(b"a\n::error::\xff\x1b[2J.py")
    try:
        (tmp_path / ALL / name).write_bytes(b"")
    except OSError:
        pytest.skip("this disk has no such names")
    result = run(program)
    assert result.returncode == 1
    assert "bridge-one: a\\n::error::\\udcff\\x1b[2J.py: extra-module" in result.stdout
    assert len(result.stdout.splitlines()) <= 4


def test_a_folder_of_which_only_caches_are_left_is_no_target(tmp_path: Path) -> None:
    checkout(tmp_path)
    stale = "packages/bridge-two/src/bridge_two/vendor/__pycache__/alpha.cpython-311.pyc"
    write(tmp_path, {stale: "", f"{ALL}/__pycache__/alpha.cpython-311.pyc": "", f"{ALL}/py.typed": ""})
    assert check_shared.main(["--root", str(tmp_path)]) == 0


def test_json_holds_everything_and_nothing_else_is_on_the_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout(tmp_path)
    swap(b"+ 1", b"+ 2")(tmp_path / ALPHA)
    capsys.readouterr()
    assert check_shared.main(["--root", str(tmp_path), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["result"] == "drift"
    assert document["self_test"].keys() == {"seen", "skipped", "unseen"}
    assert document["self_test"]["unseen"] == []
    assert "one byte changed at the end of a long module" in document["self_test"]["seen"]
    assert document["findings"] == [
        {
            "path": ALPHA,
            "owner": "bridge-one",
            "module": "alpha.py",
            "kind": "changed",
            "line": 5,
            "detail": "the copy was edited",
        }
    ]


def test_json_of_a_clean_checkout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkout(tmp_path)
    capsys.readouterr()
    assert check_shared.main(["--root", str(tmp_path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["result"], document["findings"]) == ("clean", [])


def test_diff_shows_what_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkout(tmp_path)
    swap(b"+ 1", b"+ 2")(tmp_path / ALPHA)
    capsys.readouterr()
    assert check_shared.main(["--root", str(tmp_path), "--diff"]) == 1
    assert "-ALPHA = BETA + 1\n+ALPHA = BETA + 2\n" in capsys.readouterr().out
    assert check_shared.main(["--root", str(tmp_path), "--diff", "--json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert "-ALPHA = BETA + 1" in finding["diff"]


def test_annotations_are_printed_on_github_only(tmp_path: Path) -> None:
    program = copy_programs(checkout(tmp_path)) / "check_shared.py"
    swap(b"+ 1", b"+ 2")(tmp_path / ALPHA)
    assert "::" not in run(program).stdout
    on_github = run(program, GITHUB_ACTIONS="true")
    assert f"::error file={ALPHA},line=5,title=Shared module drift::bridge-one: alpha.py: changed" in on_github.stdout
    as_json = run(program, "--json", GITHUB_ACTIONS="true")
    assert json.loads(as_json.stdout)["result"] == "drift"
    assert "::error file=" in as_json.stderr


@pytest.mark.parametrize("arguments", [["--no-such-option"], ["surplus"], ["--root", "/no/such/folder"], ["--root"]])
def test_usage_is_exit_3(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        check_shared.main(arguments)
    assert exit_.value.code == 3
    assert "usage: check_shared.py" in capsys.readouterr().err


def test_a_crash_of_the_checker_does_not_read_as_drift(tmp_path: Path) -> None:
    programs = copy_programs(checkout(tmp_path))
    report = programs / "shared_guard/report.py"
    report.write_text(
        report.read_text().replace("    for skip in proof.skipped:\n", "    1 / 0\n    for skip in proof.skipped:\n", 1)
    )
    result = run(programs / "check_shared.py")
    assert result.returncode == 2
    assert "ZeroDivisionError" in result.stderr


def test_no_room_for_the_temporary_copies_is_not_drift(tmp_path: Path) -> None:
    program = copy_programs(checkout(tmp_path)) / "check_shared.py"
    code = "import sys, tempfile; tempfile.tempdir = '/no/such/folder'; import runpy; sys.argv = [sys.argv[1]]; "
    starter = tmp_path / "starter.py"
    starter.write_text(code + "runpy.run_path(sys.argv[0], run_name='__main__')")
    result = run(starter, str(program))
    assert result.returncode == 2
    assert "No such file or directory" in result.stderr


def test_the_baseline_of_these_tests_is_what_the_manifest_records(tmp_path: Path) -> None:
    manifest = tomllib.loads((checkout(tmp_path) / MANIFEST).read_text())
    assert manifest["files"].keys() == BASELINE.keys()


def test_the_guard_of_this_checkout_can_be_trusted() -> None:
    result = run(REPOSITORY / "deploy/check_shared.py")
    assert result.returncode in (0, 1), result.stdout + result.stderr
    assert " 0 unseen" in result.stdout
