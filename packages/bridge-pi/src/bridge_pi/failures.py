"""What went wrong in pi's own words, as the failure that a person reads. Pure."""

import re

from .events import Reader
from .vendor.plain_text import one_line, printable
from .vendor.wire import Failure, FailureClass

__all__ = ["crashed", "from_reader", "from_text", "silent"]

AGAIN = "Send the mail again; if it stays so, run `bridge-pi --check` on the bridge's machine."
SIGN_IN = (
    "Sign in on the bridge's machine (start `pi`, then /login), or name the provider's key in AGENTMAIL_PI_ENV, then "
    "send the mail again."
)
# The class, the words that tell it, and what to do. The first that fits wins.
RULES: tuple[tuple[FailureClass, str, str], ...] = (
    (
        "context_too_long",
        r"context.?(length|window)|too many tokens|prompt is too long|maximum context|context_length_exceeded",
        "Start a new thread, or send a shorter mail.",
    ),
    (
        "quota",
        r"insufficient_quota|quota.{0,20}(exceeded|exhausted)|usage.?limit|credit balance|billing|^402\b",
        "Renew the quota at the provider, or wait for it, then send the mail again.",
    ),
    (
        "no_model",
        r"(unknown|no such) (model|provider)|model.{0,80}(not found|does not exist)|no models? (available|selected)",
        "Choose a model in pi on the bridge's machine, or set AGENTMAIL_PI_MODEL.",
    ),
    (
        "not_signed_in",
        r"^(401|403)\b|no api key|invalid.?api.?key|incorrect api key|authentication|unauthorized"
        r"|credential store|/login|token (refresh|expired)|oauth",
        SIGN_IN,
    ),
    ("rate_limited", r"^429\b|rate.?limit|too many requests", "Wait a few minutes, then send the mail again."),
    (
        "overloaded",
        r"^5\d\d\b|overloaded|connection error|fetch failed|\be(conn|ai_again|pipe|notfound|timedout)|terminated"
        r"|other side closed|stream ended|socket|server.?error|timed? ?out",
        "The provider could not be reached or broke off: wait a few minutes, then send the mail again.",
    ),
    ("content_filtered", r"content.?filter|refus(al|ed to)|safety", "Say it differently, in a new thread."),
)


def from_text(text: str) -> Failure:
    """The failure for an error that pi or its provider put into words."""
    said = text.strip() or "the model failed without a reason"
    for class_, words, next_step in RULES:
        if re.search(words, said, re.IGNORECASE):
            return Failure(class_, f"pi reported: {_cause(said)}", next_step)
    return Failure("agent_error", f"pi reported: {_cause(said)}", AGAIN)


def from_reader(reader: Reader) -> Failure | None:
    """The failure of a turn that settled, or None when it answered."""
    if reader.aborted or reader.stop_reason == "aborted":
        return Failure("cancelled", "pi broke its turn off without being asked to.", AGAIN)
    if reader.stop_reason == "error":
        return from_text(reader.error)
    if reader.stop_reason == "length":
        told = "The model's answer was cut off at its limit, so pi's turn did not end well."
        return Failure("context_too_long", told, "Ask for less at once, or start a new thread.")
    if reader.text.strip():
        return None
    if reader.denied:
        tools = ", ".join(sorted({one_line(name, 80) for name in reader.denied}))
        told = f"pi wrote no answer, because this tier does not offer what it wanted: {tools}."
        return Failure("tool_denied", told, "Ask for something that can be done by reading, or allow a higher tier.")
    told = "pi ended its turn without saying anything."
    return Failure("empty_answer", told, "Send the mail again, and say in one sentence what you want to get back.")


def crashed(code: int | None, stderr: str) -> Failure:
    """The failure of a pi that ended before its turn did; `stderr` is its last output, secrets removed."""
    said = [line for line in stderr.strip().splitlines() if not re.match(r"\s+at |Warning: ", line)]
    told = "\n".join(said[-6:])
    if re.search(r"(unknown|unrecognized|invalid) (option|flag|argument)|unexpected argument", told, re.IGNORECASE):
        next_step = "The bridge and this pi don't fit each other: update both, then run `bridge-pi --check`."
        return Failure("bad_option", f"pi did not accept the bridge's command line: {_cause(told)}", next_step)
    if re.search(r"does not provide an export|SyntaxError|ERR_UNKNOWN_BUILTIN_MODULE", told):
        next_step = "Install Node.js 22.19 or newer on the bridge's machine."
        return Failure("runtime_too_old", f"Node.js could not run pi: {_cause(told)}", next_step)
    known = from_text(told) if told else None
    if known is not None and known.class_ in ("not_signed_in", "no_model"):
        return known
    how = f"by signal {-code}" if code is not None and code < 0 else f"with status {code}"
    if code is not None and code > 128:
        how = f"by signal {code - 128}"
    return Failure(
        "crashed", f"pi ended {how} in the middle of its turn. Its last words: {_cause(told) or 'none'}", AGAIN
    )


def silent(seconds: float) -> Failure:
    """The failure of a pi that started and never answered."""
    return Failure("crashed", f"pi did not answer within {seconds:g} s of its start, and was ended.", AGAIN)


def _cause(text: str) -> str:
    """The words themselves, at most 1,500 characters; the beginning tells the cause."""
    return printable(text.strip())[:1_500]
