"""Nothing is lost and nothing is said twice: whatever is killed, whenever, and whatever the network swallows.

For each call to the gateway there is a crash right before and right after it; then the bridge starts again.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from ..gateway_errors import GatewayProblem
from ..spool import Entry, Spool
from ..turn import Emit, Outcome, StopSignal, TurnRequest
from ..wire import FINAL_STATES
from .driver_bench import ScriptedRunner, bench
from .fake_gateway import FakeGateway

STEPS = ("claim", "start", "put_attachment", "reply")


async def answer_with_a_file(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
    (request.turn_dir / "out" / "a.txt").write_text("a")
    return Outcome(text=f"done: {request.turn_id}")


def assert_answered_once(gateway: FakeGateway, turn: str) -> None:
    assert gateway.turns[turn].state == "answered"
    assert [(replied, body.body) for replied, body in gateway.replies] == [(turn, f"done: {turn}")]
    assert len(gateway.replies[0][1].attachments) == 1


class Killed(BaseException):
    """The process is gone at this point."""


class DyingGateway(FakeGateway):
    """A gateway whose bridge dies at the first call of `method`: before it is sent, or after its answer was made."""

    def __init__(self, method: str, when: str) -> None:
        super().__init__()
        self.died = False
        self._unharmed = getattr(self, method)
        self._when = when
        setattr(self, method, self._deadly)

    async def _deadly(self, *args: object, **kwargs: object) -> object:
        if self.died:
            return await self._unharmed(*args, **kwargs)
        self.died = True
        if self._when == "after":
            await self._unharmed(*args, **kwargs)
        raise Killed


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", STEPS)
async def test_a_kill_at_any_step_costs_at_most_an_attempt_never_an_answer_never_two(
    tmp_path: Path, step: str, when: str
) -> None:
    gateway = DyingGateway(step, when)
    async with bench(tmp_path, gateway, ScriptedRunner(answer_with_a_file)) as b:
        turn = await gateway.post()
        await gateway.until(lambda: gateway.died)
        await b.kill()
    runs = len(b.runner.requests)
    if gateway.turns[turn].state in ("leased", "running"):
        # The gateway may have kept the lease (quick restart) or not (slow restart); here it has not.
        await gateway.expire(turn)
    async with bench(tmp_path, gateway, ScriptedRunner(answer_with_a_file)) as b:
        await gateway.until_state(turn)
    assert_answered_once(gateway, turn)
    if step in ("put_attachment", "reply"):
        assert runs + len(b.runner.requests) == 1


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_kill_at_the_reply_and_a_quick_restart_under_the_same_lease(tmp_path: Path, when: str) -> None:
    """openclaw#29106: a crash between send and acknowledgement sent again."""
    gateway = DyingGateway("reply", when)
    async with bench(tmp_path, gateway, ScriptedRunner(answer_with_a_file)) as b:
        turn = await gateway.post()
        await gateway.until(lambda: gateway.died)
        await b.kill()
    async with bench(tmp_path, gateway, ScriptedRunner(answer_with_a_file)) as b:
        await gateway.until_state(turn)
        await gateway.until(lambda: not list(b.state.spool.glob("*.json")) or gateway.turns[turn].state in FINAL_STATES)
    assert_answered_once(gateway, turn)
    assert not b.runner.requests


async def test_a_swallowed_reply_is_sent_again_under_its_key_and_stored_once(tmp_path: Path) -> None:
    """openclaw#29106"""
    gateway = FakeGateway()
    gateway.faults["reply"] += ["cut", "down"]
    async with bench(tmp_path, gateway, ScriptedRunner(answer_with_a_file)) as b:
        turn = await gateway.post()
        await gateway.until(lambda: gateway.count("reply") == 3)
    assert_answered_once(gateway, turn)
    assert not list(b.state.spool.glob("*.json"))


async def test_an_answer_waits_for_a_gateway_that_is_away_and_the_turn_is_not_run_again(tmp_path: Path) -> None:
    gateway = FakeGateway()

    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        outcome = await answer_with_a_file(request, emit, stop)
        gateway.online = False
        return outcome

    async with bench(tmp_path, gateway, ScriptedRunner(behave)) as b:
        turn = await gateway.post()
        await gateway.until(lambda: "the outcome is kept" in b.log.getvalue())
        await gateway.expire(turn)
        await gateway.go(online=True)
        await gateway.until_state(turn)
    assert_answered_once(gateway, turn)
    assert len(b.runner.requests) == 1


async def test_an_answer_whose_turn_was_leased_anew_and_queued_again_goes_out_under_a_new_lease(tmp_path: Path) -> None:
    gateway = FakeGateway()
    gateway.faults["put_attachment"] += ["down"] * 3
    async with bench(tmp_path, gateway, ScriptedRunner(answer_with_a_file)) as b:
        turn = await gateway.post()
        await gateway.until(lambda: gateway.count("put_attachment") == 1)
        await gateway.expire(turn)
        await gateway.claim(turn)
        await gateway.expire(turn)
        await gateway.until_state(turn)
    assert_answered_once(gateway, turn)
    assert len(b.runner.requests) == 1


