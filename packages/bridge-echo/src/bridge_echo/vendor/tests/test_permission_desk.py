"""A running turn's question reaches a person, and the answer reaches the turn: or silence is no."""

import asyncio
import io
from pathlib import Path

import pytest

from ..bridge_log import Log
from ..gateway_errors import GatewayUnreachable
from ..permission_desk import Asker, PermissionDesk
from ..permission_grants import GrantStore
from ..turn import Decision, Emit, Outcome, Question, StopSignal, TurnRequest
from ..wire import PermissionDecision, Tier
from .driver_bench import ScriptedRunner, bench
from .fake_gateway import FakeGateway

RUN = Question("bash", "npm test", "npm test", "npm test")
NEVER = 3600.0


async def gateway_with_a_turn() -> tuple[FakeGateway, Asker]:
    gateway = FakeGateway()
    turn = await gateway.post()
    claim = await gateway.claim(turn)
    return gateway, Asker(turn, claim.lease, claim.thread.id, "workspace")


def desk(gateway: FakeGateway, folder: Path, *, wait_s: float = NEVER, look_s: float = NEVER) -> PermissionDesk:
    grants = GrantStore.open(folder / "grants.json")
    log = Log(io.StringIO(), as_json=False, now=lambda: 1000.0)
    return PermissionDesk(
        gateway, grants, agent="opencode", wait_s=wait_s, look_s=look_s, epoch=lambda: 1000.0, log=log
    )


async def answered(
    gateway: FakeGateway, made: PermissionDesk, asker: Asker, decision: PermissionDecision, question: Question = RUN
) -> Decision:
    """Ask, and let a person answer."""
    before = len(gateway.questions)
    asking = asyncio.create_task(made.ask(asker, question))
    await gateway.until(lambda: len(gateway.questions) > before)
    request_id = list(gateway.questions)[-1]
    await gateway.decide(request_id, decision, tell=False)
    made.decided(request_id)
    return await asking


@pytest.mark.parametrize(
    ("decision", "allowed"), [("once", True), ("thread", True), ("always", True), ("reject", False)]
)
async def test_the_person_s_answer_is_the_decision(tmp_path: Path, decision: PermissionDecision, allowed: bool) -> None:
    gateway, asker = await gateway_with_a_turn()
    got = await answered(gateway, desk(gateway, tmp_path), asker, decision)
    assert got.allowed is allowed
    assert "ada" in got.why
    [asked] = gateway.questions.values()
    assert (asked.tool, asked.summary, asked.scope_hint, asked.turn_id) == ("bash", "npm test", "npm test", "turn_0001")


@pytest.mark.parametrize(
    ("decision", "same_thread", "other_thread"),
    [("once", False, False), ("thread", True, False), ("always", True, True), ("reject", False, False)],
)
async def test_what_is_remembered_reaches_as_far_as_the_answer(
    tmp_path: Path, decision: PermissionDecision, same_thread: bool, other_thread: bool
) -> None:
    gateway, asker = await gateway_with_a_turn()
    await answered(gateway, desk(gateway, tmp_path), asker, decision)
    after_a_restart = desk(gateway, tmp_path, wait_s=0.0)
    elsewhere = Asker(asker.turn_id, asker.lease, "thr_other", asker.tier)
    assert (await after_a_restart.ask(asker, RUN)).allowed is same_thread
    assert (await after_a_restart.ask(elsewhere, RUN)).allowed is other_thread


async def test_an_answer_covers_its_scope_and_tier_only(tmp_path: Path) -> None:
    gateway, asker = await gateway_with_a_turn()
    await answered(gateway, desk(gateway, tmp_path), asker, "always")
    silent = desk(gateway, tmp_path, wait_s=0.0)
    assert not (await silent.ask(asker, Question("bash", "rm -r src", scope="rm -r src"))).allowed
    full: Tier = "full"
    assert not (await silent.ask(Asker(asker.turn_id, asker.lease, asker.thread_id, full), RUN)).allowed


async def test_silence_is_no(tmp_path: Path) -> None:
    gateway, asker = await gateway_with_a_turn()
    got = await desk(gateway, tmp_path, wait_s=0.0).ask(asker, RUN)
    assert got == Decision(False, "nobody answered within 0 seconds")


async def test_an_answer_whose_event_is_lost_is_found_all_the_same(tmp_path: Path) -> None:
    gateway, asker = await gateway_with_a_turn()
    asking = asyncio.create_task(desk(gateway, tmp_path, look_s=0.001).ask(asker, RUN))
    await gateway.until(lambda: bool(gateway.questions))
    await gateway.decide("perm_0001", "once", tell=False)
    assert (await asking).allowed


async def test_a_gateway_that_is_away_means_no(tmp_path: Path) -> None:
    gateway, asker = await gateway_with_a_turn()
    gateway.faults["ask_permission"].append(GatewayUnreachable("no gateway answers"))
    got = await desk(gateway, tmp_path).ask(asker, RUN)
    assert not got.allowed
    assert "nobody could be asked" in got.why


async def test_a_look_that_fails_is_repeated(tmp_path: Path) -> None:
    gateway, asker = await gateway_with_a_turn()
    gateway.faults["get_permission"].append("down")
    asking = asyncio.create_task(desk(gateway, tmp_path, look_s=0.001).ask(asker, RUN))
    await gateway.until(lambda: bool(gateway.questions))
    await gateway.decide("perm_0001", "once", tell=False)
    assert (await asking).allowed


async def test_a_grant_that_the_disk_does_not_take_holds_once(tmp_path: Path) -> None:
    gateway, asker = await gateway_with_a_turn()
    made = desk(gateway, tmp_path / "no such folder")
    assert (await answered(gateway, made, asker, "always")).allowed


async def test_a_running_turn_asks_through_the_driver(tmp_path: Path) -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        assert request.ask is not None
        decision = await request.ask(RUN)
        return Outcome(text=f"{decision.allowed}: {decision.why}")

    async with bench(tmp_path, runner=ScriptedRunner(behave, can_ask=True)) as b:
        turn = await b.gateway.post(mode="workspace")
        await b.gateway.until(lambda: bool(b.gateway.questions))
        await b.gateway.decide("perm_0001", "thread")
        await b.gateway.until_state(turn)
        second = await b.gateway.post(mode="workspace", thread=b.gateway.turns[turn].thread_id)
        await b.gateway.until_state(second)
    bodies = [body.body for _, body in b.gateway.replies]
    assert bodies == ["True: ada allowed it", "True: ada allowed this in this thread"]
    assert len(b.gateway.questions) == 1
