"""Which model a turn uses, from what is configured and what opencode offers. Pure."""

from typing import Any

from .failures import NO_KEY, no_model
from .fields import table, tables, word
from .vendor.plain_text import one_line
from .vendor.wire import Failure

__all__ = ["choose"]


def choose(named: str, config: dict[str, Any], offered: dict[str, Any]) -> tuple[str, str] | Failure:
    """The (provider, model) of a turn, or why there is none.

    `named` is the bridge's own setting (``provider/model``, may be empty), `config` opencode's configuration in force,
    `offered` what ``GET /config/providers`` says. opencode falls back to public models of its maker when nothing else
    is set up: mail goes there only when somebody chose that.
    """
    providers = {word(each, "id"): each for each in tables(offered.get("providers"))}
    wanted = named.strip() or word(config, "model")
    if wanted:
        provider, _, model = wanted.partition("/")
        if provider not in providers:
            there = one_line(", ".join(sorted(providers)) or "none", 300)
            return no_model(f"opencode has no provider {provider!r} to use (it has: {there}); the model is {wanted!r}.")
        if model not in table(providers[provider], "models"):
            return no_model(f"The provider {provider} of opencode has no model {model!r}.")
        return provider, model
    defaults = table(offered, "default")
    own = [name for name, each in providers.items() if not _public(name, each) and word(defaults, name)]
    return (own[0], word(defaults, own[0])) if own else NO_KEY


def _public(name: str, provider: dict[str, Any]) -> bool:
    return name == "opencode" and table(provider, "options").get("apiKey") == "public"
