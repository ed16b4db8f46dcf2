import pytest

from agentmail_gateway.problems import CODES, Problem


@pytest.mark.parametrize("code", CODES)
def test_a_code_has_one_status_and_one_title(code: str) -> None:
    problem = Problem(code, "what happened.", 1.5)
    assert (problem.status, problem.title) == CODES[code]
    assert (problem.code, problem.detail, problem.retry_after_s, str(problem)) == (
        code,
        "what happened.",
        1.5,
        "what happened.",
    )


def test_there_is_no_other_code() -> None:
    with pytest.raises(KeyError):
        Problem("other", "x")


def test_codes_are_words_of_the_contract() -> None:
    assert {
        "cool_down",
        "hop_limit",
        "idempotency_mismatch",
        "lease_stale",
        "not_claimable",
        "queue_full",
        "quota_mails",
        "turn_final",
        "unknown_recipient",
    } <= set(CODES)
