import hashlib
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ..relay_key import reply_key
from ..spool import Body, Entry, Spool
from ..wire import Failure, FinishBody, ReleaseBody, ReplyBody, Usage
from .crash_points import crash_points

REPLY = ReplyBody(lease=1, outcome="ok", body="Done.\n文 🙂", usage=Usage(input_tokens=3), native_session_id="s")
FAILED = ReplyBody(lease=2, outcome="failed", body="", failure=Failure("quota", "used up", "wait"))
FINISH = FinishBody(lease=3, outcome="no_reply")
RELEASE = ReleaseBody(lease=4, reason="shutdown", not_before="2026-12-01T00:00:00.000Z")


@pytest.mark.parametrize("body", [REPLY, FAILED, FINISH, RELEASE])
def test_an_outcome_is_read_back_after_a_restart(tmp_path: Path, body: Body) -> None:
    entry = Spool.open(tmp_path).put("turn_1", 2, body, ["/turn/out/a.png"])
    again = Spool.open(tmp_path)
    assert again.pending() == (entry,)
    assert again.set_aside == ()
    assert (entry.turn_id, entry.attempt, entry.lease) == ("turn_1", 2, body.lease)
    assert (entry.body, entry.files) == (body, ("/turn/out/a.png",))


def test_an_outcome_is_sent_under_the_same_key_before_and_after_a_crash(tmp_path: Path) -> None:
    """openclaw#29106"""
    key = Spool.open(tmp_path).put("turn_1", 1, REPLY).key
    assert key == reply_key("turn_1")
    assert [entry.key for entry in Spool.open(tmp_path).pending()] == [key]


def test_the_kind_says_which_route_takes_it(tmp_path: Path) -> None:
    spool = Spool.open(tmp_path)
    assert [spool.put("t", 1, body).kind for body in (REPLY, FINISH, RELEASE)] == ["reply", "finish", "release"]


def test_outcomes_keep_their_order_across_restarts_and_removals(tmp_path: Path) -> None:
    spool = Spool.open(tmp_path)
    entries = [spool.put(f"turn_{number}", 1, REPLY) for number in range(12)]
    spool.remove(entries[11])
    spool.remove(entries[3])
    spool = Spool.open(tmp_path)
    late = spool.put("turn_late", 1, REPLY)
    assert Spool.open(tmp_path).pending() == (*entries[:3], *entries[4:11], late)


def test_the_same_outcome_is_kept_once(tmp_path: Path) -> None:
    spool = Spool.open(tmp_path)
    first = spool.put("turn_1", 1, REPLY)
    assert spool.put("turn_1", 1, REPLY) == first
    assert Spool.open(tmp_path).put("turn_1", 1, REPLY) == first
    assert len(Spool.open(tmp_path).pending()) == 1


def test_outcomes_of_other_turns_kinds_and_leases_are_kept_apart(tmp_path: Path) -> None:
    spool = Spool.open(tmp_path)
    spool.put("turn_1", 1, ReplyBody(lease=1, outcome="ok", body="a"))
    spool.put("turn_1", 2, ReplyBody(lease=2, outcome="ok", body="b"))
    spool.put("turn_1", 2, FinishBody(lease=2, outcome="cancelled"))
    spool.put("turn_2", 2, ReplyBody(lease=2, outcome="ok", body="c"))
    assert len(spool.pending()) == 4


def test_a_turn_whose_outcome_waits_is_known(tmp_path: Path) -> None:
    spool = Spool.open(tmp_path)
    entry = spool.put("turn_1", 1, REPLY)
    assert spool.has("turn_1")
    assert Spool.open(tmp_path).has("turn_1")
    assert not spool.has("turn_2")
    spool.remove(entry)
    assert not spool.has("turn_1")


def test_a_delivered_outcome_is_gone_for_good(tmp_path: Path) -> None:
    spool = Spool.open(tmp_path)
    entry = spool.put("turn_1", 1, REPLY)
    spool.remove(entry)
    spool.remove(entry)
    assert spool.pending() == Spool.open(tmp_path).pending() == ()
    assert list(tmp_path.iterdir()) == []


def test_a_delivered_outcome_does_not_come_back_after_a_power_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = Spool.open(tmp_path)
    entry = spool.put("turn_1", 1, REPLY)
    left: list[list[str]] = []
    monkeypatch.setattr(os, "fsync", lambda _: left.append([path.name for path in tmp_path.iterdir()]))
    spool.remove(entry)
    assert left == [[]]


def test_an_outcome_is_updated_in_its_place(tmp_path: Path) -> None:
    spool = Spool.open(tmp_path)
    first = spool.put("turn_1", 1, REPLY, ["/out/a"])
    second = spool.put("turn_2", 1, REPLY)
    uploaded = ReplyBody(lease=1, outcome="ok", body="Done.", attachments=("att_1",))
    new = spool.update(first, uploaded)
    assert (new.key, new.name, new.body, new.files) == (first.key, first.name, uploaded, ())
    assert spool.pending() == Spool.open(tmp_path).pending() == (new, second)
    for other in (FINISH, ReplyBody(lease=9, outcome="ok", body="")):
        with pytest.raises(ValueError, match="another entry"):
            spool.update(new, other)
    spool.remove(new)
    with pytest.raises(KeyError):
        spool.update(new, uploaded)


def test_files_are_for_the_owner_alone(tmp_path: Path) -> None:
    entry = Spool.open(tmp_path / "a" / "spool").put("turn_1", 1, REPLY)
    assert stat.S_IMODE((tmp_path / "a" / "spool").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "a" / "spool" / entry.name).stat().st_mode) == 0o600


