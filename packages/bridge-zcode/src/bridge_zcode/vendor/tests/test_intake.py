"""Which turn is next: oldest first, per thread one, per directory one."""

from pathlib import Path

from ..intake import MOST_HELD, Intake, Working
from ..wire import Turn

A, B = Path("/w/a"), Path("/w/b")


def turn(number: int, thread: str = "", workspace: str | None = None) -> Turn:
    return Turn(
        f"turn_{number:03}", "mail", thread or f"thr_{number}", "zcode", "queued", 0, 0, "", workspace=workspace
    )


def intake_with(*turns: Turn) -> Intake:
    intake = Intake()
    intake.page(intake.catchup.begin_list(), turns, last=True)
    return intake


def test_the_oldest_turn_is_first_and_stays_until_it_is_taken() -> None:
    intake = intake_with(turn(2), turn(1))
    first = intake.next([], 0.0)
    assert first is not None
    assert first.turn_id == "turn_001"
    assert intake.next([], 0.0) is first
    intake.take(first)
    second = intake.next([], 0.0)
    assert second is not None
    assert second.turn_id == "turn_002"


def test_a_list_tells_thread_and_workspace_an_event_the_thread() -> None:
    intake = intake_with(turn(1, "thr_x", "site"))
    listed = intake.next([], 0.0)
    assert listed is not None
    assert (listed.thread_id, listed.workspace) == ("thr_x", "site")
    intake.take(listed)
    assert intake.event("5", "new_mail", {"turn_id": "turn_9", "thread_id": "thr_y", "mail_id": "m"})
    told = intake.next([], 0.0)
    assert told is not None
    assert (told.thread_id, told.workspace) == ("thr_y", None)


def test_a_turn_of_a_busy_thread_or_directory_is_passed_over() -> None:
    intake = intake_with(turn(1, "thr_x"), turn(2, "thr_y"), turn(3, "thr_z"))
    same_thread = intake.next([], 0.0)
    assert same_thread is not None
    intake.take(same_thread)
    intake.put_back(same_thread, directory=B)
    inside = next(ticket for ticket in intake._held if ticket.turn_id == "turn_002")
    inside.directory, inside.looked = A / "sub", True
    chosen = intake.next([Working("thr_x", A)], 0.0)
    assert chosen is not None
    assert chosen.turn_id == "turn_003"


def test_nothing_is_given_out_while_a_running_turns_directory_is_not_known() -> None:
    intake = intake_with(turn(1))
    assert intake.next([Working("thr_q", None)], 0.0) is None


def test_a_turn_that_waits_for_its_time_is_due_then() -> None:
    intake = intake_with(turn(1))
    ticket = intake.next([], 0.0)
    assert ticket is not None
    intake.take(ticket)
    intake.put_back(ticket, due=10.0)
    assert intake.next([], 9.0) is None
    assert intake.next_due(9.0) == 1.0
    assert intake.next([], 10.0) is ticket
    assert intake.next_due(10.0) is None


def test_ids_that_could_be_a_path_are_not_taken_in() -> None:
    intake = intake_with(Turn("../../etc", "m", "t", "zcode", "queued", 0, 0, ""))
    assert intake.next([], 0.0) is None
    assert not intake.event("1", "new_mail", {"turn_id": "a/b", "thread_id": "t"})
    assert not intake.event("2", "new_mail", {"turn_id": 7})
    assert intake.next([], 0.0) is None


def test_what_is_held_is_bounded_and_counted() -> None:
    intake = intake_with(*(turn(n) for n in range(MOST_HELD + 50)))
    assert intake.next([], 0.0) is not None
    assert len(intake._held) == MOST_HELD
    assert intake.waiting == MOST_HELD + 50
