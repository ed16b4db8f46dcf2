"""Which model a turn uses."""

from typing import Any

import pytest

from bridge_opencode.model_choice import choose
from bridge_opencode.vendor.wire import Failure

PUBLIC = {"id": "opencode", "options": {"apiKey": "public"}, "models": {"big-pickle": {}}}
FAKE = {"id": "fake", "options": {"apiKey": "k"}, "models": {"fake-1": {}, "org/fake-2": {}}}
DEFAULT = {"opencode": "big-pickle", "fake": "fake-1"}


def offered(*providers: dict[str, Any]) -> dict[str, Any]:
    return {"providers": list(providers), "default": DEFAULT}


@pytest.mark.parametrize(
    ("named", "config", "providers", "expected"),
    [
        ("", {}, [PUBLIC, FAKE], ("fake", "fake-1")),
        ("", {"model": "fake/org/fake-2"}, [PUBLIC, FAKE], ("fake", "org/fake-2")),
        ("fake/fake-1", {"model": "fake/none"}, [FAKE], ("fake", "fake-1")),
        ("opencode/big-pickle", {}, [PUBLIC], ("opencode", "big-pickle")),
        ("", {}, [{**PUBLIC, "options": {"apiKey": "own"}}], ("opencode", "big-pickle")),
    ],
)
def test_the_named_model_is_used_else_the_configured_one_else_the_provider_s_own(
    named: str, config: dict[str, Any], providers: list[dict[str, Any]], expected: tuple[str, str]
) -> None:
    assert choose(named, config, offered(*providers)) == expected


@pytest.mark.parametrize(
    ("named", "providers", "class_"),
    [
        ("", [PUBLIC], "not_signed_in"),
        ("", [], "not_signed_in"),
        ("other/x", [FAKE], "no_model"),
        ("fake/x", [FAKE], "no_model"),
        ("fake", [FAKE], "no_model"),
    ],
)
def test_no_mail_goes_to_a_model_that_nobody_chose(named: str, providers: list[dict[str, Any]], class_: str) -> None:
    found = choose(named, {}, offered(*providers))
    assert isinstance(found, Failure)
    assert found.class_ == class_


@pytest.mark.parametrize("odd", [{}, {"providers": None}, {"providers": [3, {}], "default": 1}])
def test_what_can_t_be_read_offers_nothing(odd: dict[str, Any]) -> None:
    assert isinstance(choose("", odd, odd), Failure)
