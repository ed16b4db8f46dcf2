"""The bridge's log: one line per step on one stream, as text or as JSON, without keys and without mail bodies."""

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TextIO

from .plain_text import one_line
from .redact import redact

__all__ = ["Log", "rfc3339"]

LONGEST_VALUE = 600


def rfc3339(epoch_s: float) -> str:
    """Seconds since the epoch as RFC 3339 in UTC with milliseconds: ``2026-11-30T23:59:15.000Z``."""
    return datetime.fromtimestamp(epoch_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Log:
    """Writes steps to `stream`: ``2026-…Z claimed turn=turn_… attempt=1``, or one JSON object a line.

    `now` gives seconds since the epoch; `secrets` are hidden wherever they appear, beside all that looks like one. A
    stream that can't be written to any more (a closed pipe) never stops the bridge.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        as_json: bool,
        now: Callable[[], float],
        secrets: Iterable[str] = (),
        quiet: bool = False,
    ):
        self._stream = stream
        self._as_json = as_json
        self._now = now
        self._secrets = tuple(secret for secret in secrets if secret)
        self._broken = False

    def step(self, what: str, **fields: object) -> None:
        """Something happened as it should; fields that are None or empty are left out."""
        self._write("info", what, fields)

    def warn(self, what: str, **fields: object) -> None:
        """Something went wrong that the bridge copes with, or that a person should look at."""
        self._write("warning", what, fields)

    def _write(self, level: str, what: str, fields: dict[str, object]) -> None:
        if self._broken:
            return
        shown = {name: self._shown(value) for name, value in fields.items() if value not in (None, "")}
        at = rfc3339(self._now())
        if self._as_json:
            line = json.dumps({"at": at, "level": level, "step": self._shown(what), **shown}, ensure_ascii=False)
        else:
            words = [at, *(["warning:"] if level == "warning" else []), str(self._shown(what))]
            line = " ".join([*words, *(f"{name}={_quoted(value)}" for name, value in shown.items())])
        try:
            self._stream.write(line + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            self._broken = True

    def _shown(self, value: object) -> str | int | float | bool:
        if isinstance(value, bool | int | float):
            return value
        return one_line(redact(str(value), self._secrets), LONGEST_VALUE)


def _quoted(value: object) -> str:
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if " " in text or '"' in text or "=" in text else text
