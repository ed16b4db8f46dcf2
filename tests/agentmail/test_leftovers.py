"""What a killed `up` left behind."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentmail.up.leftovers import end, leftovers, record

SLEEPS = [sys.executable, "-c", "import time; time.sleep(600)", "agentmail.lifeline"]


def test_a_recorded_process_that_still_runs_is_found_and_ended(tmp_path: Path) -> None:
    process = subprocess.Popen(SLEEPS)
    record(tmp_path / "up.json", [("zcode", process.pid)])
    left = leftovers(tmp_path / "up.json")
    assert [(found.name, found.pid) for found in left] == [("zcode", process.pid)]
    asyncio.run(end(left, 0.1))
    assert process.wait(5) == -9
    assert leftovers(tmp_path / "up.json") == ()


def test_another_process_of_the_same_number_is_left_alone(tmp_path: Path) -> None:
    """mcp_agent_mail#123, takopi#254: a number in a file is not a process."""
    record(tmp_path / "up.json", [("zcode", os.getpid())])
    assert leftovers(tmp_path / "up.json") == ()
    (tmp_path / "up.json").write_text(f'[{{"name":"zcode","pid":{os.getpid()},"started":1.0}}]')
    assert leftovers(tmp_path / "up.json") == ()


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"name":"x"}]', "\xff"])
def test_a_broken_record_is_an_empty_one(tmp_path: Path, text: str) -> None:
    (tmp_path / "up.json").write_text(text, "latin-1")
    assert leftovers(tmp_path / "up.json") == ()
