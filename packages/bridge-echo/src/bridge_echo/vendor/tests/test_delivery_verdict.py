"""What a refusal of an outcome means, and how an outcome gets smaller until it is taken."""

import pytest

from ..delivery_verdict import LONGEST_BODY, judge, reduced
from ..gateway_errors import GatewayProblem
from ..wire import ReplyBody


@pytest.mark.parametrize(
    ("status", "code", "verdict"),
    [
        (409, "lease_stale", "stale"),
        (409, "turn_final", "over"),
        (404, "not_found", "over"),
        (404, "bad_answer", "later"),
        (200, "bad_answer", "later"),
        (401, "unauthorized", "refused"),
        (403, "forbidden", "refused"),
        (403, "foreign_host", "refused"),
        (429, "rate_limited", "later"),
        (408, "timeout", "later"),
        (500, "internal", "later"),
        (503, "unavailable", "later"),
        (413, "too_large", "reduce"),
        (422, "invalid", "reduce"),
        (409, "idempotency_mismatch", "reduce"),
        (415, "unsupported_media_type", "reduce"),
    ],
)
def test_the_whole_table(status: int, code: str, verdict: str) -> None:
    assert judge(GatewayProblem(status, code)) == verdict


def test_an_outcome_gets_smaller_each_time_and_ends() -> None:
    problem = GatewayProblem(413, "too_large", "", "too large")
    body: ReplyBody | None = ReplyBody(3, "ok", "x" * LONGEST_BODY, attachments=("att_1",))
    sizes, steps = [], []
    while body is not None:
        assert body.lease == 3
        sizes.append(len(body.body))
        steps.append((len(body.attachments), body.outcome))
        body = reduced(body, problem)
    assert steps == [(1, "ok"), (0, "ok"), (0, "ok"), (0, "failed")]
    assert sizes[2] < 17_000
    assert sizes[3] < sizes[2]
