"""What an attempt was seen to do, for the next one."""

from pathlib import Path

from ..attempt_log import LARGEST_FILE, MOST_FILES, AttemptLog, attempts_begun, forget, prune, read_earlier
from ..turn import Status, Text, ToolCall, ToolResult


def test_tools_are_noted_and_words_are_not(tmp_path: Path) -> None:
    log = AttemptLog(tmp_path / "turn_1")
    log.begin(1)
    log.note(Text("secret thoughts"))
    log.note(ToolCall("c", "Bash", "make\nall"))
    log.note(ToolResult("c", "Bash", False, "output"))
    log.note(Status("s"))
    assert read_earlier(tmp_path / "turn_1") == ("began attempt 1", "called Bash make all", "Bash failed")


def test_attempts_are_counted_over_restarts(tmp_path: Path) -> None:
    for _ in range(3):
        AttemptLog(tmp_path / "turn_1").begin(1)
    assert attempts_begun(tmp_path / "turn_1") == 3
    assert attempts_begun(tmp_path / "turn_2") == 0


def test_many_steps_are_bounded_and_a_full_file_counts_as_many_attempts(tmp_path: Path) -> None:
    path = tmp_path / "turn_1"
    for attempt in range(10):
        log = AttemptLog(path)
        log.begin(attempt)
        for n in range(300):
            log.note(ToolCall("c", "Bash", f"{n} {'x' * 200}"))
    assert path.stat().st_size < LARGEST_FILE + 1000
    earlier = read_earlier(path)
    assert len(earlier) == 40
    assert earlier[0] == "began attempt 0"
    assert "are not listed" in earlier[1]
    assert attempts_begun(path) > 2


def test_a_folder_that_is_gone_costs_nothing_but_the_note(tmp_path: Path) -> None:
    log = AttemptLog(tmp_path / "no" / "turn_1")
    log.begin(1)
    forget(tmp_path / "no" / "turn_1")
    prune(tmp_path / "no")
    assert read_earlier(tmp_path / "no" / "turn_1") == ()


def test_only_the_newest_files_are_kept(tmp_path: Path) -> None:
    for n in range(MOST_FILES + 3):
        (tmp_path / f"turn_{n:05}").write_text("x")
    prune(tmp_path)
    assert len(list(tmp_path.iterdir())) == MOST_FILES
