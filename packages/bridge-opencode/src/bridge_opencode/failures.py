"""What went wrong, in opencode's or its provider's own words, as the failure that a person reads. Pure."""

import re
from typing import Any

from .fields import number, table, word
from .vendor.plain_text import one_line, printable
from .vendor.wire import Failure, FailureClass

__all__ = [
    "NO_KEY",
    "crashed",
    "denied",
    "empty",
    "from_error",
    "from_retry",
    "from_text",
    "no_agent",
    "no_model",
    "not_started",
    "unfinished",
]

CHECK = "Send the mail again; if it stays so, run `bridge-opencode --check` on the bridge's machine."
LATER = "The provider could not be reached or broke off: wait a few minutes, then send the mail again."
SIGN_IN = (
    "Sign in on the bridge's machine (`opencode auth login`), or name the provider's key in AGENTMAIL_OPENCODE_ENV, "
    "then send the mail again."
)
NO_KEY = Failure(
    "not_signed_in",
    "opencode has no provider that it may use: no login, no key, no provider in its opencode.json. (The bridge does not"
    " send mail to the public models that opencode falls back to then.)",
    f"{SIGN_IN} To use those models all the same, name one in AGENTMAIL_OPENCODE_MODEL.",
)
# The class, the words that tell it, and what to do. The first that fits wins.
RULES: tuple[tuple[FailureClass, str, str], ...] = (
    (
        "context_too_long",
        r"context.?(length|window|overflow)|too many tokens|prompt is too long|maximum context",
        "Start a new thread, or send a shorter mail.",
    ),
    (
        "quota",
        r"insufficient_quota|quota.{0,20}(exceeded|exhausted)|usage.?limit|credit balance|billing|^402\b",
        "Renew the quota at the provider, or wait for it, then send the mail again.",
    ),
    (
        "no_model",
        r"(unknown|no such) (model|provider)|model.{0,80}(not found|does not exist)|provider.{0,80}not found",
        "Choose a model in opencode.json on the bridge's machine, or set AGENTMAIL_OPENCODE_MODEL.",
    ),
    (
        "not_signed_in",
        r"^(401|403)\b|no api key|api key is missing|invalid.?api.?key|incorrect api key|authentication|unauthorized"
        r"|token (refresh|expired)|oauth|ProviderAuthError",
        SIGN_IN,
    ),
    ("rate_limited", r"^429\b|rate.?limit|too many requests", "Wait a few minutes, then send the mail again."),
    (
        "overloaded",
        r"^5\d\d\b|overloaded|cannot connect|unable to connect|fetch failed|\be(conn|ai_again|pipe|notfound|timedout)"
        r"|connection|terminated|stream|socket|server.?error|timed? ?out|no response|unavailable",
        LATER,
    ),
    ("content_filtered", r"content.?filter|refus(al|ed to)|safety", "Say it differently, in a new thread."),
)
NAMED: dict[str, FailureClass] = {
    "ContentFilterError": "content_filtered",
    "ContextOverflowError": "context_too_long",
    "MessageOutputLengthError": "context_too_long",
    "ProviderAuthError": "not_signed_in",
}
NEXT_STEPS = {class_: next_step for class_, _, next_step in RULES}


def from_text(text: str) -> Failure:
    """The failure for an error that the provider put into words."""
    said = text.strip() or "the model failed without a reason"
    for class_, words, next_step in RULES:
        if re.search(words, said, re.IGNORECASE):
            return Failure(class_, f"opencode reported: {_cause(said)}", next_step)
    return Failure("agent_error", f"opencode reported: {_cause(said)}", CHECK)


def from_retry(message: str) -> Failure:
    """The failure of a provider that opencode still tries again: then its trouble passes, whatever its words are."""
    known = from_text(message)
    if known.class_ != "agent_error":
        return known
    class_: FailureClass = "rate_limited" if re.search(r"\b429\b", message) else "overloaded"
    return Failure(class_, known.message, NEXT_STEPS[class_])


