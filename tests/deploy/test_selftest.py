"""The self-test against comparisons that are made up here."""

from pathlib import Path

import pytest

from deploy.shared_guard import selftest
from deploy.shared_guard.baseline import Baseline
from deploy.shared_guard.compare import drift
from deploy.shared_guard.findings import Finding, Kind
from deploy.shared_guard.mutations import CannotMakeError, Mutation, mutations
from deploy.shared_guard.sample import PART, WHOLE, Sample
from deploy.shared_guard.selftest import prove

from .checkouts import BASELINE, REPOSITORY

MATERIAL = {path: text.encode() for path, text in BASELINE.items()}
# The mutations asked for, in the words of this project; the self-test may make more.
ASKED = [
    "one byte changed at the start of a module",
    "one byte changed in the middle of a module",
    "one byte changed at the end of a module",
    "same size and same time stamp in a module",
    "a module truncated",
    "empty file",
    "trailing newline added",
    "CRLF line ends",
    "byte order mark",
    "missing file",
    "missing test",
    "extra file",
    "renamed by case",
    "symlink to the right content",
    "symlink elsewhere",
    "directory in place of a file",
    "execute bit",
    "file that can't be read",
    "manifest hash edited",
    "a target missing whole",
]


def cannot(path: Path) -> None:
    raise CannotMakeError("not here")


def impossible(name: str, *, may_skip: bool) -> Mutation:
    return Mutation(name, f"{WHOLE}/alpha.py", Kind.CHANGED, cannot, may_skip=may_skip)


@pytest.mark.parametrize(
    ("case", "material"),
    [
        ("a small baseline", MATERIAL),
        ("no baseline at all", {}),
        ("modules that the mutations don't suit", {"a.py": b"", "b.py": b"\r\n" * 9, "tests/test_a.py": b"x"}),
        ("modules that don't parse", {"a.py": b"def\n" * 9, "tests/test_a.py": b"(\n" * 9}),
    ],
)
def test_the_real_comparison_sees_every_mutation_on(case: str, material: dict[str, bytes]) -> None:
    proof = prove(drift, material)
    assert proof.missed == (), case
    skipped = {skip.mutation for skip in proof.skipped}
    assert skipped <= {"file that can't be read", "renamed by case"}
    assert set(ASKED) <= {*proof.seen, *skipped}


def test_the_real_baseline_is_what_gets_damaged(tmp_path: Path) -> None:
    baseline = Baseline.read(REPOSITORY).contents
    sample = Sample.build(tmp_path, baseline)
    assert sample.files[f"{WHOLE}/{sample.module}"] == baseline[sample.module]
    assert sample.files[f"{WHOLE}/{sample.test}"] == baseline[sample.test]


def test_a_comparison_that_sees_nothing_misses_every_mutation() -> None:
    proof = prove(lambda root: [], MATERIAL)
    assert proof.seen == ("clean copy", "clean copy, again")
    assert set(ASKED) <= {miss.mutation for miss in proof.missed} | {skip.mutation for skip in proof.skipped}


def test_a_comparison_that_adds_a_second_report_is_not_trusted() -> None:
    def talkative(root: Path) -> list[Finding]:
        found = drift(root)
        return [*found, *(Finding("more", one.kind, one.owner) for one in found)]

    proof = prove(talkative, MATERIAL)
    assert proof.seen == ("clean copy", "clean copy, again")


def test_a_comparison_that_breaks_is_not_trusted() -> None:
    def breaking(root: Path) -> list[Finding]:
        raise RuntimeError("broken")

    proof = prove(breaking, MATERIAL)
    assert proof.seen == ()
    assert proof.missed[0].instead == "the comparison failed: RuntimeError('broken')"


def test_a_mutation_that_may_not_be_skipped_is_missed_if_it_can_not_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "mutations", lambda sample: [impossible("one", may_skip=False)])
    proof = prove(drift, MATERIAL)
    assert [miss.mutation for miss in proof.missed] == ["one"]
    assert proof.skipped == ()


def test_at_most_two_mutations_may_be_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["one", "two", "three"]
    monkeypatch.setattr(selftest, "mutations", lambda sample: [impossible(name, may_skip=True) for name in names])
    proof = prove(drift, MATERIAL)
    assert [miss.mutation for miss in proof.missed] == ["three"]


def test_just_two_mutations_are_allowed_to_be_skipped(tmp_path: Path) -> None:
    allowed = {mutation.name for mutation in mutations(Sample.build(tmp_path, MATERIAL)) if mutation.may_skip}
    assert allowed == {"file that can't be read", "renamed by case"}


def test_every_mutation_can_be_undone(tmp_path: Path) -> None:
    sample = Sample.build(tmp_path, MATERIAL)
    for mutation in mutations(sample):
        try:
            mutation.make(tmp_path / mutation.path)
        except CannotMakeError:
            continue
        finally:
            sample.undo(mutation.path, mutation.also)
        assert drift(tmp_path) == [], mutation.name


def test_time_stamps_of_a_clean_sample_say_nothing(tmp_path: Path) -> None:
    """Whole copy and baseline have the same, the part has another: neither may matter."""
    sample = Sample.build(tmp_path, MATERIAL)
    stamp = {name: (tmp_path / name / "guard_sample_long.py").stat().st_mtime_ns for name in ("shared", WHOLE, PART)}
    assert stamp["shared"] == stamp[WHOLE] != stamp[PART]
    assert drift(sample.root) == []


def test_the_temporary_copies_are_gone_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    prove(drift, MATERIAL)
    assert list(tmp_path.iterdir()) == []
