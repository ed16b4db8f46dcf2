"""Which files travel with a named module."""

import pytest

from deploy.shared_guard.selection import selection, unknown_names

FILES: dict[str, bytes] = {
    "__init__.py": b"",
    "one.py": b"from .two import THING\n",
    "two.py": b"import os\nfrom . import three\n",
    "three.py": b"def late():\n    from .four import four\n    return four\n",
    "four.py": b"from .one import one\n",
    "five.py": b"",
    "five_more.py": b"",
    "deep/__init__.py": b"",
    "deep/inner.py": b"from .. import five\nfrom .other import x\n",
    "deep/other.py": b"",
    "notes.txt": b"",
    "tests/__init__.py": b"",
    "tests/conftest.py": b"from .helper import fixture\n",
    "tests/helper.py": b"",
    "tests/test_one.py": b"",
    "tests/test_five.py": b"",
    "tests/test_five_more.py": b"",
    "tests/test_five_times.py": b"from ..deep import inner\n",
    "tests/test_everything.py": b"",
}
ALWAYS = {"__init__.py", "notes.txt"}
BESIDE_TESTS = {"tests/__init__.py", "tests/conftest.py", "tests/helper.py"}


@pytest.mark.parametrize(
    ("case", "modules", "travels"),
    [
        ("imports of imports, also late ones, in a circle", ["four"], {"four.py", "one.py", "two.py", "three.py"}),
        ("a module in a folder brings its packages", ["deep.inner"], {"deep/__init__.py", "deep/inner.py"}),
        ("a folder is a module", ["deep"], {"deep/__init__.py"}),
        ("two levels up", ["deep.inner"], {"five.py"}),
        ("beside it", ["deep.inner"], {"deep/other.py"}),
        ("its tests, with what stands beside tests", ["one"], {"tests/test_one.py", *BESIDE_TESTS}),
        ("a test about an aspect", ["five"], {"tests/test_five_times.py"}),
        ("what a test imports", ["five"], {"deep/inner.py"}),
    ],
)
def test_a_named_module_takes_along(case: str, modules: list[str], travels: set[str]) -> None:
    assert selection(FILES, modules) >= travels | ALWAYS, case


@pytest.mark.parametrize(
    ("case", "modules", "stays"),
    [
        ("what nobody imports", ["one"], {"five.py", "deep/__init__.py"}),
        ("tests of other modules, and the helpers if there is no test", ["three_quarters"], set(FILES) - ALWAYS),
        ("a test of a longer name", ["five"], {"tests/test_five_more.py", "five_more.py"}),
        ("the tests of what only a test imports", ["five"], {"tests/test_one.py"}),
        ("a test about no module", ["one", "two", "three", "four", "five"], {"tests/test_everything.py"}),
    ],
)
def test_a_named_module_leaves_at_home(case: str, modules: list[str], stays: set[str]) -> None:
    assert selection(FILES, modules) & stays == set(), case


def test_all_is_all() -> None:
    assert selection(FILES, None) == set(FILES)


def test_a_selection_is_closed() -> None:
    for name in ("one", "five", "deep.inner"):
        chosen = selection(FILES, [name])
        assert selection({path: FILES[path] for path in chosen}, [name]) == chosen


@pytest.mark.parametrize(
    "around",
    [
        "if 1:\n    pass\nelse:\n    {}",
        "try:\n    pass\nexcept ImportError:\n    {}",
        "try:\n    pass\nfinally:\n    {}",
        "for x in y:\n    pass\nelse:\n    {}",
        "while 1:\n    {}",
        "with x:\n    {}",
        "match x:\n    case 1:\n        {}",
        "class A:\n    async def b(self):\n        {}",
        "y = [lambda: x for x in z]; {}",
    ],
)
def test_an_import_is_found_wherever_a_statement_can_stand(around: str) -> None:
    files = {"__init__.py": b"", "one.py": around.format("from .two import x").encode(), "two.py": b""}
    assert selection(files, ["one"]) == set(files)


def test_imports_that_lead_out_of_the_baseline_are_not_followed() -> None:
    files = {"__init__.py": b"", "one.py": b"from .. import two\nfrom ...two import x\nimport two\n", "two.py": b""}
    assert selection(files, ["one"]) == {"__init__.py", "one.py"}


def test_a_module_that_does_not_parse_is_named() -> None:
    with pytest.raises(SyntaxError) as error:
        selection({"__init__.py": b"", "one.py": b"def\n"}, ["one"])
    assert error.value.filename == "one.py"


def test_names_the_baseline_does_not_have_are_known() -> None:
    assert unknown_names(FILES, ["one", "six", "deep.inner", "deep.seven"]) == ["six", "deep.seven"]
    assert unknown_names(FILES, None) == []