def from_error(error: dict[str, Any]) -> Failure:
    """The failure for the ``error`` of a message: ``{"name", "data": {"message", "statusCode"}}``."""
    name, data = word(error, "name"), table(error, "data")
    message, status = word(data, "message") or name, number(data, "statusCode")
    if name == "MessageAbortedError":
        return Failure("cancelled", "opencode broke its turn off without being asked to.", CHECK)
    if name in NAMED:
        class_ = NAMED[name]
        return Failure(class_, f"opencode reported: {_cause(message)}", NEXT_STEPS[class_])
    # A provider's own words go before the bare number: a 429 can be a quota, a 400 a context that is too long.
    known = from_text(message)
    if known.class_ == "agent_error" and status:
        known = from_text(f"{status} {message}")
    return known


def unfinished(finish: str) -> Failure:
    """The failure of an answer that the model did not bring to its end; `finish` is opencode's reason."""
    if finish == "length":
        told = "The model's answer was cut off at its limit, so opencode's turn did not end well."
        return Failure("context_too_long", told, "Ask for less at once, or start a new thread.")
    if finish == "content-filter":
        told = "The provider's content filter stopped the answer."
        return Failure("content_filtered", told, NEXT_STEPS["content_filtered"])
    return Failure(
        "agent_error", f"opencode ended its turn in the middle ({one_line(finish, 80) or 'no reason'}).", CHECK
    )


def denied(tools: list[str]) -> Failure:
    """The failure of a turn that said nothing because of refused tools (opencode#44267: it ends like a good one)."""
    names = ", ".join(sorted({one_line(name, 80) for name in tools}))
    told = f"opencode wrote no answer, because what it wanted to use was refused: {names}."
    return Failure("tool_denied", told, "Ask for something that can be done without, or allow a higher tier.")


def empty() -> Failure:
    """The failure of a turn that ended well and said nothing."""
    told = "opencode ended its turn without saying anything."
    return Failure("empty_answer", told, "Send the mail again, and say in one sentence what you want to get back.")


def no_model(told: str) -> Failure:
    """The failure of a turn whose model is not there."""
    return Failure("no_model", told, NEXT_STEPS["no_model"])


def no_agent(name: str, there: list[str]) -> Failure:
    """The failure of a turn for an agent of opencode's that is not there."""
    names = one_line(", ".join(sorted(there)), 300)
    told = f"opencode has no agent {name!r} (it has: {names}), and would take another one instead."
    return Failure("bad_option", told, "Correct AGENTMAIL_OPENCODE_AGENT on the bridge's machine.")


def crashed(code: int | None, stderr: str) -> Failure:
    """The failure of an opencode that ended before its turn did; `stderr` is its last output, secrets removed."""
    told = "\n".join(stderr.strip().splitlines()[-6:])
    if re.search(r"configuration is invalid|config.{0,40}(is not valid|invalid)|JSONC? ?parse", told, re.IGNORECASE):
        next_step = "Mend opencode.json on the bridge's machine, then send the mail again."
        return Failure("bad_option", f"opencode does not accept its configuration: {_cause(told)}", next_step)
    if re.search(r"unknown (option|argument)|unrecognized", told, re.IGNORECASE):
        next_step = (
            "The bridge and this opencode don't fit each other: update both, then run `bridge-opencode --check`."
        )
        return Failure("bad_option", f"opencode did not accept the bridge's command line: {_cause(told)}", next_step)
    how = f"by signal {-code}" if code is not None and code < 0 else f"with status {code}"
    if code is not None and code > 128:
        how = f"by signal {code - 128}"
    last = _cause(told) or "none"
    return Failure("crashed", f"opencode ended {how} in the middle of its turn. Its last words: {last}", CHECK)


def not_started(seconds: float, stderr: str) -> Failure:
    """The failure of an opencode that was started and did not answer; `stderr` as in `crashed`."""
    told = _cause("\n".join(stderr.strip().splitlines()[-6:]))
    said = f" It said: {told}" if told else ""
    return Failure("crashed", f"opencode did not answer within {seconds:g} s of its start, and was ended.{said}", CHECK)


def _cause(text: str) -> str:
    """The words themselves, at most 1,500 characters; the beginning tells the cause."""
    return printable(text.strip())[:1_500]
