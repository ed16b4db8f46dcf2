from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ..catchup import Catchup
from ..wire import FINAL_STATES, Turn, TurnState


def _turn(turn_id: str, state: TurnState = "queued") -> Turn:
    return Turn(turn_id, "mail_1", "thr_1", "zcode", state, 0, 0, "2026-11-30T10:00:00.000Z")


def _listed(catchup: Catchup, *turn_ids: str) -> None:
    catchup.offer_page(catchup.begin_list(), [_turn(turn_id) for turn_id in turn_ids], last=True)


def _mail(catchup: Catchup, event_id: int | str | None, turn_id: str | None) -> bool:
    data = {"mail_id": "mail_1", "thread_id": "thr_1"} | ({"turn_id": turn_id} if turn_id else {})
    return catchup.event(None if event_id is None else str(event_id), "new_mail", data)


def _state(catchup: Catchup, event_id: int, turn_id: str, state: str = "queued") -> bool:
    return catchup.event(str(event_id), "turn_state", {"turn_id": turn_id, "state": state})


def _offered(catchup: Catchup) -> list[str]:
    offered = []
    while (turn_id := catchup.next()) is not None:
        offered.append(turn_id)
    return offered


def test_mail_that_came_during_downtime_is_answered() -> None:
    """hermes-agent#80925"""
    catchup = Catchup()
    _listed(catchup, "turn_1", "turn_2")
    assert catchup.waiting == 2
    assert _offered(catchup) == ["turn_1", "turn_2"]
    assert catchup.waiting == 0


def test_old_mail_is_not_replayed() -> None:
    """hermes-agent#60637: neither an old page nor a repeated event brings back what reached its end"""
    catchup = Catchup()
    listing = catchup.begin_list()
    _mail(catchup, 7, "turn_1")
    assert catchup.next() == "turn_1"
    catchup.settle("turn_1", final=True)
    catchup.offer_page(listing, [_turn("turn_1")], last=True)
    assert not _mail(catchup, 7, "turn_1")
    assert _mail(catchup, None, "turn_1")
    assert _offered(catchup) == []


def test_a_mail_that_comes_twice_is_offered_once() -> None:
    """cc-connect#733: by the stream and by the list, in either order, waiting or in hand"""
    catchup = Catchup()
    _mail(catchup, 1, "turn_1")
    _listed(catchup, "turn_1")
    assert _mail(catchup, 2, "turn_1")
    assert catchup.waiting == 1
    assert catchup.next() == "turn_1"
    assert _mail(catchup, 3, "turn_1")
    assert _offered(catchup) == []
    catchup.settle("turn_1", final=True)
    assert _offered(catchup) == []


@pytest.mark.parametrize(
    ("ids", "fresh", "cursor"),
    [
        (["1", "2", "3"], [True, True, True], "3"),
        (["1", "1", "2", "1", "2"], [True, False, True, False, False], "2"),
        (["9", "10", "9"], [True, True, False], "10"),
        ([None, "4", None, "4"], [True, True, True, False], "4"),
        (["a", "a", "b"], [True, False, True], "b"),
        (["4", "", "4"], [True, True, True], "4"),
    ],
)
def test_a_repeated_event_is_told(ids: list[str | None], fresh: list[bool], cursor: str) -> None:
    catchup = Catchup()
    assert [catchup.event(event_id, "turn_cancel", {"turn_id": "turn_1"}) for event_id in ids] == fresh
    assert catchup.cursor == cursor
    assert catchup.waiting == 0


def test_the_oldest_turn_comes_first_wherever_it_came_from() -> None:
    catchup = Catchup()
    _mail(catchup, 1, "turn_5")
    _mail(catchup, 2, "turn_3")
    _listed(catchup, "turn_4", "turn_1")
    assert catchup.next() == "turn_1"
    _state(catchup, 3, "turn_2")
    assert _offered(catchup) == ["turn_2", "turn_3", "turn_4", "turn_5"]


