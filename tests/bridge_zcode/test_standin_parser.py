"""The stand-in's parser against the 55 cases that the original's parser was executed with."""

import json
from pathlib import Path

import pytest

from tests.fakes.zcode.parser import UsageError, parse

CASES = [
    json.loads(line) for line in (Path(__file__).parents[1] / "fakes/zcode/parse_cases.jsonl").read_text().splitlines()
]


def test_all_cases_are_here() -> None:
    assert len(CASES) == 55


@pytest.mark.parametrize("case", CASES, ids=[" ".join(case["argv"])[:60] for case in CASES])
def test_the_stand_in_parses_as_the_original_does(case: dict[str, object]) -> None:
    argv = case["argv"]
    assert isinstance(argv, list)
    if "error" in case:
        with pytest.raises(UsageError) as caught:
            parse(argv)
        assert str(caught.value) == case["error"]
        return
    parsed = parse(argv)
    assert (parsed.values, parsed.positionals, parsed.deny) == (case["values"], case["positionals"], case["deny"])
