"""pi's set-up led through the bridge: which URLs and keys a turn gets instead of the user's own."""

import json
from itertools import count
from typing import Any

from bridge_pi.model_network import Led, lead, own_hosts


def led(models: Any, auth: Any = None, **env: str) -> Led:
    numbers = count(1)
    text, login = (None if value is None else json.dumps(value) for value in (models, auth))
    return lead(text, login, env, lambda: f"word-{next(numbers)}")


def test_a_built_in_provider_with_a_key_gets_a_base_url() -> None:
    made = led(None, None, ANTHROPIC_API_KEY="sk-1", OTHER="left")
    base = json.loads(made.models)["providers"]["anthropic"]["baseUrl"]
    assert base == "http://127.0.0.1:18190/anthropic-0"
    assert made.env == {"ANTHROPIC_API_KEY": "word-1", "OTHER": "left"}
    (route,) = made.reach.routes
    assert (route.base, route.secrets) == ("https://api.anthropic.com", {"word-1": "sk-1"})
    assert made.reach.hosts == ()


def test_a_subscription_is_reached_by_name_with_its_token_inside() -> None:
    login = {"type": "oauth", "access": "token", "refresh": ""}
    made = led(None, {"anthropic": login, "openai-codex": login})
    assert json.loads(made.auth or "")["anthropic"] == login
    assert made.reach.routes == ()
    assert set(made.reach.hosts) == {"api.anthropic.com:443", "chatgpt.com:443"}


def test_a_command_and_a_dollar_sign_are_left_as_they_are() -> None:
    provider = {"baseUrl": "https://a.example/v1", "apiKey": "!pass show key", "headers": {"X": "$$5 ${KEY} $KEY"}}
    made = led({"providers": {"a": provider}}, None, KEY="sk-1")
    shown = json.loads(made.models)["providers"]["a"]
    assert (shown["apiKey"], shown["headers"]) == ("!pass show key", {"X": "$$5 ${KEY} $KEY"})
    assert made.env == {"KEY": "word-1"}
    assert made.reach.routes[0].secrets == {"word-1": "sk-1"}


def test_a_model_s_own_url_and_headers_are_led_too() -> None:
    model = {"id": "m", "baseUrl": "https://b.example/x/", "headers": {"K": "sk-2"}}
    made = led({"providers": {"My A": {"baseUrl": "https://a.example", "models": [model]}}})
    shown = json.loads(made.models)["providers"]["My A"]
    assert shown["baseUrl"] == "http://127.0.0.1:18190/my-a-0"
    assert shown["models"][0]["baseUrl"] == "http://127.0.0.1:18190/my-a-1/x"
    assert shown["models"][0]["headers"] == {"K": "word-1"}
    assert [route.base for route in made.reach.routes] == ["https://a.example", "https://b.example/x/"]


def test_what_is_no_configuration_is_left_for_pi_to_complain_about() -> None:
    for text in ("{", "[1]", '{"providers": [1]}', '{"providers": {"a": 7, "b": {"baseUrl": 5, "models": [7]}}}'):
        made = lead(text, text, {}, lambda: "word")
        assert made.reach.routes == ()
    assert lead("{", None, {}, lambda: "word").models == "{"


def test_the_hosts_of_the_user_s_own_files() -> None:
    models = {"providers": {"a": {"baseUrl": "http://a.example/v1"}, "google": {}}}
    hosts = own_hosts(json.dumps(models), json.dumps({"groq": {"type": "api_key"}}), {"OPENROUTER_API_KEY": "k"})
    expected = {"a.example:80", "generativelanguage.googleapis.com:443", "api.groq.com:443", "openrouter.ai:443"}
    assert set(hosts) == expected
