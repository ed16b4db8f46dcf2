"""What the checker prints: text, JSON and GitHub annotations. Pure: results in, lines out."""

import difflib
import json
from collections.abc import Iterator, Sequence

from deploy.shared_guard.findings import Finding
from deploy.shared_guard.selftest import Proof

__all__ = ["annotations", "as_json", "drift_lines", "proof_lines", "visible"]


def visible(text: str) -> str:
    """``text`` with everything escaped that could hide, move the cursor or break the line."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def proof_lines(proof: Proof) -> Iterator[str]:
    """The self-test in a line, one line per skipped mutation, one per mutation that went unseen."""
    for skip in proof.skipped:
        yield visible(f"self-test: skipped: {skip.mutation} ({skip.reason})")
    for miss in proof.missed:
        yield visible(f"self-test: UNSEEN: {miss.mutation} ({miss.instead})")
    yield f"self-test: {len(proof.seen)} seen, {len(proof.skipped)} skipped, {len(proof.missed)} unseen"


def drift_lines(findings: Sequence[Finding], *, diff: bool) -> Iterator[str]:
    """One line per finding; with ``diff`` each is followed by its difference."""
    for finding in findings:
        yield _one_line(finding)
        if diff:
            yield from _difference(finding)


def annotations(proof: Proof, findings: Sequence[Finding]) -> Iterator[str]:
    """Workflow commands that put each finding beside its file (GitHub's documentation, "Workflow commands")."""
    for miss in proof.missed:
        yield f"::error title=check_shared can't be trusted::{_message(f'unseen: {miss.mutation} ({miss.instead})')}"
    for finding in findings:
        place = f"file={_property(finding.path)},line={finding.line or 1},title=Shared module drift"
        yield f"::error {place}::{_message(_one_line(finding))}"


def as_json(proof: Proof, findings: Sequence[Finding] | None, *, diff: bool) -> str:
    """The whole result as one JSON document in ASCII; ``findings`` is None where nothing was compared."""
    document = {
        "result": "untrusted" if findings is None else "drift" if findings else "clean",
        "self_test": {
            "seen": list(proof.seen),
            "skipped": [{"mutation": skip.mutation, "reason": skip.reason} for skip in proof.skipped],
            "unseen": [{"mutation": miss.mutation, "instead": miss.instead} for miss in proof.missed],
        },
        "findings": [_as_object(finding, diff=diff) for finding in findings or ()],
    }
    return json.dumps(document, indent=2)


def _as_object(finding: Finding, *, diff: bool) -> dict[str, object]:
    shown: dict[str, object] = {
        "path": finding.path,
        "owner": finding.owner,
        "module": finding.module,
        "kind": str(finding.kind),
        "line": finding.line,
        "detail": finding.detail,
    }
    return {**shown, "diff": list(_difference(finding))} if diff else shown


def _one_line(finding: Finding) -> str:
    module = f"{finding.module}: " if finding.module else ""
    line = f" from line {finding.line}" if finding.line else ""
    detail = f": {finding.detail}" if finding.detail else ""
    return visible(f"{finding.owner}: {module}{finding.kind}{line}{detail} ({finding.path})")


def _difference(finding: Finding) -> Iterator[str]:
    if finding.expected is None or finding.found is None:
        return
    baseline = f"shared/{finding.module}"
    ours, theirs = _lines(finding.expected), _lines(finding.found)
    for line in difflib.unified_diff(ours, theirs, baseline, finding.path, lineterm=""):
        yield visible(line)


def _lines(data: bytes) -> list[str]:
    """The lines with whatever isn't plain text, and line ends other than LF, spelled out."""
    lines = data.decode("utf-8", "backslashreplace").split("\n")
    if lines[-1]:
        return [*lines[:-1], lines[-1] + " \\ no newline at the end"]
    return lines[:-1]


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
