"""The bridge's times in one place: how often, how long. All in seconds."""

from dataclasses import dataclass

__all__ = ["Pace"]


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a driver goes. The defaults are the contract's; tests make it quicker.

    renew: between two renewals of a lease (its time to live is 90)
    renew_again: after a renewal that got no answer
    heartbeat, heartbeat_soon: between two heartbeats, and at least between two that report a change
    progress: at least between two reports of one turn
    hard_stop: from the wish to stop a turn to the moment its processes are ended without the runner's help
    last_wait: for a runner or a turn that was cancelled
    shutdown: longest end of the whole bridge
    first_contact: longest wait of the first self-check for the subscription
    check: longest self-check
    recheck, recheck_turn: between self-checks while something is missing, and how old one may be when a turn comes
    overload: pauses before a turn is tried again that the provider turned away
    redeliver: first and longest pause between tries to deliver a kept outcome
    look_for_answer: between two looks for the answer to a permission question whose event does not come
    reclaim: before a claim that failed without a reason in the turn itself
    """

    renew: float = 30.0
    renew_again: float = 5.0
    heartbeat: float = 30.0
    heartbeat_soon: float = 2.0
    progress: float = 0.25
    hard_stop: float = 8.0
    last_wait: float = 2.0
    shutdown: float = 12.0
    recheck: float = 60.0
    recheck_turn: float = 5.0
    first_contact: float = 2.0
    check: float = 60.0
    overload: tuple[float, ...] = (10.0, 30.0, 60.0)
    redeliver: tuple[float, float] = (1.0, 30.0)
    look_for_answer: float = 10.0
    reclaim: float = 5.0
