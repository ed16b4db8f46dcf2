"""The guard broken on purpose: whatever is taken out of the comparison, the self-test says what goes unseen.

Each case edits a copy of the real sources and runs it as a process of its own, in a checkout that has drifted: exit 2,
the mutations named, and no word about the drift, because nothing may be compared by a guard that can't be trusted.
"""

from pathlib import Path

import pytest

from .checkouts import ALL, checkout, copy_programs, run
from .unprivileged import unprivileged

Edit = tuple[str, str, str]
COMPARE, TREE, SELECTION, MUTATIONS = (
    f"shared_guard/{name}.py" for name in ("compare", "tree", "selection", "mutations")
)
BYTES = "    elif found.data != expected.data:\n"
STAMPS = """
_SEEN = {}


def _stamp(path, info):
    return info.st_size, info.st_mtime_ns, os.path.basename(path)


"""
BROKEN: dict[str, tuple[list[Edit], list[str]]] = {
    "always says equal": (
        [(COMPARE, "    elif found.data != expected.data:\n", "    elif False:\n")],
        ["one byte changed at the start of a module", "one byte changed in a test", "empty file"],
    ),
    "compares sizes": (
        [(COMPARE, BYTES, "    elif len(found.data) != len(expected.data):\n")],
        [
            "one byte changed at the start of a module",
            "one byte changed in the middle of a module",
            "one byte changed at the end of a module",
            "same size and same time stamp in a module",
        ],
    ),
    "compares only the first block": (
        [(COMPARE, BYTES, "    elif found.data[:65536] != expected.data[:65536]:\n")],
        ["one byte changed in the middle of a long module", "one byte changed at the end of a long module"],
    ),
    "compares only the first mebibyte": (
        [(COMPARE, BYTES, "    elif found.data[: 1 << 20] != expected.data[: 1 << 20]:\n")],
        ["one byte changed at the end of a long module"],
    ),
    "leaves out the last byte": (
        [(COMPARE, BYTES, "    elif found.data[:-1] != expected.data[:-1]:\n")],
        ["one byte changed at the end of a module"],
    ),
    "trusts size and time stamp": (
        [
            (
                TREE,
                "            data = file.read()\n",
                "            data = _SEEN.setdefault(_stamp(path, info), file.read())\n",
            ),
            (TREE, "def scan(", STAMPS + "def scan("),
        ],
        ["same size and same time stamp in a module", "same size and same time stamp in a long module"],
    ),
    "normalises line ends": (
        [(COMPARE, BYTES, '    elif found.data.replace(b"\\r\\n", b"\\n") != expected.data:\n')],
        ["CRLF line ends"],
    ),
    "skips a byte order mark": (
        [(COMPARE, BYTES, '    elif found.data.removeprefix(b"\\xef\\xbb\\xbf") != expected.data:\n')],
        ["byte order mark"],
    ),
    "strips the end": (
        [(COMPARE, BYTES, "    elif found.data.rstrip() != expected.data.rstrip():\n")],
        ["trailing newline added", "trailing newline removed"],
    ),
    "takes a shorter copy for equal": (
        [(COMPARE, BYTES, "    elif not expected.data.startswith(found.data):\n")],
        ["a module truncated", "a long module truncated", "empty file", "trailing newline removed"],
    ),
    "ignores extras": (
        [(COMPARE, "    for file in extra:\n", "    for file in ():\n")],
        ["extra file", "extra module", "extra test", "extra file in a folder"],
    ),
    "ignores extras in folders": (
        [(COMPARE, "    for file in extra:\n", '    for file in (name for name in extra if "/" not in name):\n')],
        ["extra test", "extra file in a folder"],
    ),
    "ignores what is missing": (
        [
            (
                COMPARE,
                "            yield Finding(path, missing_or_extra(file, missing=True), target.owner, file)\n",
                "            pass\n",
            )
        ],
        ["missing file", "missing test"],
    ),
    "ignores tests": (
        [
            (
                COMPARE,
                "    for file in wanted:\n",
                '    for file in (name for name in wanted if not name.startswith("tests/")):\n',
            )
        ],
        ["missing test", "one byte changed in a test"],
    ),
    "follows symlinks": (
        [
            (TREE, "item.stat(follow_symlinks=False)", "item.stat(follow_symlinks=True)"),
            (TREE, ' | getattr(os, "O_NOFOLLOW", 0)', ""),
        ],
        ["symlink to the right content", "symlink elsewhere"],
    ),
    "follows a symlink to a whole target": (
        [(COMPARE, "if link := symlink_on_the_way(root, target.path):", "if link := None:")],
        ["a target that is a symlink"],
    ),
    "takes a directory for an empty file": (
        [(COMPARE, '    if found.form != "file":\n', '    if found.form not in ("file", "directory"):\n')],
        ["directory in place of a file"],
    ),
    "ignores modes": (
        [(COMPARE, "    elif found.executable != expected.executable:\n", "    elif False:\n")],
        ["execute bit"],
    ),
    "is blind to case": (
        [(COMPARE, "        elif other := by_case.get(file.casefold()):\n", "        elif other := None:\n")],
        ["renamed by case"],
    ),
    "ignores the manifest": (
        [(COMPARE, "        yield from _manifest_drift(manifest, baseline)\n", "        pass\n")],
        ["manifest hash edited", "manifest size edited", "manifest entry removed", "manifest entry added"],
    ),
    "takes the sizes of the manifest for granted": (
        [(COMPARE, "        elif record.size != len(data):\n", "        elif False:\n")],
        ["manifest size edited"],
    ),
    "looks at the first target only": (
        [
            (
                COMPARE,
                "    for target in manifest.targets:\n        try:\n",
                "    for target in manifest.targets[:1]:\n        try:\n",
            )
        ],
        ["one byte changed in a target of named modules", "a target of named modules missing whole"],
    ),
    "passes over a target that isn't there": (
        [(COMPARE, "        yield Finding(target.path, Kind.TARGET_MISSING, target.owner)\n", "")],
        ["a target missing whole", "a target of named modules missing whole"],
    ),
    "knows only the targets of the manifest": (
        [(COMPARE, "    yield from _unknown_targets(root, {target.path for target in manifest.targets})\n", "")],
        ["a target the manifest doesn't name"],
    ),
    "doesn't follow imports": (
        [(SELECTION, '_relative_imports(path, files[path]) if path.endswith(".py") else ()', "()")],
        ["missing import of a named module"],
    ),
    "always finds something": (
        [
            (
                COMPARE,
                "    yield from _unknown_targets",
                '    yield Finding("", Kind.CHANGED, "")\n    yield from _unknown_targets',
            )
        ],
        ["clean copy", "missing file"],
    ),
    "says the wrong kind": (
        [(COMPARE, "        yield Finding(path, Kind.EXECUTE_BIT, ", "        yield Finding(path, Kind.CHANGED, ")],
        ["execute bit"],
    ),
    "breaks": (
        [(COMPARE, "    elif found.executable != expected.executable:\n", "    elif found.executable / 0:\n")],
        ["clean copy", "execute bit"],
    ),
    "can't make a directory and calls that a skip": (
        [(MUTATIONS, "    path.mkdir()\n", '    raise CannotMakeError("no directories here")\n')],
        ["directory in place of a file"],
    ),
    "mutates nothing": (
        [(MUTATIONS, "bytes([byte ^ 1])", "bytes([byte])")],
        ["one byte changed at the start of a module", "one byte changed at the end of a long module"],
    ),
}