@pytest.mark.parametrize("last", [False, True])
def test_the_list_is_to_be_read_at_first_and_counts_as_read_with_its_last_page(last: bool) -> None:
    catchup = Catchup()
    assert catchup.needs_list
    listing = catchup.begin_list()
    catchup.offer_page(listing, [_turn("turn_1")], last=False)
    assert catchup.needs_list
    catchup.offer_page(listing, [_turn("turn_2")], last=last)
    assert catchup.needs_list is not last


@pytest.mark.parametrize("interrupt", ["reset", "lost", "begin_list"])
def test_pages_of_a_reading_that_ended_early_do_not_count(interrupt: str) -> None:
    catchup = Catchup()
    listing = catchup.begin_list()
    getattr(catchup, interrupt)()
    catchup.offer_page(listing, [_turn("turn_1")], last=True)
    assert catchup.needs_list
    assert catchup.waiting == 0


def test_a_reset_starts_over() -> None:
    """opencode#25657: without replay on the stream, the list finds what was missed"""
    catchup = Catchup()
    _listed(catchup, "turn_1", "turn_2", "turn_3")
    assert catchup.next() == "turn_1"
    catchup.settle("turn_1", final=True)
    assert catchup.next() == "turn_2"
    _mail(catchup, 50, "turn_4")
    assert catchup.event("7", "reset", {"reason": "cursor unknown"})
    assert (catchup.cursor, catchup.needs_list, catchup.waiting) == ("7", True, 0)
    assert not _mail(catchup, 7, "turn_5")
    _listed(catchup, "turn_1", "turn_3")
    assert _offered(catchup) == ["turn_1", "turn_3"]


@pytest.mark.parametrize("by_event", [False, True])
def test_a_reset_without_an_id_forgets_the_cursor(by_event: bool) -> None:
    catchup = Catchup()
    _mail(catchup, 50, "turn_4")
    if by_event:
        catchup.event(None, "reset", {})
    else:
        catchup.reset()
    assert catchup.cursor is None
    assert _mail(catchup, 3, "turn_1")


def test_what_may_have_been_missed_is_listed_and_what_is_known_stays() -> None:
    catchup = Catchup()
    _listed(catchup, "turn_2")
    _mail(catchup, 5, None)
    catchup.lost()
    assert (catchup.needs_list, catchup.cursor, catchup.waiting) == (True, "5", 1)
    _listed(catchup, "turn_2", "turn_3")
    assert _offered(catchup) == ["turn_2", "turn_3"]


def test_a_list_that_was_begun_after_a_turn_ended_knows_better() -> None:
    """A dead letter that was retried while the stream was down."""
    catchup = Catchup()
    _listed(catchup, "turn_1")
    assert catchup.next() == "turn_1"
    catchup.settle("turn_1", final=True)
    catchup.lost()
    _listed(catchup, "turn_1")
    assert _offered(catchup) == ["turn_1"]


def test_a_turn_that_is_queued_again_is_offered_again() -> None:
    catchup = Catchup()
    _listed(catchup, "turn_1")
    assert catchup.next() == "turn_1"
    catchup.settle("turn_1", final=True)
    _state(catchup, 1, "turn_1")
    assert _offered(catchup) == ["turn_1"]


def test_a_turn_that_was_queued_again_and_refused_is_found_by_a_list_that_is_being_read() -> None:
    catchup = Catchup()
    _mail(catchup, 1, "turn_1")
    listing = catchup.begin_list()
    assert catchup.next() == "turn_1"
    catchup.settle("turn_1", final=True)
    _state(catchup, 2, "turn_1")
    assert catchup.next() == "turn_1"
    catchup.settle("turn_1", final=False)
    catchup.offer_page(listing, [_turn("turn_1")], last=True)
    assert _offered(catchup) == ["turn_1"]


