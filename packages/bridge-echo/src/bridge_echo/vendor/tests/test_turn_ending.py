"""What becomes of an outcome: every outcome, every reason to stop, every sender."""

from itertools import product

import pytest

from ..turn import Outcome, StopReason
from ..turn_ending import SHUTDOWN, Circumstances, conclude, is_empty
from ..wire import (
    AddressRef,
    Claim,
    ClaimThread,
    Failure,
    FinishBody,
    Kind,
    Mail,
    ReleaseBody,
    ReplyBody,
    Session,
    Usage,
)

NOW = 1_796_000_000.0
FAILED = Failure("crashed", "cause", "step")
OUTCOMES = {
    "text": Outcome(text="answer"),
    "empty": Outcome(text=" "),
    "empty class": Outcome(failure=Failure("empty_answer", "nothing", "ask")),
    "failed": Outcome(failure=FAILED),
    "quota": Outcome(failure=Failure("quota", "q", "w"), wait_until="2026-11-30T02:00:00Z"),
    "stopped": Outcome(text="half", stopped="timed_out"),
}


def claim_from(sender: Kind) -> Claim:
    mail = Mail("mail_1", "thr_1", AddressRef("ada", sender), (), (), "", "", "", None, "no", "plan", None)
    return Claim(
        "turn_1", 7, "", 1, "amt_k", mail, ClaimThread("thr_1", ()), Session(None), "plan", "", sender == "person"
    )


def around(*, answered: bool = False, remarks: tuple[str, ...] = ()) -> Circumstances:
    return Circumstances(
        own=False,
        answered_by_agent=answered,
        remarks=remarks,
        left_files=("x (a link)",),
        workspace="site",
        context_lost=False,
        duration_s=1.5,
        limit_s=60.0,
        now=NOW,
        secrets=("s3cret-word",),
    )


def expected(outcome: str, stop: StopReason | None, sender: Kind) -> str:
    if stop == "lease_lost":
        return "nothing"
    if stop == "cancelled":
        return "finish cancelled"
    if outcome == "text":
        return "reply ok" if sender == "person" else "finish no_reply"
    if stop == "shutdown":
        return "release"
    if stop == "timed_out" or outcome == "stopped":
        return "reply failed timed_out"
    if outcome == "quota":
        return "release quota"
    if outcome.startswith("empty"):
        return "reply failed empty_answer" if sender == "person" else "finish no_reply"
    return "reply failed crashed"


@pytest.mark.parametrize(
    ("outcome", "stop", "sender"),
    list(product(OUTCOMES, (None, "cancelled", "timed_out", "shutdown", "lease_lost"), ("person", "agent"))),
)
def test_the_whole_table(outcome: str, stop: StopReason | None, sender: Kind) -> None:
    made = conclude(claim_from(sender), OUTCOMES[outcome], stop, around())
    match made:
        case None:
            told = "nothing"
        case FinishBody():
            told = f"finish {made.outcome}"
        case ReleaseBody():
            told = "release quota" if made.failure is not None else "release"
            assert made.failure is not None or made.reason == SHUTDOWN
        case ReplyBody():
            told = f"reply {made.outcome}" + (f" {made.failure.class_}" if made.failure is not None else "")
            assert made.workspace == "site"
            assert made.usage is not None
            assert made.usage.duration_ms == 1500
    assert told == expected(outcome, stop, sender)
    assert made is None or made.lease == 7


def test_an_empty_end_is_no_failure_when_the_agent_mailed_the_sender_itself() -> None:
    made = conclude(claim_from("person"), OUTCOMES["empty"], None, around(answered=True))
    assert isinstance(made, FinishBody)
    assert made.outcome == "answered_by_agent"


def test_an_answer_carries_remarks_denied_tools_lost_context_and_left_files() -> None:
    outcome = Outcome(
        text="answer", context_lost=True, denied_tools=("Bash",), note="a note", usage=Usage(1, 2, 0.5, 9)
    )
    made = conclude(claim_from("person"), outcome, None, around(remarks=("It ran lower.",)))
    assert isinstance(made, ReplyBody)
    for words in ("It ran lower.", "Bash", "a note", "started afresh", "Not attached: x (a link)."):
        assert words in made.body
    assert made.context_lost
    assert made.usage == Usage(1, 2, 0.5, 9)


def test_a_failure_shows_no_secret_the_bridge_knows() -> None:
    made = conclude(claim_from("person"), Outcome(failure=Failure("crashed", "s3cret-word", "")), None, around())
    assert isinstance(made, ReplyBody)
    assert "s3cret-word" not in made.body


@pytest.mark.parametrize(
    ("until", "not_before"),
    [
        ("2026-11-30T02:00:00Z", "2026-11-30T02:00:00.000Z"),
        ("2026-11-30T03:00:00+01:00", "2026-11-30T02:00:00.000Z"),
        ("2026-11-30T00:53:21Z", "2026-11-30T00:54:20.000Z"),
        ("2026-11-30T02:00:00", None),
        ("2027-11-30T02:00:00Z", None),
        ("at noon", None),
    ],
)
def test_a_quotas_time_is_taken_only_within_bounds(until: str, not_before: str | None) -> None:
    made = conclude(claim_from("person"), Outcome(failure=Failure("quota", "q", ""), wait_until=until), None, around())
    if not_before is None:
        assert isinstance(made, ReplyBody)
    else:
        assert isinstance(made, ReleaseBody)
        assert made.not_before == not_before


def test_what_counts_as_empty() -> None:
    assert [name for name, outcome in OUTCOMES.items() if is_empty(outcome)] == ["empty", "empty class"]
