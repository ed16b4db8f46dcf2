"""What is printed can't be steered by what is in a file or in its name."""

import json

from deploy.shared_guard.findings import Finding, Kind
from deploy.shared_guard.report import annotations, as_json, drift_lines, visible
from deploy.shared_guard.selftest import Miss, Proof

PROOF = Proof((), (), ())
NASTY = "a\n::error::b,c%\x1b[2J\u202e\udc80.py"


def nasty(expected: bytes | None = None, found: bytes | None = None) -> Finding:
    return Finding(NASTY, Kind.EXTRA_FILE, "bridge-one", NASTY, expected=expected, found=found)


def test_a_finding_is_one_line_whatever_the_name_of_the_file() -> None:
    (line,) = drift_lines([nasty()], diff=True)
    assert line.isprintable()
    assert "a\\n::error::b" in line


def test_an_annotation_is_one_line_whatever_the_name_of_the_file() -> None:
    (line,) = annotations(PROOF, [nasty()])
    assert line.startswith("::error file=a%0A%3A%3Aerror%3A%3Ab%2Cc%25")
    assert "\n" not in line
    (line,) = annotations(Proof((), (), (Miss("empty file", "reported\nnothing"),)), [])
    assert "\n" not in line


def test_a_difference_spells_out_what_can_not_be_seen() -> None:
    lines = list(drift_lines([nasty(b"one\ntwo\n", b"\xef\xbb\xbfone\r\ntwo\x1b\xff")], diff=True))
    assert all(line.isprintable() for line in lines)
    assert lines[-4:] == ["-one", "-two", "+\\ufeffone\\r", "+two\\x1b\\xff \\ no newline at the end"]


def test_a_difference_at_the_end_is_seen() -> None:
    lines = list(drift_lines([nasty(b"one\n", b"one")], diff=True))
    assert lines[-2:] == ["-one", "+one \\ no newline at the end"]


def test_json_is_ascii_and_can_be_read_back() -> None:
    text = as_json(PROOF, [nasty()], diff=True)
    assert text.isascii()
    assert json.loads(text)["findings"][0]["path"] == NASTY


def test_what_is_printable_stays_as_it_is() -> None:
    assert visible("größe/文件.py") == "größe/文件.py"
