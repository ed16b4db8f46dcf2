from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .. import permission_grants
from ..permission_grants import Ask, Grant, GrantsCorrupt, GrantStore, dumps, find, grant, loads
from ..permission_mode import TIERS, rank
from ..wire import PermissionDecision, Tier

NOW = 1_000_000.0
ASK = Ask("dsh", "bash", "npm test", "thr_1", "workspace", "workspace")
REMEMBERED: tuple[PermissionDecision, ...] = ("thread", "always")


def _grant(decision: PermissionDecision = "always", ask: Ask = ASK, **options: Any) -> Grant:
    made = grant(ask, decision, by="ada", now=NOW, **options)
    assert made is not None
    return made


@pytest.mark.parametrize("decision", ["once", "reject"])
def test_what_holds_for_this_time_only_is_not_remembered(decision: PermissionDecision) -> None:
    assert grant(ASK, decision, by="ada", now=NOW) is None


@pytest.mark.parametrize("decision", REMEMBERED)
def test_the_same_question_in_the_same_thread_is_not_asked_again(decision: PermissionDecision) -> None:
    made = _grant(decision)
    assert find([made], ASK, NOW) == made
    assert (made.granted_by, made.granted_at) == ("ada", NOW)


@pytest.mark.parametrize(("decision", "covers"), [("thread", False), ("always", True)])
def test_in_another_thread_only_always_counts(decision: PermissionDecision, covers: bool) -> None:
    assert (find([_grant(decision)], replace(ASK, thread_id="thr_2"), NOW) is not None) is covers


@pytest.mark.parametrize(
    "changes",
    [
        {"agent": "pi"},
        {"tool": "edit"},
        {"tool": "Bash"},
        {"scope": ""},
        {"scope": "npm test && rm -rf /"},
        {"scope": "npm"},
        {"scope": "*"},
    ],
)
@pytest.mark.parametrize("decision", REMEMBERED)
def test_another_agent_tool_or_scope_is_asked_for(decision: PermissionDecision, changes: dict[str, Any]) -> None:
    assert find([_grant(decision)], replace(ASK, **changes), NOW) is None


def test_a_grant_without_a_scope_covers_no_scope() -> None:
    made = _grant(ask=replace(ASK, scope=""))
    assert find([made], ASK, NOW) is None


def test_a_grant_ends_at_its_time() -> None:
    made = _grant(ttl_s=60)
    assert find([made], ASK, NOW + 59.9) == made
    assert find([made], ASK, NOW + 60) is None
    assert find([_grant()], ASK, NOW + 1e12) is not None


def test_a_grant_never_exceeds_the_tier_for_every_combination() -> None:
    combinations = list(product(TIERS, TIERS, TIERS))
    assert len(combinations) == 27
    for given_in, tier, needs in combinations:
        made = Grant("dsh", "bash", "npm test", None, given_in, "ada", NOW)
        ask = replace(ASK, tier=tier, needs=needs)
        expected = rank(needs) <= rank(tier) <= rank(given_in)
        assert (find([made], ask, NOW) is not None) is expected, (given_in, tier, needs)


def test_nothing_can_be_granted_beyond_the_tier_for_every_combination() -> None:
    decisions: tuple[PermissionDecision, ...] = ("once", "thread", "always")
    for tier, needs, decision in product(TIERS, TIERS, decisions):
        ask = replace(ASK, tier=tier, needs=needs)
        if rank(needs) <= rank(tier):
            grant(ask, decision, by="ada", now=NOW)
        else:
            with pytest.raises(ValueError, match="no answer raises that"):
                grant(ask, decision, by="ada", now=NOW)
        assert grant(ask, "reject", by="ada", now=NOW) is None


def test_among_several_grants_the_one_that_covers_is_found() -> None:
    expired, other, right = _grant(ttl_s=-1), _grant(ask=replace(ASK, tool="edit")), _grant("thread")
    assert find([expired, other, right], ASK, NOW) == right
    assert find([], ASK, NOW) is None


texts = st.text(max_size=8)
tiers = st.sampled_from(TIERS)
times = st.floats(0, 1e11)
grants = st.builds(Grant, texts, texts, texts, st.none() | texts, tiers, texts, times, st.none() | times)


