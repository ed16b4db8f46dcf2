"""ZCode's error texts -> failure classes. Pure.

A text is recognised by a whole line from its start, never by words in it: after a bad option ZCode prints its whole
help, whose word "login" made a driver report "not logged in" (Clutch#56). What ZCode reports of its provider is
recognised by code. Unknown texts and codes give no class here.
"""

import re
from typing import NamedTuple

from .events import ReportedError
from .vendor.wire import FailureClass

__all__ = ["LONG_WINDOW_CODES", "RELEASE_SWAP", "class_of", "error_line", "provider_code", "readable"]


class _Rule(NamedTuple):
    pattern: re.Pattern[str]
    class_: FailureClass


RELEASE_SWAP = "Bundled 与 Active ZCode Built-in Release 均不可用"

# At the start of a line, after an optional "Error: " or "Cause: Error: ".
_TEXTS: tuple[tuple[str, FailureClass], ...] = (
    (r"无法定位 CLI ZCode Built-in Provider Config", "provider_missing"),
    (r"Model config is missing\b", "provider_missing"),
    (r"Model provider is missing an API key\b", "not_signed_in"),
    (r"Model access is not configured for ", "not_signed_in"),
    (r"Select a model before continuing\b", "no_model"),
    (r"Model creation failed\b", "no_model"),
    (r"(?:\[ERR_UNKNOWN_BUILTIN_MODULE\]: )?No such built-in module: node:sqlite\b", "runtime_too_old"),
    (re.escape(RELEASE_SWAP), "overloaded"),
    (r"Unknown option '", "bad_option"),
    (r"Option '[^']*' (?:argument is ambiguous|argument missing|does not take an argument)", "bad_option"),
    (r"--disallowed-tools requires at least one tool\b", "bad_option"),
    (r"Unsupported --mode value: ", "bad_option"),
    (r"--output-format must be one of ", "bad_option"),
    (r"--prompt requires non-empty text\b", "bad_option"),
    (r"--resume and --continue cannot be used together\b", "bad_option"),
    (r"Unknown command: ", "bad_option"),
    (r"CLI received SIG(?:TERM|INT|HUP)\b", "crashed"),
)
_LINES = tuple(_Rule(re.compile(pattern), class_) for pattern, class_ in _TEXTS)
_PREFIX = re.compile(r"(?:Cause: )?(?:[A-Z]\w*)?Error:? ")
_PROVIDER_MESSAGE = re.compile(r"\[(\d{3,5})\]\[(.*?)\](?:\[|\s*$)", re.DOTALL)

# 1302, 1305 and 1308 were seen by drivers of ZCode; the others are of the provider's public table (docs.bigmodel.cn).
_PROVIDER_CODES: dict[str, FailureClass] = {
    **dict.fromkeys(("1000", "1001", "1002", "1003", "1004", "1113", "1220", "1309"), "not_signed_in"),
    **dict.fromkeys(("1211", "1311"), "no_model"),
    "1261": "context_too_long",
    "1301": "content_filtered",
    **dict.fromkeys(("1302", "1303", "1313"), "rate_limited"),
    **dict.fromkeys(("1305", "1312"), "overloaded"),
    **dict.fromkeys(("1308", "1310"), "quota"),
}
LONG_WINDOW_CODES = frozenset({"1310"})


def class_of(error: ReportedError) -> FailureClass | None:
    """The class of an error that ZCode reported in its stream: by the provider's code, its text, then the HTTP
    status.
    """
    known = _PROVIDER_CODES.get(provider_code(error))
    if known is not None:
        return known
    line = error_line(error.message)
    if line is not None and line[1] != "agent_error":
        return line[1]
    match error.status:
        case 401 | 403:
            return "not_signed_in"
        case 413:
            return "context_too_long"
        case 429:
            return "rate_limited"
        case 502 | 503 | 504 | 529:
            return "overloaded"
        case _:
            return "rate_limited" if error.code == "model_rate_limited" else None


def provider_code(error: ReportedError) -> str:
    """The provider's own code: as reported, else from a message of the form ``[1308][text][request]``."""
    found = _PROVIDER_MESSAGE.match(error.message.strip())
    return error.provider_code or (found.group(1) if found else "")


def readable(message: str) -> str:
    """A message of the form ``[1308][text][request]`` as `text (code 1308)`; any other as it is."""
    found = _PROVIDER_MESSAGE.match(message.strip())
    return f"{found.group(2)} (code {found.group(1)})" if found else message


def error_line(text: str) -> tuple[str, FailureClass] | None:
    """The first line of `text` that is a known error of ZCode, with its class; else the first that starts `Error: `."""
    plain: tuple[str, FailureClass] | None = None
    for line in text.splitlines():
        stripped = line.strip()
        prefix = _PREFIX.match(stripped)
        body = stripped[prefix.end() :] if prefix else stripped
        for rule in _LINES:
            if rule.pattern.match(body):
                return stripped, rule.class_
        if plain is None and stripped.startswith("Error: "):
            plain = (stripped, "agent_error")
    return plain
