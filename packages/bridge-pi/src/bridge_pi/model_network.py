"""Which providers of a model pi is set up for, and the same set-up led through the bridge. Pure.

With ``AGENTMAIL_NETWORK=model`` a turn reaches these and nothing else. Where pi takes a base URL (a provider of
``models.json``, or a built-in one with one endpoint) the turn gets one of the bridge's, and a stand-in for the key.
What has a login, or more than one endpoint, is reached by its own name, with what it needs inside.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from .vendor.host_port import host_and_port
from .vendor.network_reach import Reach, Route

__all__ = ["Led", "lead", "own_hosts"]

# Built-in providers with one endpoint each: their base URL and the variable of their key, as in pi 1.6.
BUILT_IN: Mapping[str, tuple[str, str]] = {
    "anthropic": ("https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    "deepseek": ("https://api.deepseek.com", "DEEPSEEK_API_KEY"),
    "google": ("https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY"),
    "groq": ("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "mistral": ("https://api.mistral.ai", "MISTRAL_API_KEY"),
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "xai": ("https://api.x.ai/v1", "XAI_API_KEY"),
    "zai": ("https://api.z.ai/api/coding/paas/v4", "ZAI_API_KEY"),
}
# Those that are reached by name: providers with several endpoints, and logins.
HOSTS: Mapping[str, tuple[str, str]] = {
    "openrouter": ("openrouter.ai:443", "OPENROUTER_API_KEY"),
    "openai-codex": ("chatgpt.com:443", ""),
    "github-copilot": ("api.individual.githubcopilot.com:443", ""),
}
VARIABLE = re.compile(r"\$\$|\$!|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)")


@dataclass(frozen=True, slots=True)
class Led:
    """What a turn gets instead of the user's own: the texts of ``models.json`` and ``auth.json``, and its variables."""

    models: str
    auth: str | None
    env: Mapping[str, str]
    reach: Reach


def _object(text: str | None) -> dict[str, Any]:
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def own_hosts(models: str | None, auth: str | None, env: Mapping[str, str]) -> tuple[str, ...]:
    """The hosts of all that pi is set up for, for a turn that uses the user's own files as they are."""
    found = dict.fromkeys(_hosts(_object(auth), env))
    for name, provider in _table(_object(models).get("providers")).items():
        for holder in _holders(_table(provider)):
            found |= dict.fromkeys(_host(holder.get("baseUrl")))
        if name in BUILT_IN:
            found |= dict.fromkeys(_host(BUILT_IN[name][0]))
    for name, (base, variable) in BUILT_IN.items():
        if name in _object(auth) or env.get(variable):
            found |= dict.fromkeys(_host(base))
    return tuple(found)


def lead(models: str | None, auth: str | None, env: Mapping[str, str], stand_in: Callable[[], str]) -> Led:
    """The set-up of a confined turn. `env` are pi's variables; `stand_in` makes a word that nobody else has.

    A text that is no JSON object stays as it is: pi says so itself.
    """
    return _Leading(_object(models), _object(auth), env, stand_in).led(models, auth)


class _Leading:
    def __init__(
        self, models: dict[str, Any], auth: dict[str, Any], env: Mapping[str, str], stand_in: Callable[[], str]
    ):
        self._models, self._auth = models, auth
        self._env = dict(env)
        self._own = env
        self._stand_in = stand_in
        self._shown: dict[str, str] = {}
        self._routes: list[Route] = []

    def led(self, models: str | None, auth: str | None) -> Led:
        providers = _table(self._models.get("providers"))
        for name, (base, variable) in BUILT_IN.items():
            has_key = self._own.get(variable) or _table(self._auth.get(name)).get("type") == "api_key"
            if has_key and not _table(providers.get(name)).get("baseUrl"):
                providers[name] = {**_table(providers.get(name)), "baseUrl": base}
        for name, provider in providers.items():
            if isinstance(provider, dict):
                self._provider(name, provider)
        text = json.dumps({**self._models, "providers": providers}) if providers else models or "{}"
        hosts = tuple(dict.fromkeys(_hosts(self._auth, self._own)))
        return Led(
            text, auth if not self._auth else json.dumps(self._auth), self._env, Reach(tuple(self._routes), hosts)
        )

    def _provider(self, name: str, provider: dict[str, Any]) -> None:
        secrets: dict[str, str] = {}
        if name in BUILT_IN:
            secrets |= self._variable(BUILT_IN[name][1])
        login = _table(self._auth.get(name))
        if login.get("type") == "api_key":
            secrets |= self._value(login, "key")
        for holder in _holders(provider):
            secrets |= self._value(holder, "apiKey")
            headers = _table(holder.get("headers"))
            for header in headers:
                secrets |= self._value(headers, header)
        for holder in _holders(provider):
            base = holder.get("baseUrl")
            if isinstance(base, str) and _host(base):
                plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "provider"
                route = Route(f"{plain}-{len(self._routes)}", base, secrets)
                self._routes.append(route)
                holder["baseUrl"] = route.inside

    def _value(self, holder: dict[str, Any], name: str) -> dict[str, str]:
        """Put a stand-in for a literal value, or for the variables that it names; a command's output is unknown."""
        value = holder.get(name)
        if not isinstance(value, str) or not value or value.startswith("!"):
            return {}
        names = [found[1] or found[2] for found in VARIABLE.finditer(value)]
        if names:
            return {shown: real for each in names if each for shown, real in self._variable(each).items()}
        holder[name] = shown = self._word(value)
        return {shown: value}

    def _variable(self, name: str) -> dict[str, str]:
        real = self._own.get(name)
        if not real:
            return {}
        self._env[name] = shown = self._word(real)
        return {shown: real}

    def _word(self, real: str) -> str:
        if real not in self._shown:
            self._shown[real] = self._stand_in()
        return self._shown[real]


def _holders(provider: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The provider, its models and what it changes of the built-in ones: each may have its own URL and headers."""
    yield provider
    models = provider.get("models")
    yield from (each for each in models if isinstance(each, dict)) if isinstance(models, list) else ()
    yield from (each for each in _table(provider.get("modelOverrides")).values() if isinstance(each, dict))


def _hosts(auth: dict[str, Any], env: Mapping[str, str]) -> Iterator[str]:
    for name, (host, variable) in HOSTS.items():
        if name in auth or env.get(variable):
            yield host
    for name, (base, _) in BUILT_IN.items():
        if _table(auth.get(name)).get("type") == "oauth":
            yield from _host(base)


def _host(base: object) -> tuple[str, ...]:
    """The host of a base URL, none if it is not one."""
    if not isinstance(base, str):
        return ()
    try:
        parts = urlsplit(base)
        if parts.scheme not in ("http", "https"):
            return ()
        return (host_and_port(parts.netloc.rpartition("@")[2], 443 if parts.scheme == "https" else 80),)
    except ValueError:
        return ()
