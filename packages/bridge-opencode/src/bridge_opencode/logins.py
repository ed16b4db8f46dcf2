"""opencode's saved logins, as far as a turn may have them. Pure."""

import json
from dataclasses import dataclass
from typing import Any

__all__ = ["Logins", "read"]


@dataclass(frozen=True, slots=True)
class Logins:
    """What is in ``auth.json``.

    `shown` is the text a confined turn gets: a subscription's refresh token is left out. A turn could not save the
    renewed one, so that using it would end the person's own login; and it is worth more than one turn's trust.
    `subscriptions` are providers with such a login, `expired` those of them whose access token is over.
    """

    shown: str
    subscriptions: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()


def read(text: str, now_ms: float) -> Logins:
    """Take ``auth.json`` apart; `now_ms` is the epoch in milliseconds. Raises ValueError for what is no JSON object."""
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError("auth.json is no JSON object")
    shown: dict[str, Any] = {}
    subscriptions, expired = [], []
    for provider, login in data.items():
        if not isinstance(login, dict) or login.get("type") != "oauth":
            shown[provider] = login
            continue
        subscriptions.append(provider)
        expires = login.get("expires")
        if isinstance(expires, int | float) and expires <= now_ms:
            expired.append(provider)
        shown[provider] = {**login, "refresh": ""}
    return Logins(json.dumps(shown), tuple(subscriptions), tuple(expired))
