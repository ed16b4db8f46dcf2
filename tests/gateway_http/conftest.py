"""One gateway process for all tests of a module that don't stop it."""

from collections.abc import Iterator

import pytest

from .support import Process, running


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A running gateway; tests make agents and people of their own in it."""
    with running(tmp_path_factory.mktemp("gateway") / "data") as process:
        yield process
