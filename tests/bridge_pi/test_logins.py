"""What of pi's saved logins a confined turn gets."""

import json

import pytest

from bridge_pi.logins import read


def test_keys_are_shown_and_refresh_tokens_are_not() -> None:
    key = {"type": "api_key", "key": "k"}
    login = {"type": "oauth", "access": "a", "refresh": "r", "expires": 2_000, "extra": 1}
    logins = read(json.dumps({"openai": key, "anthropic": login}), now_ms=1_000)
    assert json.loads(logins.shown) == {"openai": key, "anthropic": {**login, "refresh": ""}}
    assert (logins.subscriptions, logins.expired) == (("anthropic",), ())


def test_a_login_that_has_run_out_is_named() -> None:
    text = json.dumps({"a": {"type": "oauth", "expires": 1_000}, "b": {"type": "oauth", "expires": 1_001}})
    assert read(text, now_ms=1_000).expired == ("a",)


@pytest.mark.parametrize("text", ["", "[]", "{", "null"])
def test_what_is_no_login_file_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read(text, 0)


def test_an_entry_of_another_form_is_passed_on() -> None:
    assert json.loads(read('{"x": "!command"}', 0).shown) == {"x": "!command"}
