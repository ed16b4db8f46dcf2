"""What went wrong in dsh's own words, as the failure that a person reads. Pure."""

import re

from .events import Reader
from .vendor.plain_text import one_line, printable
from .vendor.wire import Failure, FailureClass

__all__ = ["AGAIN", "from_boot", "from_reader", "from_refusal", "lost_session"]

AGAIN = "Send the mail again; if it stays so, run `bridge-dsh --check` on the bridge's machine."
WAIT = "Wait a few minutes, then send the mail again."
SIGN_IN = (
    "Set the provider's key (DEEPSEEK_API_KEY, or the variable that AGENTMAIL_DSH_ENV names) in the bridge's "
    "environment, then send the mail again."
)
# The class, the words (code, status and message) that tell it, and what to do. The first that fits wins.
RULES: tuple[tuple[FailureClass, str, str], ...] = (
    (
        "context_too_long",
        r"context.?(length|window)|CONTEXT_|too many tokens|prompt is too long|maximum context",
        "Start a new thread, or send a shorter mail.",
    ),
    (
        "quota",
        r"\bQUOTA\b|\b402\b|insufficient.?(balance|quota)|quota.{0,20}(exceeded|exhausted)|usage.?limit",
        "Add to the account's balance at the provider, then send the mail again.",
    ),
    (
        "not_signed_in",
        r"\bAUTH\b|MISSING_CREDENTIAL|\b40[13]\b|no api key|invalid.?api.?key|authentication|unauthorized",
        SIGN_IN,
    ),
    (
        "no_model",
        r"(unknown|no such) (model|provider)|model.{0,80}(not found|not exist|not available)|MODEL_NOT_FOUND|NO_MODEL",
        "Name a model that the provider has in AGENTMAIL_DSH_MODEL (`provider/model`).",
    ),
    ("rate_limited", r"RATE_LIMIT|\b429\b|rate.?limit|too many requests", WAIT),
    (
        "content_filtered",
        r"content.?filter|stop reason (refusal|sensitive)|CONTENT_|safety",
        "Say it differently, in a new thread.",
    ),
    (
        "overloaded",
        r"TRANSPORT|STREAM_CLOSED|TIMEOUT|\b5\d\d\b|overloaded|fetch failed|transport failed|econn|socket",
        f"The provider could not be reached or broke off. {WAIT}",
    ),
)
LOST = re.compile(
    r'session ".*" (does not exist|was recorded in|is corrupt|is not resumable)|stored session ".*" is corrupt'
    r"|session .*(preset|subagent|fork|format|version)",
    re.IGNORECASE | re.DOTALL,
)
BUSY = re.compile(r"already owned by an active|already active|is locked", re.IGNORECASE)
DOTENV = re.compile(r'dsh: (\S+\.env) sets "([^"]+)"')


def from_reader(reader: Reader) -> Failure | None:
    """The failure of a run that printed its end, or None when it answered."""
    match reader.ending:
        case "completed":
            if (reader.final or "").strip():
                return None
            if reader.denied:
                tools = ", ".join(sorted({one_line(name, 80) for name in reader.denied}))
                told = f"dsh wrote no answer; this tier stopped what it tried with: {tools}."
                return Failure("tool_denied", told, "Ask for something that changes nothing, or allow a higher tier.")
            told = "dsh ended its turn without saying anything."
            return Failure(
                "empty_answer", told, "Send the mail again, and say in one sentence what you want to get back."
            )
        case "error":
            return _reported(reader)
        case "max-tokens":
            told = "The model's answer was cut off at its limit, so dsh's turn did not end well."
            return Failure("context_too_long", told, "Ask for less at once, or start a new thread.")
        case "blocked":
            return Failure("tool_denied", "dsh's turn was blocked by one of its own rules.", "Allow a higher tier.")
        case "aborted" | "interrupted":
            return Failure("cancelled", "dsh broke its turn off without being asked to.", AGAIN)
        case other:
            return Failure("agent_error", f"dsh's turn ended as {one_line(other, 60) or 'nothing'}.", AGAIN)


def _reported(reader: Reader) -> Failure:
    status = str(reader.status or "")
    words = " ".join(filter(None, (reader.error_code, status, reader.error)))
    told = f"dsh reported: {_cause(words) or 'an error without a reason'}"
    for class_, pattern, next_step in RULES:
        if re.search(pattern, words, re.IGNORECASE):
            return Failure(class_, told, next_step)
    return Failure("agent_error", told, AGAIN)


def lost_session(refused: str) -> str:
    """Why a session can't be resumed, in words for a person, when that is what `refused` says; else empty."""
    return _cause(refused)[:400] if LOST.search(refused) and not BUSY.search(refused) else ""


def from_refusal(refused: str) -> Failure:
    """The failure of a run that dsh refused to start, with its reason."""
    told = f"dsh did not start the turn: {_cause(refused)}"
    if BUSY.search(refused):
        next_step = "Another dsh works in this session: wait until it is done, then send the mail again."
        return Failure("session_elsewhere", told, next_step)
    if lost_session(refused):
        return Failure("session_elsewhere", told, "Start a new thread.")
    if re.search(r"unknown option|unexpected argument|a task is required", refused, re.IGNORECASE):
        next_step = "The bridge and this dsh don't fit each other: update both, then run `bridge-dsh --check`."
        return Failure("bad_option", told, next_step)
    return Failure("agent_error", told, AGAIN)


def from_boot(code: int | None, stderr: str) -> Failure:
    """The failure of a dsh that ended without an end of its turn; `stderr` is its last output, secrets removed."""
    blocked = DOTENV.search(stderr)
    if blocked is not None:
        told = f"{blocked[1]} sets {blocked[2]}, and dsh does not start in a workspace whose .env sets that."
        return Failure("agent_error", told, f"Take {blocked[2]} out of that file, or choose another workspace.")
    said = [line for line in stderr.strip().splitlines() if not re.match(r"\s+at |\s*\^|Node\.js v|\s*$", line)]
    cause = _cause("\n".join(said[-6:])) or "none"
    if re.search(
        r"failed to read overlay|overlay .*(invalid|must)|unknown profile|profile .* not", cause, re.IGNORECASE
    ):
        return Failure("provider_missing", f"dsh could not read its set-up: {cause}", "Correct AGENTMAIL_DSH_PATCH.")
    how = f"by signal {-code}" if code is not None and code < 0 else f"with status {code}"
    if code is not None and code > 128:
        how = f"by signal {code - 128}"
    return Failure("crashed", f"dsh ended {how} in the middle of its turn. Its last words: {cause}", AGAIN)


def _cause(text: str) -> str:
    """The words themselves, at most 1,500 characters; the beginning tells the cause."""
    return printable(text.strip())[:1_500]
