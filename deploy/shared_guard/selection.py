"""Which files of the baseline a target carries: the named modules, what they import, and their tests. Pure."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

__all__ = ["selection", "unknown_names"]


def selection(files: Mapping[str, bytes], modules: Iterable[str] | None) -> frozenset[str]:
    """The paths of ``files`` (the baseline by path) that a target with these named modules carries; None takes all.

    The named modules are closed under relative imports. With each of them travel its tests (``tests/test_NAME.py``,
    ``tests/test_NAME_*.py``), the ``conftest.py`` beside those, whatever the tests import (without tests of its own),
    and every file that is not Python. Raises SyntaxError, with the file's name, for a module that doesn't parse.
    """
    if modules is None:
        return frozenset(files)
    named = [path for name in modules if (path := _path_of(files, tuple(name.split("."))))]
    chosen = _closure(files, ["__init__.py", *named])
    tests = {path for path in files if (subject := _subject(files, path)) and subject in chosen}
    beside = {f"{path.rsplit('/', 1)[0]}/conftest.py" for path in tests}
    travelling = _closure(files, [*tests, *(path for path in beside if path in files)])
    return frozenset(chosen | travelling | {path for path in files if not path.endswith(".py")})


def unknown_names(files: Mapping[str, bytes], modules: Iterable[str] | None) -> list[str]:
    """The named modules that the baseline doesn't have."""
    return [name for name in modules or () if _path_of(files, tuple(name.split("."))) is None]


def _path_of(files: Mapping[str, bytes], dotted: tuple[str, ...]) -> str | None:
    stem = "/".join(dotted)
    return next((path for path in (f"{stem}.py", f"{stem}/__init__.py") if path in files), None)


def _subject(files: Mapping[str, bytes], path: str) -> str | None:
    """The module that a test file is about: ``tests/test_turn_state.py`` is about turn_state, or else about turn."""
    folder, _, name = path.rpartition("/")
    if folder.split("/")[0] != "tests" or not name.startswith("test_") or not name.endswith(".py"):
        return None
    words = name.removeprefix("test_").removesuffix(".py").split("_")
    stems = ("_".join(words[:count]) for count in range(len(words), 0, -1))
    return next((found for stem in stems if (found := _path_of(files, (stem,)))), None)


def _closure(files: Mapping[str, bytes], start: Iterable[str]) -> set[str]:
    chosen: set[str] = set()
    waiting = [path for path in start if path in files]
    while waiting:
        path = waiting.pop()
        if path in chosen:
            continue
        chosen.add(path)
        waiting.extend(_packages_around(files, path))
        imported = _relative_imports(path, files[path]) if path.endswith(".py") else ()
        waiting.extend(found for dotted in imported if (found := _path_of(files, dotted)))
    return chosen


def _packages_around(files: Mapping[str, bytes], path: str) -> Iterator[str]:
    parts = path.split("/")[:-1]
    for count in range(len(parts) + 1):
        package = "/".join([*parts[:count], "__init__.py"])
        if package in files:
            yield package


@cache
def _relative_imports(path: str, source: bytes) -> tuple[tuple[str, ...], ...]:
    """Dotted names, from the baseline's top, that the module may import: of ``from .a import b`` both a and a.b."""
    package = tuple(path.split("/")[:-1])
    names: list[tuple[str, ...]] = []
    for node in _statements(ast.parse(source, filename=path)):
        if isinstance(node, ast.ImportFrom) and 0 < node.level <= len(package) + 1:
            base = package[: len(package) + 1 - node.level] + tuple((node.module or "").split("."))
            base = tuple(part for part in base if part)
            names.append(base)
            names.extend((*base, alias.name) for alias in node.names)
    return tuple(name for name in names if name)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Every statement in ``node``: imports are statements, and passing over expressions saves most of the time."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        children = getattr(node, field, ())
        for child in children if isinstance(children, list) else ():
            yield child
            yield from _statements(child)
