"""Bring every copy of the shared modules, and the manifest, up to the baseline: ``uv run deploy/sync_shared.py``.

What a target carries stands in deploy/shared_manifest.toml, edited by hand; the rest of that file is written here. A
second run changes nothing. Exit: 0 done, 1 refused (nothing was written), 3 usage.
"""

import argparse
import os
import secrets
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from deploy.shared_guard.baseline import Baseline
from deploy.shared_guard.manifest import MANIFEST, Manifest, ManifestError, read
from deploy.shared_guard.parser import USAGE, Parser
from deploy.shared_guard.plan import TEMPORARY, Plan, Step, plan, records
from deploy.shared_guard.report import visible
from deploy.shared_guard.tree import Entry

try:
    import tomli_w
except ImportError:
    sys.stderr.write("sync_shared.py needs tomli-w: run it as `uv run deploy/sync_shared.py`\n")
    sys.exit(USAGE)

ROOT = Path(__file__).resolve().parent.parent
DONE, REFUSED = 0, 1
HEADER = """\
# Who carries which of the shared modules. Edit the targets by hand: a folder, and "all" or the modules it needs (what
# those import comes along). The files are written by `uv run deploy/sync_shared.py`: don't edit them.

"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Plan, refuse or do, and say what was done; returns the exit code."""
    parser = Parser(prog="sync_shared.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--dry-run", action="store_true", help="say what would change, and change nothing")
    parser.add_argument("--force", action="store_true", help="overwrite copies that were edited where they stand")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout to work on (default: this one)")
    options = parser.parse_args(arguments)
    root: Path = options.root
    try:
        manifest, baseline = read(root), Baseline.read(root)
        todo = plan(root, manifest, baseline)
    except ManifestError as error:
        return _refuse(f"{MANIFEST}: {error}")
    except SyntaxError as error:
        return _refuse(f"shared/{error.filename}, line {error.lineno}: does not parse: {error.msg}")
    except OSError as error:
        return _refuse(str(error))
    text = manifest_text(Manifest(manifest.targets, records(baseline)))
    steps = [*todo.steps]
    if text != (root / MANIFEST).read_bytes():
        steps.append(Step(MANIFEST, Entry("file", text), "update"))
    return _carry_out(root, todo, steps, options)


def manifest_text(manifest: Manifest) -> bytes:
    """The manifest as TOML: the same bytes for the same manifest."""
    document: dict[str, Any] = {
        "target": [
            {"path": target.path, "modules": "all" if target.modules is None else list(target.modules)}
            for target in manifest.targets
        ],
        "files": {path: {"sha256": entry.sha256, "size": entry.size} for path, entry in manifest.files.items()},
    }
    return (HEADER + tomli_w.dumps(document)).encode()


def _carry_out(root: Path, todo: Plan, steps: list[Step], options: argparse.Namespace) -> int:
    for note in todo.notes:
        print(f"note: {visible(note)}")
    refused = [refusal for refusal in todo.refusals if not (refusal.forced and options.force)]
    for refusal in refused:
        hint = ": move them to shared/, or use --force" if refusal.forced else ""
        print(f"refused: {visible(refusal.path)} {visible(refusal.why)}{hint}", file=sys.stderr)
    if refused and not options.dry_run:
        print("Nothing was written.", file=sys.stderr)
        return REFUSED
    for step in steps:
        print(f"{'would ' if options.dry_run else ''}{step.why} {visible(step.path)}")
        if not options.dry_run:
            take(root, step)
    if not steps:
        print("nothing to do")
    return REFUSED if refused else DONE


def _refuse(reason: str) -> int:
    print(f"refused: {visible(reason)}", file=sys.stderr)
    return REFUSED


def take(root: Path, step: Step) -> None:
    """Do one step. A file is there whole or not at all, whenever this is interrupted."""
    path = root / step.path
    if step.entry is None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}-{secrets.token_hex(4)}{TEMPORARY}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(temporary, flags, 0o777 if step.entry.executable else 0o666), "wb") as file:
            file.write(step.entry.data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
