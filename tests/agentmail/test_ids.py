"""Short forms of ids."""

from collections.abc import AsyncIterator

import pytest

from agentmail.errors import CliError, RefusedError, UsageError
from agentmail.ids import matching

A = "mail_" + "0193aaaa" + "0" * 16 + "1111cafe"
B = "mail_" + "0193aaab" + "0" * 16 + "2222beef"


async def _candidates() -> AsyncIterator[str]:
    for candidate in (A, B):
        yield candidate


class _NoLook:
    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        raise AssertionError("a whole id needs no look")


@pytest.mark.parametrize("typed", ["cafe", "1111cafe", "mail_0193aaaa", "0193aaaa", "…cafe", A])
async def test_enough_of_the_start_or_end_is_enough(typed: str) -> None:
    assert await matching(typed, "mail", _candidates()) == A


async def test_a_whole_id_is_taken_as_it_is() -> None:
    assert await matching("mail_" + "f" * 32, "mail", _NoLook()) == "mail_" + "f" * 32


async def test_what_is_near_is_meant_and_nothing_more_is_read() -> None:
    read = 0

    async def many() -> AsyncIterator[str]:
        nonlocal read
        for candidate in (A, *(f"mail_{number:032x}" for number in range(5_000)), B):
            read += 1
            yield candidate

    assert await matching("0193aa", "mail", many()) == A
    assert read == 2_000
    assert await matching("beef", "mail", many()) == B


@pytest.mark.parametrize(
    ("typed", "error", "message"),
    [
        ("0193", RefusedError, "2 ids fit 0193"),
        ("dddd", RefusedError, "no mail with an id like dddd"),
        ("caf", UsageError, "not the id of a mail"),
        ("turn_cafe", UsageError, "not the id of a mail"),
        ("turn_" + "0" * 32, UsageError, "not the id of a mail"),
        ("../../x", UsageError, "not the id of a mail"),
    ],
)
async def test_what_fits_none_or_several_is_told(typed: str, error: type[CliError], message: str) -> None:
    with pytest.raises(error, match=message):
        await matching(typed, "mail", _candidates())
