"""What signals mean to `up`."""

import pytest

from agentmail.up.patience import Patience


@pytest.mark.parametrize(
    ("signals", "meant"),
    [
        ([(0.0, True)], ["stop"]),
        ([(0.0, False)], ["stop"]),
        ([(0.0, True), (0.1, True)], ["stop", None]),
        ([(0.0, True), (1.0, True)], ["stop", "force"]),
        ([(0.0, False), (0.0, False), (9.0, False)], ["stop", None, None]),
        ([(0.0, False), (1.0, True)], ["stop", "force"]),
        ([(0.0, True), (0.1, True), (0.7, True)], ["stop", None, "force"]),
    ],
)
def test_only_a_persons_later_signal_forces(signals: list[tuple[float, bool]], meant: list[str | None]) -> None:
    now = [0.0]
    patience = Patience(lambda: now[0])
    seen = []
    for at, by_person in signals:
        now[0] = at
        seen.append(patience.take(by_person=by_person))
    assert seen == meant