def test_a_turn_that_ended_after_it_was_said_to_be_queued_is_not_offered() -> None:
    catchup = Catchup()
    _listed(catchup, "turn_1")
    assert catchup.next() == "turn_1"
    _state(catchup, 1, "turn_1", "queued")
    _state(catchup, 2, "turn_1", "cancelled")
    catchup.settle("turn_1", final=False)
    assert _offered(catchup) == []


def test_a_turn_said_to_be_queued_before_a_reset_is_offered_when_it_is_out_of_hand() -> None:
    catchup = Catchup()
    _listed(catchup, "turn_1")
    assert catchup.next() == "turn_1"
    _state(catchup, 1, "turn_1")
    catchup.reset()
    catchup.settle("turn_1", final=True)
    assert _offered(catchup) == ["turn_1"]


@pytest.mark.parametrize("final", [False, True])
def test_a_turn_said_to_be_queued_while_it_is_in_hand_is_offered_after_that(final: bool) -> None:
    catchup = Catchup()
    _listed(catchup, "turn_1")
    assert catchup.next() == "turn_1"
    _state(catchup, 1, "turn_1")
    assert _offered(catchup) == []
    catchup.settle("turn_1", final=final)
    assert _offered(catchup) == ["turn_1"]
    catchup.settle("turn_1", final=final)
    assert _offered(catchup) == []


@pytest.mark.parametrize("final", [False, True])
def test_a_turn_listed_while_it_is_in_hand_is_offered_after_that_unless_it_ended(final: bool) -> None:
    catchup = Catchup()
    _listed(catchup, "turn_1")
    assert catchup.next() == "turn_1"
    _listed(catchup, "turn_1")
    assert _offered(catchup) == []
    catchup.settle("turn_1", final=final)
    assert _offered(catchup) == ([] if final else ["turn_1"])


@pytest.mark.parametrize("state", sorted(FINAL_STATES))
def test_a_waiting_turn_that_ended_elsewhere_is_not_offered(state: TurnState) -> None:
    catchup = Catchup()
    _listed(catchup, "turn_1", "turn_2")
    listing = catchup.begin_list()
    _state(catchup, 1, "turn_1", state)
    assert _offered(catchup) == ["turn_2"]
    catchup.offer_page(listing, [_turn("turn_1")], last=True)
    assert _offered(catchup) == []


def test_only_queued_turns_of_a_list_are_offered() -> None:
    catchup = Catchup()
    states: list[TurnState] = ["queued", "leased", "running", *FINAL_STATES]
    turns = [_turn(f"turn_{number}", state) for number, state in enumerate(states)]
    catchup.offer_page(catchup.begin_list(), turns, last=True)
    assert _offered(catchup) == ["turn_0"]


@pytest.mark.parametrize("data", [{}, {"turn_id": None}, {"turn_id": ""}, {"turn_id": 7}, {"turn_id": ["turn_1"]}])
@pytest.mark.parametrize("kind", ["new_mail", "turn_state", "turn_cancel", "something new"])
def test_an_event_without_a_turn_only_moves_the_cursor(kind: str, data: dict[str, Any]) -> None:
    catchup = Catchup()
    assert catchup.event("3", kind, data | {"state": "queued"})
    assert (catchup.cursor, catchup.waiting) == ("3", 0)


def test_settling_what_is_not_in_hand_does_no_harm() -> None:
    catchup = Catchup()
    catchup.settle("turn_1", final=False)
    _listed(catchup, "turn_1")
    assert _offered(catchup) == ["turn_1"]


def test_what_is_kept_in_mind_is_bounded() -> None:
    catchup = Catchup(remembered=3)
    listing = catchup.begin_list()
    for number in range(10):
        _mail(catchup, number + 1, f"turn_{number}")
        assert catchup.next() == f"turn_{number}"
        catchup.settle(f"turn_{number}", final=True)
    catchup.offer_page(listing, [_turn("turn_0"), _turn("turn_9")], last=True)
    assert _offered(catchup) == ["turn_0"]


