from typing import Any, get_args

import msgspec
import pytest

from ..explicit_sends import Told, answered_already, told
from ..wire import AddressRef, Mail, TurnState

ADA, ZCODE, EVE = AddressRef("ada", "person"), AddressRef("zcode", "agent"), AddressRef("eve", "agent")
ASKED = Mail(
    id="mail_1",
    thread_id="thr_1",
    from_=ADA,
    to=(ZCODE,),
    cc=(),
    subject="",
    body="",
    created_at="2026-11-30T10:00:00.000Z",
    in_reply_to=None,
    auto_submitted="no",
    permission_mode="plan",
    workspace=None,
)
OWN = msgspec.structs.replace(ASKED, id="mail_2", from_=ZCODE, to=(ADA,), created_at="2026-11-30T10:05:00.000Z")


def _answered(**changes: Any) -> bool:
    mail = msgspec.structs.replace(OWN, **changes)
    return answered_already([ASKED, mail], agent="zcode", turn_mail=ASKED, since="2026-11-30T10:05:00.000Z")


def test_a_mail_by_the_agent_to_the_sender_answers_the_turn() -> None:
    assert _answered()
    assert _answered(created_at="2026-11-30T10:05:00.001Z")
    assert _answered(to=(EVE,), cc=(EVE, ADA))
    assert _answered(in_reply_to="mail_0")


@pytest.mark.parametrize(
    "changes",
    [
        {"auto_submitted": "auto-replied"},
        {"auto_submitted": "auto-generated"},
        {"from_": EVE},
        {"from_": AddressRef("zcode", "person")},
        {"to": (EVE,)},
        {"to": ()},
        {"thread_id": "thr_2"},
        {"created_at": "2026-11-30T10:04:59.999Z"},
        {"id": "mail_1"},
    ],
)
def test_any_other_mail_does_not(changes: dict[str, Any]) -> None:
    assert not _answered(**changes)


def test_an_agent_that_wrote_to_itself_has_not_answered_by_that() -> None:
    own = msgspec.structs.replace(ASKED, from_=ZCODE)
    assert not answered_already([own], agent="zcode", turn_mail=own, since="2026-11-30T10:00:00.000Z")


def test_an_empty_thread_answers_nothing() -> None:
    assert not answered_already([], agent="zcode", turn_mail=ASKED, since="")


@pytest.mark.parametrize(
    ("state", "mail_id", "expected"),
    [
        ("answered", "mail_3", Told("bridge", "answered: mail_3")),
        (
            "answered_by_agent",
            None,
            Told("agent", "answered by the agent's own mail; its final text was not sent as well"),
        ),
        ("failed", "mail_3", Told("bridge", "failed, and the sender was told: mail_3")),
        ("failed", None, Told("nobody", "failed")),
        ("no_reply", None, Told("nobody", "ended; nobody waits for an answer")),
        ("cancelled", None, Told("nobody", "cancelled by its sender")),
        ("running", None, Told("nobody", "goes on (running)")),
    ],
)
def test_an_end_is_told(state: TurnState, mail_id: str | None, expected: Told) -> None:
    assert told(state, mail_id) == expected


def test_every_state_is_told_differently() -> None:
    states = get_args(TurnState)
    assert len({told(state).line for state in states}) == len(states) == 9
