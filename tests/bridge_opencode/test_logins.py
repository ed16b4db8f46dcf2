"""Saved logins, as far as a turn may have them."""

import json

import pytest

from bridge_opencode.logins import read

OAUTH = {"type": "oauth", "access": "a", "refresh": "r", "expires": 1000}


def test_a_subscription_s_refresh_token_is_left_out_and_keys_are_kept() -> None:
    found = read(json.dumps({"anthropic": OAUTH, "openai": {"type": "api", "key": "k"}}), 500)
    assert json.loads(found.shown) == {"anthropic": {**OAUTH, "refresh": ""}, "openai": {"type": "api", "key": "k"}}
    assert (found.subscriptions, found.expired) == (("anthropic",), ())


def test_a_login_that_ran_out_is_named() -> None:
    assert read(json.dumps({"anthropic": OAUTH}), 1000).expired == ("anthropic",)


@pytest.mark.parametrize("text", ["", "x", "[]"])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        read(text, 0)
