from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmail_gateway import checks
from agentmail_gateway.problems import Problem

ANY = st.text(st.characters() | st.sampled_from("\ud800\0\n\u202e"))


@pytest.mark.parametrize(
    ("check", "text", "code"),
    [
        (checks.clean_subject, "x" * 501, "invalid"),
        (checks.clean_body, "x" * (checks.MAX_BODY + 1), "too_large"),
        (checks.clean_body, "\udfff", "invalid"),
        (checks.clean_workspace, "x" * 501, "invalid"),
        (checks.clean_workspace, "a\nb", "invalid"),
        (checks.clean_native, "x" * 501, "invalid"),
        (checks.clean_native, "a\0b", "invalid"),
        (checks.clean_key, "", "invalid"),
        (checks.clean_key, "x" * 201, "invalid"),
        (checks.clean_key, "a\nb", "invalid"),
    ],
)
def test_what_can_not_be_taken_is_refused(check: Callable[[str], object], text: str, code: str) -> None:
    with pytest.raises(Problem) as caught:
        check(text)
    assert caught.value.code == code


@pytest.mark.parametrize("check", [checks.clean_workspace, checks.clean_native])
def test_nothing_is_nothing(check: Callable[[str | None], str | None]) -> None:
    assert check(None) is None
    assert check("") is None
    assert check("site/docs") == "site/docs"


@given(ANY)
def test_whatever_is_passed_in_the_only_error_is_a_problem(text: str) -> None:
    for check in (
        checks.clean_subject,
        checks.clean_body,
        checks.clean_workspace,
        checks.clean_native,
        checks.clean_key,
    ):
        try:
            cleaned = check(text)
        except Problem as problem:
            assert problem.status in (413, 422)  # noqa: PT017 - it may be raised or not
        else:
            (cleaned or "").encode()
