"""Are the copies of the shared modules what they have to be? Standard library only: ``python deploy/check_shared.py``.

First the guard proves itself: on temporary copies it makes one mutation after the other and demands that each is seen
for what it is. Only then it compares every copy with the baseline, and the manifest with both.

Exit: 0 clean, 1 drift (one line per file), 2 the guard itself can't be trusted, 3 usage.
"""

import io
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036 - plain `python` may be any
    sys.stderr.write("check_shared.py needs Python 3.11 or newer\n")
    sys.exit(3)
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from deploy.shared_guard.baseline import Baseline
from deploy.shared_guard.compare import drift
from deploy.shared_guard.parser import Parser
from deploy.shared_guard.report import annotations, as_json, drift_lines, proof_lines
from deploy.shared_guard.selftest import prove

ROOT = Path(__file__).resolve().parent.parent
CLEAN, DRIFT, UNTRUSTED = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Prove the guard, compare, print; returns the exit code."""
    parser = Parser(prog="check_shared.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--diff", action="store_true", help="show what differs, not only where")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout to look at (default: this one)")
    options = parser.parse_args(arguments)
    if not options.root.is_dir():
        parser.error(f"{options.root} is not a directory")
    proof = prove(drift, _material(options.root))
    findings = None if proof.missed else drift(options.root)
    if options.json:
        print(as_json(proof, findings, diff=options.diff))
    else:
        for line in (*proof_lines(proof), *drift_lines(findings or (), diff=options.diff)):
            print(line)
        if findings == []:
            print("clean: every copy and the manifest are what the baseline is")
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in annotations(proof, findings or ()):
            print(line, file=sys.stderr if options.json else sys.stdout)
    if findings is None:
        print("The guard can't be trusted: nothing was compared.", file=sys.stderr)
        return UNTRUSTED
    if findings:
        count = f"{len(findings)} difference{'s' if len(findings) != 1 else ''}"
        print(f"{count}. Edit shared/ only, then: uv run deploy/sync_shared.py", file=sys.stderr)
        return DRIFT
    return CLEAN


def _material(root: Path) -> dict[str, bytes]:
    try:
        return Baseline.read(root).contents
    except OSError:
        return {}


if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = main()
    except Exception:  # noqa: BLE001 - Python's own exit code for a crash, 1, would read as drift
        traceback.print_exc()
        code = UNTRUSTED
    sys.exit(code)