class _Gateway:
    """A ledger and its event log in small, with a stream that repeats, stalls and breaks, and lists that are late."""

    def __init__(self) -> None:
        self.catchup = Catchup()
        self.states: dict[str, str] = {}
        self.log: list[tuple[int, str, dict[str, object]]] = []
        self.read = 0
        self.in_hand: list[str] = []
        self.pages: list[tuple[int, list[Turn], bool]] = []
        self.refused = 0

    def emit(self, kind: str, **data: object) -> None:
        self.log.append((len(self.log) + 1, kind, data))

    def step(self, what: str, pick: int) -> None:
        turns = sorted(self.states)
        some = turns[pick % len(turns)] if turns else ""
        match what:
            case "mail":
                turn_id = f"turn_{len(turns):03d}"
                self.states[turn_id] = "queued"
                self.emit("new_mail", turn_id=turn_id)
            case "event" if self.read < len(self.log):
                self.read += 1
                self.deliver(self.read - 1)
            case "repeat" if self.read:
                self.deliver(pick % self.read)
            case "break":
                self.read = len(self.log)
                self.catchup.lost()
            case "reset":
                self.read = len(self.log)
                self.catchup.event(str(self.read), "reset", {})
            case "list":
                queued = [_turn(turn_id) for turn_id in turns if self.states[turn_id] == "queued"]
                listing, half = self.catchup.begin_list(), pick % (len(queued) + 1)
                self.pages += [(listing, queued[:half], False), (listing, queued[half:], True)]
            case "page" if self.pages:
                self.catchup.offer_page(*self.pages.pop(0))
            case "take":
                self.take()
            case "end" | "release" if self.in_hand:
                turn_id = self.in_hand.pop(pick % len(self.in_hand))
                self.states[turn_id] = "answered" if what == "end" else "queued"
                if what == "release":
                    self.emit("turn_state", turn_id=turn_id, state="queued")
                self.catchup.settle(turn_id, final=what == "end")
            case "retry" if self.states.get(some) == "answered":
                self.states[some] = "queued"
                self.emit("turn_state", turn_id=some, state="queued")
            case _:
                pass

    def deliver(self, index: int) -> None:
        event_id, kind, data = self.log[index]
        self.catchup.event(str(event_id), kind, data)

    def take(self) -> bool:
        turn_id = self.catchup.next()
        if turn_id is None:
            return False
        if self.states.get(turn_id) == "queued":
            self.states[turn_id] = "leased"
            self.in_hand.append(turn_id)
        else:
            self.refused += 1
            self.catchup.settle(turn_id, final=False)
        return True

    def come_to_rest(self) -> None:
        while self.read < len(self.log):
            self.step("event", 0)
        self.pages.clear()
        if self.catchup.needs_list:
            self.step("list", 0)
            self.step("page", 0)
            self.step("page", 0)
        while self.take():
            pass


STEPS = ["mail", "event", "repeat", "break", "reset", "list", "page", "take", "end", "release", "retry"]
programs = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 20)), max_size=40)


@settings(max_examples=100)
@given(programs)
def test_no_queued_turn_is_ever_left_whatever_the_stream_does(steps: list[tuple[str, int]]) -> None:
    gateway = _Gateway()
    for what, pick in steps:
        gateway.step(what, pick)
    gateway.come_to_rest()
    assert "queued" not in gateway.states.values()


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.sampled_from(["mail", "event", "repeat", "take", "end"]), st.integers(0, 20)), max_size=40)
)
def test_no_turn_is_offered_in_vain_while_the_stream_only_repeats_itself(steps: list[tuple[str, int]]) -> None:
    gateway = _Gateway()
    gateway.step("list", 0)
    for what, pick in [("page", 0), ("page", 0), *steps]:
        gateway.step(what, pick)
    assert gateway.refused == 0
