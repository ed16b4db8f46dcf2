"""The guard's proof: the comparison has to see each mutation for what it is, and nothing in a clean copy."""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.shared_guard.findings import Finding
from deploy.shared_guard.mutations import CannotMakeError, Mutation, mutations
from deploy.shared_guard.sample import Sample

__all__ = ["Miss", "Proof", "Skip", "prove"]

MOST_SKIPS = 2
Compare = Callable[[Path], list[Finding]]


@dataclass(frozen=True, slots=True)
class Skip:
    """A mutation that this system can't make, and why."""

    mutation: str
    reason: str


@dataclass(frozen=True, slots=True)
class Miss:
    """A mutation that was not reported as exactly what it is, and what was reported instead."""

    mutation: str
    instead: str


@dataclass(frozen=True, slots=True)
class Proof:
    """``seen`` are the names of the mutations that were reported rightly. Any miss means: don't trust the guard."""

    seen: tuple[str, ...]
    skipped: tuple[Skip, ...]
    missed: tuple[Miss, ...]


def prove(compare: Compare, material: Mapping[str, bytes]) -> Proof:
    """Put ``compare`` to the test on temporary copies of ``material``, the baseline by path inside it.

    Raises OSError if the temporary copies can't be written.
    """
    results: list[tuple[str, Skip | Miss | None]] = []
    with tempfile.TemporaryDirectory(prefix="check-shared-") as folder:
        # The real path: on some systems the temporary folder is reached through a symlink.
        sample = Sample.build(Path(folder).resolve() / "checkout", material)
        results.append(("clean copy", _miss(compare, sample.root, "clean copy", None)))
        for mutation in mutations(sample):
            results.append((mutation.name, _try(compare, sample.root, mutation)))
            sample.undo(mutation.path, mutation.also)
        results.append(("clean copy, again", _miss(compare, sample.root, "clean copy, again", None)))
    skipped = [result for _, result in results if isinstance(result, Skip)]
    missed = [result for _, result in results if isinstance(result, Miss)]
    missed += [Miss(skip.mutation, f"one skip too many: {skip.reason}") for skip in skipped[MOST_SKIPS:]]
    return Proof(tuple(name for name, result in results if result is None), tuple(skipped), tuple(missed))


def _try(compare: Compare, root: Path, mutation: Mutation) -> Skip | Miss | None:
    try:
        mutation.make(root / mutation.path)
    except CannotMakeError as reason:
        if mutation.may_skip:
            return Skip(mutation.name, str(reason))
        return Miss(mutation.name, f"could not be made here: {reason}")
    except OSError as error:
        return Miss(mutation.name, f"could not be made here: {error}")
    return _miss(compare, root, mutation.name, mutation)


def _miss(compare: Compare, root: Path, name: str, mutation: Mutation | None) -> Miss | None:
    demanded = [(mutation.path, str(mutation.kind), mutation.module)] if mutation else []
    try:
        findings = compare(root)
    except Exception as error:  # noqa: BLE001 - a comparison that breaks has not seen the mutation, whatever broke it
        return Miss(name, f"the comparison failed: {error!r}")
    modules_matter = bool(mutation and mutation.module)
    reported = [(found.path, str(found.kind), found.module if modules_matter else "") for found in findings]
    if reported == demanded:
        return None
    said = ", ".join(f"{kind} {path}" for path, kind, _ in reported[:3]) or "nothing"
    more = f" and {len(reported) - 3} more" if len(reported) > 3 else ""
    return Miss(name, f"reported {said}{more}")
