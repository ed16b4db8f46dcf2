"""What a turn's ending says to the one who wrote: the answer, the failure mail, the words of each class. Pure."""

from collections.abc import Iterable, Sequence

from .bounded import clip
from .plain_text import one_line, printable
from .redact import redact
from .wire import Failure

__all__ = [
    "LONGEST_ANSWER",
    "answer_body",
    "bridge_fault",
    "empty_answer",
    "failure_body",
    "made_safe",
    "missing_attachment",
    "timed_out",
]

LONGEST_ANSWER = 6 * 1024 * 1024
LONGEST_PARTIAL = 16 * 1024
LONGEST_MESSAGE = 8 * 1024
MOST_TOOLS = 20


def answer_body(text: str, *, note: str = "", denied_tools: Sequence[str] = (), remarks: Iterable[str] = ()) -> str:
    """The body of an answer: the agent's `text`, then, below a line, what the bridge has to say about the turn.

    `note` and each of `remarks` are paragraphs, `denied_tools` names of tools that the tier denied. At most
    `LONGEST_ANSWER` bytes: of a longer text the middle is left out, with a marker.
    """
    below = [printable(remark).strip() for remark in remarks if remark.strip()]
    if denied_tools:
        names = list(dict.fromkeys(one_line(tool, 80) for tool in denied_tools))
        more = f" and {len(names) - MOST_TOOLS} more" if len(names) > MOST_TOOLS else ""
        below.append(f"Denied by this turn's tier: {', '.join(names[:MOST_TOOLS])}{more}.")
    if note.strip():
        below.append(printable(note).strip())
    tail = "\n\n---\n" + "\n\n".join(clip(remark, LONGEST_MESSAGE) for remark in below) if below else ""
    return clip(printable(text).strip("\n"), LONGEST_ANSWER - len(tail.encode()), "middle") + tail


def failure_body(failure: Failure, *, partial: str = "", remarks: Iterable[str] = ()) -> str:
    """The body of a failure mail: the cause, the next step, remarks, and what the agent had said until then."""
    parts = [failure.message, failure.next_step, *remarks]
    if partial.strip():
        parts.append("What it said until then:\n\n" + clip(printable(partial).strip("\n"), LONGEST_PARTIAL, "tail"))
    return "\n\n".join(printable(part).strip() for part in parts if part.strip())


def made_safe(failure: Failure, known: Iterable[str] = ()) -> Failure:
    """`failure` with secrets removed (`known` ones and what looks like one) and its texts bounded."""
    known = tuple(known)
    return Failure(
        failure.class_,
        clip(redact(failure.message, known), LONGEST_MESSAGE, "middle"),
        clip(redact(failure.next_step, known), LONGEST_MESSAGE, "middle"),
    )


def timed_out(limit_s: float) -> Failure:
    """The failure of a turn that the bridge's clock stopped after `limit_s` seconds."""
    limit = f"{limit_s / 60:.0f} minutes" if limit_s >= 120 else f"{limit_s:g} seconds"
    return Failure(
        "timed_out",
        f"The turn was stopped: it was not done after {limit}, the limit of this bridge.",
        "What it changed stays changed. Ask for less at once, or have AGENTMAIL_TURN_TIMEOUT_S raised at the bridge.",
    )


def empty_answer() -> Failure:
    """The failure of a turn that ended well and said nothing."""
    message = "The agent ended its turn without saying anything."
    return Failure("empty_answer", message, "Write again in this thread, and ask for what you want to read.")


def bridge_fault(error: BaseException) -> Failure:
    """The failure of a turn in which the bridge itself went wrong; the error's own words are shown, bounded."""
    said = one_line(str(error), 300)
    return Failure(
        "bridge_error",
        f"The bridge failed while it worked on this mail: {type(error).__name__}{f' ({said})' if said else ''}.",
        "Write again to try once more. The bridge's log has the details.",
    )


def missing_attachment(name: str, why: str) -> Failure:
    """The failure of a turn whose attachment could not be fetched."""
    return Failure(
        "bridge_error",
        f"The attachment {one_line(name, 120)} could not be fetched: {one_line(why, 300)}",
        "Send the mail again with the attachment.",
    )
