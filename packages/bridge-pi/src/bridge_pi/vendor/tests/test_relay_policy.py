from itertools import product

import pytest

from .. import relay_policy
from ..relay_policy import Decision, Ending, Fail, Finish, Nothing, Reply, decide, may_start
from ..wire import AutoSubmitted, Kind

SENDERS: tuple[Kind, ...] = ("person", "agent", "system")
AUTO: tuple[AutoSubmitted, ...] = ("no", "auto-replied", "auto-generated")
ENDINGS: tuple[Ending, ...] = ("text", "empty", "failed", "cancelled", "lease_lost")
MAILS = list(product(SENDERS, (False, True), AUTO))
EVERY = list(product(MAILS, (False, True), ENDINGS, (False, True)))

BY_AGENT, NO_REPLY, CANCELLED = Finish("answered_by_agent"), Finish("no_reply"), Finish("cancelled")
# (who wrote, is the agent known to have answered) -> what becomes of each of ENDINGS
TABLE: dict[tuple[str, bool], tuple[Decision, ...]] = {
    ("owed", False): (Reply(), Fail(), Fail(), CANCELLED, Nothing()),
    ("owed", True): (BY_AGENT, BY_AGENT, Fail(), CANCELLED, Nothing()),
    ("not owed", False): (NO_REPLY, NO_REPLY, Fail(), CANCELLED, Nothing()),
    ("not owed", True): (BY_AGENT, BY_AGENT, Fail(), CANCELLED, Nothing()),
    ("silent", False): (NO_REPLY, NO_REPLY, NO_REPLY, CANCELLED, Nothing()),
    ("silent", True): (NO_REPLY, NO_REPLY, NO_REPLY, CANCELLED, Nothing()),
}


def _who(sender: Kind, own: bool, auto: AutoSubmitted, owed: bool) -> str:
    if sender == "system" or own or auto != "no":
        return "silent"
    return "owed" if sender == "person" and owed else "not owed"


def test_every_combination_is_decided_as_the_table_says() -> None:
    assert len(EVERY) == 3 * 2 * 3 * 2 * 5 * 2
    for (sender, own, auto), owed, ending, answered in EVERY:
        got = decide(
            sender=sender,
            own=own,
            auto_submitted=auto,
            reply_owed=owed,
            ending=ending,
            answered_by_agent=answered,
        )
        expected = TABLE[_who(sender, own, auto, owed), answered][ENDINGS.index(ending)]
        assert got == expected, (sender, own, auto, owed, ending, answered)


def test_every_combination_starts_a_turn_or_not() -> None:
    starting = [mail for mail in MAILS if may_start(sender=mail[0], own=mail[1], auto_submitted=mail[2])]
    assert starting == [("person", False, "no"), ("agent", False, "no")]


def test_an_agent_is_never_answered_by_a_bridge() -> None:
    """nanobot#3215: whatever else holds, text goes to people only, and never to oneself or to a machine"""
    for (sender, own, auto), owed, ending, answered in EVERY:
        got = decide(
            sender=sender, own=own, auto_submitted=auto, reply_owed=owed, ending=ending, answered_by_agent=answered
        )
        if got == Reply():
            assert (sender, own, auto, owed, ending, answered) == ("person", False, "no", True, "text", False)


@pytest.mark.parametrize("sender", ["person", "agent"])
@pytest.mark.parametrize("answered", [False, True])
def test_a_failure_is_always_told_to_people_and_agents(sender: Kind, answered: bool) -> None:
    got = decide(
        sender=sender,
        own=False,
        auto_submitted="no",
        reply_owed=sender == "person",
        ending="failed",
        answered_by_agent=answered,
    )
    assert got == Fail()


def test_the_table_in_the_modules_text_is_the_one_that_is_tested() -> None:
    names = {"Reply": Reply(), "Fail": Fail(), "Nothing": Nothing()}
    names |= {"Finish(a)": BY_AGENT, "Finish(n)": NO_REPLY, "Finish(cancelled)": CANCELLED}
    rows = {
        "a person": ("owed", False),
        "a person, agent answered": ("owed", True),
        "an agent": ("not owed", False),
        "an agent, agent answered": ("not owed", True),
        "itself, a machine": ("silent", False),
    }
    found = 0
    for line in (relay_policy.__doc__ or "").splitlines():
        columns = [column.strip() for column in line.strip().split("  ") if column.strip()]
        if columns and columns[0] in rows:
            assert tuple(names[column] for column in columns[1:]) == TABLE[rows[columns[0]]]
            found += 1
    assert found == len(rows)
