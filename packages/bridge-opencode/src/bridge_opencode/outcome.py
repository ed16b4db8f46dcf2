"""What became of a turn, from the answer to its prompt and nothing else that could be another turn's. Pure."""

from dataclasses import dataclass
from typing import Any

from . import failures
from .events import Reader, used
from .fields import table, tables, word
from .vendor.bounded import encodable
from .vendor.redact import redact
from .vendor.turn import Outcome, StopReason
from .vendor.wire import Failure, Usage

__all__ = ["Ended", "aborted", "told"]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a turn's server was left.

    `answer` is that to the prompt (None: none came), `failure` what went wrong outside of it. `session_id` is
    opencode's own, `lost` says that it is not the one that was asked for; `silent` that the server never came up.
    """

    reader: Reader
    answer: dict[str, Any] | None = None
    failure: Failure | None = None
    session_id: str | None = None
    lost: str = ""
    stopped: StopReason | None = None
    wait_until: str | None = None
    silent: bool = False


def aborted(answer: dict[str, Any]) -> bool:
    """Whether the turn of `answer` was broken off; while a provider is waited for, that leaves no error behind."""
    info = table(answer, "info")
    error = table(info, "error")
    return word(error, "name") == "MessageAbortedError" or (not error and not word(info, "finish"))


def told(ended: Ended, secrets: tuple[str, ...] = ()) -> Outcome:
    """The outcome; `secrets` are taken out of whatever of opencode's words is shown.

    Neither an exit status nor the status of HTTP says that a turn went well (opencode#44267, #29330): only a text that
    the model finished does.
    """
    reader, answer = ended.reader, ended.answer or {}
    info = table(answer, "info")
    text, error = _text(answer), table(info, "error")
    failure = ended.failure
    if failure is None and ended.stopped is not None and (ended.answer is None or aborted(answer)):
        return _outcome(ended, info, text=reader.said, stopped=ended.stopped)
    if failure is None and ended.answer is not None:
        failure = _failure(info, error, text, reader)
    if failure is not None:
        shown = Failure(failure.class_, redact(failure.message, secrets), failure.next_step)
        return _outcome(ended, info, text=text or reader.said, failure=shown)
    return _outcome(ended, info, text=text)


def _failure(info: dict[str, Any], error: dict[str, Any], text: str, reader: Reader) -> Failure | None:
    if error:
        return failures.from_error(error)
    finish = word(info, "finish")
    if finish not in ("stop", "tool-calls"):
        return failures.unfinished(finish)
    if text.strip() and finish == "stop":
        return None
    return failures.denied(reader.denied) if reader.denied else failures.empty()


def _text(answer: dict[str, Any]) -> str:
    parts = [part for part in tables(answer.get("parts")) if word(part, "type") == "text"]
    texts = [word(part, "text") for part in parts if part.get("synthetic") is not True]
    return encodable("\n\n".join(text for text in texts if text.strip()))


def _outcome(
    ended: Ended,
    info: dict[str, Any],
    *,
    text: str,
    failure: Failure | None = None,
    stopped: StopReason | None = None,
) -> Outcome:
    reader = ended.reader
    counted = {**reader.messages, **({word(info, "id"): used(info)} if info else {})}
    taken, given, cost = (sum(each) for each in zip(*counted.values(), strict=True)) if counted else (0, 0, 0.0)
    usage = Usage(int(taken), int(given), cost or None) if taken or given else None
    return Outcome(
        text,
        failure,
        stopped,
        usage,
        ended.session_id,
        bool(ended.lost),
        ended.wait_until,
        tuple(sorted(set(reader.denied))),
        ended.lost,
    )