@given(st.lists(grants, max_size=4))
def test_grants_are_read_as_they_were_written(many: list[Grant]) -> None:
    assert loads(dumps(many)) == tuple(many)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{",
        '{"version":2,"grants":[]}',
        '{"grants":[]}',
        '{"version":1}',
        '{"version":1,"grants":[],"more":1}',
        '{"version":1,"grants":[{"agent":"dsh"}]}',
        dumps([_grant()]).replace('"workspace"', '"root"'),
        dumps([_grant()])[:-3],
        "[" * 100_000,
        b"\xff",
    ],
)
def test_anything_else_is_refused_as_a_whole(text: str | bytes) -> None:
    with pytest.raises(GrantsCorrupt):
        loads(text)


def test_grants_survive_a_restart(tmp_path: Path) -> None:
    store = GrantStore.open(tmp_path / "grants.json")
    assert store.grants == ()
    store.add(_grant(), NOW)
    again = GrantStore.open(tmp_path / "grants.json")
    assert again.find(ASK, NOW) == _grant()
    assert again.bad is None


def test_a_corrupt_file_grants_nothing_and_is_put_aside(tmp_path: Path) -> None:
    path = tmp_path / "grants.json"
    for number in range(2):
        path.write_text("{torn")
        store = GrantStore.open(path)
        assert store.grants == ()
        assert store.bad == tmp_path / f"grants.json.bad.{number}"
        assert store.bad.read_text() == "{torn"
        assert not path.exists()
    store.add(_grant(), NOW)
    assert GrantStore.open(path).find(ASK, NOW) is not None


def test_a_file_that_is_none_grants_nothing(tmp_path: Path) -> None:
    (tmp_path / "grants.json").mkdir()
    store = GrantStore.open(tmp_path / "grants.json")
    assert (store.grants, store.bad) == ((), tmp_path / "grants.json.bad.0")


def test_a_newer_answer_takes_the_place_of_an_older_and_expired_ones_go(tmp_path: Path) -> None:
    store = GrantStore.open(tmp_path / "grants.json")
    store.add(_grant(ttl_s=10), NOW)
    store.add(_grant(ttl_s=20), NOW)
    assert [one.expires_at for one in store.grants] == [NOW + 20]
    store.add(_grant("thread"), NOW)
    assert len(store.grants) == 2
    store.add(_grant(ask=replace(ASK, tool="edit")), NOW + 30)
    assert [(one.tool, one.thread_id) for one in store.grants] == [("bash", "thr_1"), ("edit", None)]


def test_a_narrower_answer_leaves_a_wider_one_as_it_was(tmp_path: Path) -> None:
    store = GrantStore.open(tmp_path / "grants.json")
    wide = replace(ASK, tier="full")
    store.add(_grant(ask=wide), NOW)
    store.add(_grant(ask=ASK, ttl_s=5), NOW)
    assert store.find(wide, NOW) is not None
    assert store.find(ASK, NOW + 10) is not None


def test_a_thread_is_forgotten_without_the_rest(tmp_path: Path) -> None:
    store = GrantStore.open(tmp_path / "grants.json")
    store.add(_grant("thread"), NOW)
    store.add(_grant("always"), NOW)
    before = store.path.stat().st_ino
    store.forget_thread("thr_2")
    assert store.path.stat().st_ino == before
    assert len(store.grants) == 2
    store.forget_thread("thr_1")
    assert (
        [one.thread_id for one in store.grants]
        == [one.thread_id for one in GrantStore.open(store.path).grants]
        == [None]
    )


def test_the_file_is_bounded_and_keeps_the_newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permission_grants, "MOST_GRANTS", 3)
    store = GrantStore.open(tmp_path / "grants.json")
    for number in range(5):
        store.add(_grant(ask=replace(ASK, scope=str(number))), NOW)
    assert [one.scope for one in store.grants] == ["2", "3", "4"]


def test_a_full_disk_is_told_and_grants_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = GrantStore.open(tmp_path / "grants.json")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        store.add(_grant(), NOW)
    assert store.find(ASK, NOW) is None


def test_tiers_are_those_of_the_wire() -> None:
    tier: Tier
    for tier in TIERS:
        assert loads(dumps([replace(_grant(), tier=tier)]))[0].tier == tier
