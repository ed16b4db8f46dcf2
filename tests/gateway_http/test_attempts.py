"""Failed attempts are counted in bounded memory."""

from agentmail_gateway.http.attempts import FailedAttempts


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_failures_within_the_allowance_wait_for_nothing() -> None:
    attempts = FailedAttempts(Clock(), allowed=3)
    assert [attempts.failed("a") for _ in range(3)] == [0, 0, 0]
    assert attempts.failed("a") == 60
    assert attempts.wait_s("a") == 60


def test_the_wait_ends_with_the_window() -> None:
    clock = Clock()
    attempts = FailedAttempts(clock, allowed=1, window_s=60)
    attempts.failed("a")
    clock.now += 45
    assert attempts.failed("a") == 15
    clock.now += 15
    assert attempts.wait_s("a") == 0
    assert attempts.failed("a") == 0


def test_addresses_are_counted_apart() -> None:
    attempts = FailedAttempts(Clock(), allowed=1)
    attempts.failed("a")
    attempts.failed("a")
    assert attempts.wait_s("b") == 0


def test_the_address_not_seen_for_longest_is_forgotten() -> None:
    attempts = FailedAttempts(Clock(), allowed=1, addresses=100)
    for number in range(1000):
        attempts.failed(str(number))
    assert len(attempts) == 100
    assert attempts.wait_s("999") == 60
    assert attempts.wait_s("0") == 0
