"""From a command line to a mail."""

import pytest

from agentmail.compose import reply_recipients, reply_subject, split_arguments, wait_option
from agentmail.errors import UsageError
from agentmail.vendor.wire import AddressRef, Mail


@pytest.mark.parametrize(
    ("arguments", "recipients", "body"),
    [
        (["zcode", "hello"], ("zcode",), "hello"),
        (["zcode", "pi", "hello"], ("zcode", "pi"), "hello"),
        (["zcode,pi", "hello"], ("zcode", "pi"), "hello"),
        (["zcode"], ("zcode",), None),
        (["zcode,pi"], ("zcode", "pi"), None),
        (["zcode", "-"], ("zcode",), None),
        (["zcode", ""], ("zcode",), ""),
    ],
)
def test_the_last_of_several_arguments_is_the_text(
    arguments: list[str], recipients: tuple[str, ...], body: str | None
) -> None:
    assert split_arguments(arguments) == (recipients, body)


@pytest.mark.parametrize("arguments", [[], [","], ["", "text"]])
def test_a_mail_needs_a_recipient(arguments: list[str]) -> None:
    with pytest.raises(UsageError, match="recipient"):
        split_arguments(arguments)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["echo", "text", "--wait"], ["echo", "text", "--wait=0"]),
        (["echo", "--wait", "text"], ["echo", "--wait=0", "text"]),
        (["echo", "text", "--wait", "30"], ["echo", "text", "--wait=30"]),
        (["echo", "text", "--wait", "1.5s"], ["echo", "text", "--wait=1.5"]),
        (["echo", "--wait", "-s", "x"], ["echo", "--wait=0", "-s", "x"]),
        (["echo", "--wait=7", "x"], ["echo", "--wait=7", "x"]),
        (["echo", "--", "--wait"], ["echo", "--", "--wait"]),
    ],
)
def test_wait_takes_a_number_and_never_the_text(given: list[str], read: list[str]) -> None:
    assert wait_option(given) == read


@pytest.mark.parametrize(
    ("subject", "answered"),
    [("Tests", "Re: Tests"), ("Re: Tests", "Re: Tests"), ("RE : x", "RE : x"), ("回复: x", "Re: 回复: x"), ("", "Re:")],
)
def test_an_answer_says_so_once(subject: str, answered: str) -> None:
    assert reply_subject(subject) == answered


def _mail(sender: str, to: tuple[str, ...], cc: tuple[str, ...] = (), kind: str = "person") -> Mail:
    ref = lambda name: AddressRef(name, "person")  # noqa: E731
    return Mail(
        id="mail_1",
        thread_id="thr_1",
        from_=AddressRef(sender, kind),  # type: ignore[arg-type]
        to=tuple(map(ref, to)),
        cc=tuple(map(ref, cc)),
        subject="s",
        body="b",
        created_at="2026-01-01T00:00:00.000Z",
        in_reply_to=None,
        auto_submitted="no",
        permission_mode="plan",
        workspace=None,
    )


@pytest.mark.parametrize(
    ("mail", "everybody", "to", "cc"),
    [
        (_mail("zcode", ("ada",)), False, ("zcode",), ()),
        (_mail("ada", ("zcode", "pi")), False, ("zcode", "pi"), ()),
        (_mail("zcode", ("ada", "pi"), ("bob",)), False, ("zcode",), ()),
        (_mail("zcode", ("ada", "pi"), ("bob", "ada")), True, ("zcode", "pi"), ("bob",)),
        (_mail("ada", ("ada",)), False, ("ada",), ()),
    ],
)
def test_an_answer_goes_to_the_sender_or_to_whom_i_wrote(
    mail: Mail, everybody: bool, to: tuple[str, ...], cc: tuple[str, ...]
) -> None:
    assert reply_recipients(mail, "ada", everybody=everybody) == (to, cc)


def test_a_notice_of_the_system_is_not_answered() -> None:
    with pytest.raises(UsageError, match="notice"):
        reply_recipients(_mail("agentmail", ("ada",), kind="system"), "ada", everybody=False)