async def test_an_answer_whose_turn_another_bridge_works_on_is_given_up(tmp_path: Path) -> None:
    gateway = FakeGateway()
    gateway.faults["put_attachment"] += ["down"]
    async with bench(tmp_path, gateway, ScriptedRunner(answer_with_a_file)) as b:
        turn = await gateway.post()
        await gateway.until(lambda: gateway.count("put_attachment") == 1)
        await gateway.expire(turn)
        await gateway.claim(turn)
        await gateway.until(lambda: "given up" in b.log.getvalue())
    assert not gateway.replies
    assert not list(b.state.spool.glob("*.json"))


async def test_the_answer_to_a_dead_turn_is_kept_and_goes_out_when_it_is_retried(tmp_path: Path) -> None:
    gateway = FakeGateway()
    gateway.faults["put_attachment"] += ["down"]
    async with bench(tmp_path, gateway, ScriptedRunner(answer_with_a_file)) as b:
        turn = await gateway.post()
        await gateway.until(lambda: gateway.count("put_attachment") == 1)
        for _ in range(2):
            await gateway.expire(turn)
            await gateway.claim(turn)
        await gateway.expire(turn)
        assert gateway.turns[turn].state == "dead"
        await gateway.until(lambda: "waits for a retry" in b.log.getvalue())
        await gateway.retry(turn)
        await gateway.until(lambda: gateway.turns[turn].state == "answered")
    assert_answered_once(gateway, turn)
    assert len(b.runner.requests) == 1


async def test_a_retried_dead_letter_is_run_although_its_attempt_number_was_there_before(tmp_path: Path) -> None:
    gateway = FakeGateway()
    runner = ScriptedRunner()
    runner.gate.clear()
    async with bench(tmp_path, gateway, runner) as b:
        turn = await gateway.post()
        await runner.until_running(turn)
        await b.kill()
    await gateway.expire(turn)
    gateway.turns[turn] = replace(gateway.turns[turn], state="dead", attempt=3)
    async with bench(tmp_path, gateway) as b:
        await gateway.retry(turn)
        await gateway.until(lambda: gateway.turns[turn].state == "answered")
    assert len(b.runner.requests) == 1


async def test_a_lost_answer_to_the_claim_costs_the_lease_and_not_the_mail(tmp_path: Path) -> None:
    gateway = FakeGateway()
    gateway.faults["claim"].append("cut")
    async with bench(tmp_path, gateway) as b:
        turn = await gateway.post()
        await gateway.until_state(turn, "leased")
        await gateway.expire(turn)
        assert (await gateway.until_state(turn)).state == "answered"
    assert len(b.runner.requests) == 1


async def test_a_release_that_did_not_arrive_is_delivered_at_the_next_start(tmp_path: Path) -> None:
    gateway = FakeGateway()
    runner = ScriptedRunner()
    runner.gate.clear()
    async with bench(tmp_path, gateway, runner) as b:
        turn = await gateway.post()
        await runner.until_running(turn)
        await gateway.go(online=False)
        assert await b.stop() == 0
    assert not gateway.releases
    await gateway.go(online=True)
    async with bench(tmp_path, gateway):
        await gateway.until_state(turn)
    assert gateway.turns[turn].state == "answered"
    assert gateway.turns[turn].attempt == 1


@pytest.mark.parametrize(
    ("problem", "kept"),
    [
        (GatewayProblem(413, "too_large", "", "the body is too large"), lambda body: not body.attachments),
        (GatewayProblem(422, "invalid", "", "no"), lambda body: not body.attachments),
    ],
)
async def test_an_answer_that_is_refused_for_what_it_is_goes_out_smaller(
    tmp_path: Path, problem: GatewayProblem, kept: Callable[[object], bool]
) -> None:
    gateway = FakeGateway()
    gateway.faults["reply"].append(problem)
    async with bench(tmp_path, gateway, ScriptedRunner(answer_with_a_file)):
        turn = await gateway.post()
        assert (await gateway.until_state(turn)).state == "answered"
    assert kept(gateway.replies[0][1])
    assert str(problem) in gateway.replies[0][1].body


async def test_an_answer_that_is_never_taken_ends_as_a_failure_and_blocks_nothing(tmp_path: Path) -> None:
    gateway = FakeGateway()
    gateway.faults["reply"] += [GatewayProblem(422, "invalid", "", "no")] * 2
    async with bench(tmp_path, gateway, ScriptedRunner(answer_with_a_file)):
        turn = await gateway.post()
        assert (await gateway.until_state(turn)).state == "failed"
        after = await gateway.post()
        assert (await gateway.until_state(after)).state == "answered"


async def test_a_very_long_answer_is_attached_whole(tmp_path: Path) -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        return Outcome(text="long " * 100_000)

    gateway = FakeGateway()
    async with bench(tmp_path, gateway, ScriptedRunner(behave)):
        turn = await gateway.post()
        assert (await gateway.until_state(turn)).state == "answered"
    [(_, body)] = gateway.replies
    assert len(body.body.encode()) < 300_000
    [whole] = body.attachments
    assert gateway.files[whole] == ("answer.md", "text/markdown", ("long " * 100_000).encode())