def broken(root: Path, edits: list[Edit]) -> Path:
    """A checker in the checkout ``root``, which has drifted, with ``edits`` in its source."""
    programs = copy_programs(checkout(root))
    (root / ALL / "alpha.py").unlink()
    for file, before, after in edits:
        source = (programs / file).read_text()
        assert source.count(before) == 1, f"{file} has to have exactly one place {before!r}"
        (programs / file).write_text(source.replace(before, after))
    return programs / "check_shared.py"


@pytest.mark.parametrize("edits", [edits for edits, _ in BROKEN.values()], ids=BROKEN.keys())
def test_a_broken_guard_says_what_it_does_not_see_and_compares_nothing(edits: list[Edit], tmp_path: Path) -> None:
    unseen = next(names for known, names in BROKEN.values() if known is edits)
    result = run(broken(tmp_path, edits))
    assert result.returncode == 2, result.stdout + result.stderr
    assert [name for name in unseen if f"self-test: UNSEEN: {name} (" not in result.stdout] == []
    assert "bridge-one" not in result.stdout
    assert "nothing was compared" in result.stderr


def test_a_guard_that_takes_unreadable_for_equal_is_caught_where_something_is_unreadable(tmp_path: Path) -> None:
    edits = [
        (
            COMPARE,
            '    if found.form != "file":\n',
            '    if found.form == "unreadable":\n        return\n    if found.form != "file":\n',
        )
    ]
    result = run(broken(tmp_path, edits), prefix=unprivileged())
    assert result.returncode == 2
    assert "self-test: UNSEEN: file that can't be read (reported nothing)" in result.stdout


def test_a_broken_guard_says_so_in_json_and_on_github(tmp_path: Path) -> None:
    edits, _ = BROKEN["ignores modes"]
    result = run(broken(tmp_path, edits), "--json", GITHUB_ACTIONS="true")
    assert result.returncode == 2
    assert '"result": "untrusted"' in result.stdout
    assert '"mutation": "execute bit"' in result.stdout
    assert "::error title=check_shared can't be trusted::unseen: execute bit" in result.stderr


def test_the_unbroken_guard_passes_and_finds_the_drift(tmp_path: Path) -> None:
    result = run(broken(tmp_path, []))
    assert result.returncode == 1
    assert "bridge-one: alpha.py: missing-module" in result.stdout
    assert " 0 unseen" in result.stdout