def test_an_entry_that_was_cut_or_changed_anywhere_is_set_aside_and_reported(tmp_path: Path) -> None:
    source = Spool.open(tmp_path / "source")
    entry = source.put("turn_1", 1, FINISH)
    data = (source.folder / entry.name).read_bytes()
    folder = tmp_path / "spool"
    spool = Spool.open(folder)
    good = spool.put("turn_0", 1, REPLY)
    damaged = [data[:size] for size in range(0, len(data), 4)]
    damaged += [data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in range(0, len(data), 7)]
    damaged += [b"\0" * len(data), data + b"x", b"{}"]
    for number, bad in enumerate(damaged):
        (folder / "000000000005.json").write_bytes(bad)
        spool = Spool.open(folder)
        assert spool.pending() == (good,)
        (aside,) = spool.set_aside
        assert aside.path.read_bytes() == bad
        assert aside.path.parent == folder / "bad"
        assert aside.why
        assert len(list((folder / "bad").iterdir())) == number + 1
    assert Spool.open(folder).set_aside == ()
    assert Spool.open(folder).put("turn_9", 1, REPLY).name > good.name


@pytest.mark.parametrize(
    "text",
    [
        '{"turn_id":"t","attempt":1,"kind":"reply","key":"k","body":{}}',
        '{"turn_id":"t","attempt":1,"kind":"other","key":"k","body":{}}',
        '{"turn_id":"t","attempt":1,"kind":"reply","key":"k"}',
        "[]",
        "",
    ],
)
def test_an_entry_that_is_whole_but_makes_no_sense_is_set_aside(tmp_path: Path, text: str) -> None:
    data = text.encode()
    head = f"agentmail-spool-1 {hashlib.sha256(data).hexdigest()}\n".encode()
    (tmp_path / "000000000001.json").write_bytes(head + data)
    spool = Spool.open(tmp_path)
    assert spool.pending() == ()
    assert len(spool.set_aside) == 1


def test_what_is_no_file_or_no_entry_of_the_spool_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "000000000007.json").mkdir()
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "lock").write_text("")
    spool = Spool.open(tmp_path)
    assert [aside.path.parent.name for aside in spool.set_aside] == ["bad"]
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert spool.put("turn_1", 1, REPLY).name == "000000000008.json"


def test_an_outcome_that_was_written_but_not_yet_named_counts(tmp_path: Path) -> None:
    entry = Spool.open(tmp_path / "source").put("turn_1", 1, REPLY)
    data = (tmp_path / "source" / entry.name).read_bytes()
    for size in (*range(0, len(data), 11), len(data)):
        folder = tmp_path / str(size)
        folder.mkdir()
        (folder / f".{entry.name}.x1.tmp").write_bytes(data[:size])
        spool = Spool.open(folder)
        assert spool.pending() == ((entry,) if size == len(data) else ())
        assert len(spool.set_aside) == (0 < size < len(data))
        assert [path for path in folder.iterdir() if path.name.endswith(".tmp")] == []


def test_whatever_is_killed_whenever_an_outcome_is_kept_until_it_is_delivered(tmp_path: Path) -> None:
    """openclaw#29106; each crash point from keeping two outcomes to forgetting one"""

    def prepare(folder: Path) -> None:
        Spool.open(folder / "spool").put("turn_0", 1, REPLY)

    def action(folder: Path) -> None:
        spool = Spool.open(folder / "spool")
        spool.put("turn_1", 1, FINISH)
        (folder / "kept").touch()
        spool.update(spool.pending()[0], ReplyBody(lease=1, outcome="ok", body="2"))
        (folder / "updated").touch()
        (folder / "delivered").touch()
        spool.remove(spool.pending()[0])
        (folder / "forgotten").touch()

    folders = list(crash_points(tmp_path, prepare, action))
    assert len(folders) > 12
    for folder in folders:
        spool = Spool.open(folder / "spool")
        assert spool.set_aside == ()
        turns = [entry.turn_id for entry in spool.pending()]
        bodies = [entry.body.body for entry in spool.pending() if isinstance(entry.body, ReplyBody)]
        assert ("turn_0" in turns) or (folder / "delivered").exists()
        assert ("turn_0" not in turns) or not (folder / "forgotten").exists()
        assert ("turn_1" in turns) or not (folder / "kept").exists()
        assert bodies in ([], ["2"]) if (folder / "updated").exists() else bodies[0] in {REPLY.body, "2"}
        assert all(entry.key == reply_key("turn_0") for entry in spool.pending() if entry.kind == "reply")


def test_a_full_disk_is_told_and_leaves_nothing_half_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = Spool.open(tmp_path)
    first = spool.put("turn_1", 1, REPLY)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", full)
        with pytest.raises(OSError, match="No space"):
            spool.put("turn_2", 1, REPLY)
        with pytest.raises(OSError, match="No space"):
            spool.update(first, ReplyBody(lease=1, outcome="ok", body="2"))
    assert spool.pending() == Spool.open(tmp_path).pending() == (first,)


@settings(max_examples=20)
@given(st.lists(st.sampled_from(["put", "again", "remove", "restart"]), max_size=12))
def test_the_spool_is_a_queue_whenever_it_is_restarted(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("spool")
    spool = Spool.open(folder)
    queue: list[Entry] = []
    for number, step in enumerate(steps):
        match step:
            case "put":
                queue.append(spool.put(f"turn_{number}", 1, REPLY))
            case "again" if queue:
                assert spool.put(queue[-1].turn_id, 1, REPLY) == queue[-1]
            case "remove" if queue:
                spool.remove(queue.pop(len(queue) // 2))
            case _:
                spool = Spool.open(folder)
        assert list(spool.pending()) == queue
