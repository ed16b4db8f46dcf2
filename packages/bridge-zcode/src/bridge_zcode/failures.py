"""Whether a run of ZCode succeeded, and if not, why. Pure.

Success is never the exit code alone: ZCode exits 0 after a cancelled turn (zai-org/feedback#174), with every tool
denied and with an empty answer, and there is no contract for its exit codes (zai-org/feedback#418). It is: exit 0, a
result line, a non-empty answer, and a result type that is `success` or absent.
"""

from dataclasses import dataclass

from .error_lines import LONG_WINDOW_CODES, RELEASE_SWAP, class_of, error_line, provider_code, readable
from .events import Facts
from .failure_texts import failure
from .vendor.wire import Failure, FailureClass

__all__ = ["Run", "failure_of", "lost_session", "passing_fault", "quota_message"]

_EXIT_SIGNALS = {129: "SIGHUP", 130: "SIGINT", 143: "SIGTERM"}
_RESULT_TYPES: dict[str, tuple[FailureClass, str]] = {
    "cancelled": ("cancelled", ""),
    "error_max_turns": ("agent_error", "ZCode stopped at its limit of model turns."),
    "error_max_budget": ("agent_error", "ZCode stopped at its budget."),
    "error_max_tool_calls": ("agent_error", "ZCode stopped at its limit of tool calls."),
    "error_during_execution": ("agent_error", "ZCode stopped with an error while it worked."),
}


@dataclass(frozen=True, slots=True)
class Run:
    """How one process ended: what its stdout said, its exit code (negative: that signal), the end of its stderr."""

    facts: Facts
    exit_code: int
    stderr: str


def failure_of(run: Run) -> Failure | None:
    """Why `run` is no success, or None if it is one. Denied tools beside an answer are a success."""
    facts = run.facts
    if run.exit_code != 0:
        return _reported(run) or _ended(run.exit_code, _cause(run))
    if facts.result_type not in {None, "success"}:
        class_, happened = _RESULT_TYPES.get(facts.result_type or "", ("agent_error", ""))
        return failure(class_, _cause(run), happened=happened or f"ZCode ended the turn as {facts.result_type}.")
    if not facts.result_seen:
        return _reported(run) or failure("crashed", _cause(run), happened="ZCode ended without giving a result.")
    if facts.text.strip():
        return None
    if facts.turn_error is not None:
        return _reported(run)
    if facts.tools.denied:
        return failure("tool_denied", f"denied were {', '.join(facts.tools.denied[:10])}")
    return failure("empty_answer")


def _reported(run: Run) -> Failure | None:
    """The failure that ZCode itself named: what has a class goes before what has none."""
    for error in (run.facts.turn_error, run.facts.request_error):
        class_ = None if error is None else class_of(error)
        if error is not None and class_ is not None:
            return failure(class_, readable(error.message))
    line = error_line(run.stderr) or error_line(run.facts.first_noise)
    if line is not None and line[1] != "agent_error":
        return failure(line[1], line[0])
    if run.facts.turn_error is not None:
        return failure("agent_error", readable(run.facts.turn_error.message) or (line[0] if line else ""))
    return None if line is None else failure("agent_error", line[0])


def _ended(exit_code: int, cause: str) -> Failure:
    signal = _EXIT_SIGNALS.get(exit_code) or (f"signal {-exit_code}" if exit_code < 0 else "")
    how = f"was ended by {signal}" if signal else f"ended with exit code {exit_code}"
    return failure("crashed", cause, happened=f"ZCode {how} before it was done.")


def _cause(run: Run) -> str:
    return run.stderr.strip() or run.facts.first_noise


def quota_message(facts: Facts) -> tuple[str, bool]:
    """The provider's words on a used-up quota (they name its end), and whether it is a weekly or monthly one."""
    for error in (facts.request_error, facts.turn_error):
        if error is not None and class_of(error) == "quota":
            return error.message, provider_code(error) in LONG_WINDOW_CODES
    return "", False


def lost_session(run: Run) -> bool:
    """Whether a run that resumed a session failed in a way in which a fresh one may do better.

    An unknown id fails before the turn starts; a session whose saved model is no longer valid fails for want of a
    model (kingsword09/zcode-cli#160, #161; open-ace#1075, #1150). A turn that did start and then failed keeps its
    session: the next one may well go on with it.
    """
    found = failure_of(run)
    if found is None or run.exit_code != 1 or run.facts.tools.ran or run.facts.text.strip():
        return False
    return found.class_ == "no_model" or (found.class_ in {"agent_error", "crashed"} and not run.facts.turn_started)


def passing_fault(run: Run) -> bool:
    """Whether ZCode's own files were being exchanged by an update at that moment: a little later it works."""
    return run.exit_code == 1 and any(line.strip().endswith(RELEASE_SWAP) for line in run.stderr.splitlines())