async def test_a_disk_that_keeps_nothing_does_not_silence_the_answer(tmp_path: Path) -> None:
    gateway = FakeGateway()

    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        spool = request.turn_dir.parent.parent / "spool"
        spool.rename(spool.with_name("gone"))
        return Outcome(text="x")

    async with bench(tmp_path, gateway, ScriptedRunner(behave)):
        turn = await gateway.post()
        assert (await gateway.until_state(turn)).state == "answered"


async def test_an_answer_that_neither_disk_nor_gateway_takes_now_is_kept_in_memory_and_not_made_anew(
    tmp_path: Path,
) -> None:
    gateway = FakeGateway()
    busy = GatewayProblem(503, "unavailable", "", "the disk is full")
    gateway.faults["reply"].extend(["down", busy, "cut", "down"])

    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        spool = request.turn_dir.parent.parent / "spool"
        spool.rename(spool.with_name("gone"))
        (request.turn_dir / "out" / "plan.txt").write_text("words")
        return Outcome(text="x")

    runner = ScriptedRunner(behave)
    async with bench(tmp_path, gateway, runner) as b:
        turn = await gateway.post()
        assert (await gateway.until_state(turn)).state == "answered"
        await b.stop()
        assert not list(b.state.turns.iterdir())
    assert len(runner.requests) == 1
    [(_, body)] = gateway.replies
    assert "Not attached, since the disk of the bridge is full: plan.txt." in body.body


async def test_an_answer_without_disk_that_the_gateway_never_takes_is_made_smaller_and_given_up(tmp_path: Path) -> None:
    gateway = FakeGateway()
    gateway.faults["reply"].append(GatewayProblem(413, "too_large", "", "less, please"))
    stale = GatewayProblem(409, "lease_stale", "", "not the newest")
    for _ in range(9):
        gateway.faults["reply"].append(stale)

    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        spool = request.turn_dir.parent.parent / "spool"
        if spool.exists():
            spool.rename(spool.with_name("gone"))
        return Outcome(text="x")

    async with bench(tmp_path, gateway, ScriptedRunner(behave)) as b:
        await gateway.post()
        await gateway.until(lambda: gateway.count("reply") == 2)
        await b.stop()
    assert "the outcome is given up" in b.log.getvalue()


async def test_a_disk_that_fills_up_after_the_spool_does_not_hold_up_an_answer_with_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway = FakeGateway()
    gateway.faults["reply"].extend(["cut", "down"])

    def full(*_: object) -> Entry:
        raise OSError(28, "No space left on device")

    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        (request.turn_dir / "out" / "plan.txt").write_text("words")
        monkeypatch.setattr(Spool, "update", full)
        return Outcome(text="x")

    async with bench(tmp_path, gateway, ScriptedRunner(behave)) as b:
        turn = await gateway.post()
        assert (await gateway.until_state(turn)).state == "answered"
        await gateway.until(lambda: gateway.count("reply") == 3)
        await b.stop()
        assert not list(b.state.spool.glob("*.json"))
    [(_, body)] = gateway.replies
    assert len(body.attachments) == 1


async def killed_while_running(tmp_path: Path, gateway: FakeGateway, turn: str) -> None:
    runner = ScriptedRunner()
    runner.gate.clear()
    async with bench(tmp_path, gateway, runner) as b:
        await runner.until_running(turn)
        await b.kill()
    assert gateway.turns[turn].state in ("leased", "running")


async def test_a_bridge_that_was_killed_hands_its_own_turns_back_and_goes_on_at_once(tmp_path: Path) -> None:
    gateway = FakeGateway()
    turn = await gateway.post()
    await killed_while_running(tmp_path, gateway, turn)
    async with bench(tmp_path, gateway) as b:
        await gateway.until_state(turn)
    assert len(gateway.replies) == 1
    assert "An earlier one was ended in the middle" in b.runner.requests[0].prompt


async def test_the_lease_of_another_bridge_of_this_agent_is_left_alone(tmp_path: Path) -> None:
    gateway = FakeGateway()
    turn = await gateway.post()
    await gateway.claim(turn)
    async with bench(tmp_path, gateway):
        after = await gateway.post()
        await gateway.until_state(after)
    assert gateway.turns[turn].state == "leased"
    assert not gateway.releases


async def test_a_turn_that_ends_the_bridge_each_time_is_not_taken_up_for_ever(tmp_path: Path) -> None:
    gateway = FakeGateway()
    turn = await gateway.post()
    for _ in range(3):
        await killed_while_running(tmp_path, gateway, turn)
    async with bench(tmp_path, gateway) as b:
        after = await gateway.post()
        await gateway.until_state(after)
    assert gateway.turns[turn].state in ("leased", "running")
    assert [request.turn_id for request in b.runner.requests] == [after]
