"""The driver against the ledger: every way a turn can end, and the order of things."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from ..attempt import BUSY_DIRECTORY, BUSY_ELSEWHERE
from ..directory_lock import lock_directory
from ..gateway_errors import GatewayProblem
from ..turn import Emit, Outcome, Started, Status, StopSignal, Text, ToolCall, ToolResult, TurnRequest
from ..wire import AddressRef, Attachment, Enforcement, Failure
from .driver_bench import ScriptedRunner, bench, not_ready, ready
from .fake_gateway import FakeGateway


async def test_a_persons_mail_is_claimed_run_and_answered(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        turn = await b.gateway.post("please look")
        assert (await b.gateway.until_state(turn)).state == "answered"
        [(replied, body)] = b.gateway.replies
        assert (replied, body.outcome, body.body) == (turn, "ok", f"done: {turn}")
        assert body.workspace == "default"
        assert body.usage is not None
        assert body.usage.duration_ms is not None
    called = [name for name, about in b.gateway.calls if about == turn and name in ("claim", "start", "reply")]
    assert called == ["claim", "start", "reply"]
    assert not list(b.state.turns.iterdir())
    assert not list(b.state.spool.glob("*.json"))
    assert not list(b.state.attempts.iterdir())


async def test_the_runner_gets_all_that_a_turn_needs(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        turn = await b.gateway.post("the mail's own words", mode="workspace")
        await b.gateway.until_state(turn)
    [request] = b.runner.requests
    assert "the mail's own words" in request.prompt
    assert request.tier == "workspace"
    assert request.workspace == (b.state.path / "workspaces" / "default").resolve()
    assert request.env == {
        "AGENTMAIL_SESSION_ID": request.session_id,
        "AGENTMAIL_PERMISSION_MODE": "workspace",
        "AGENTMAIL_PERMISSION_WAIT_MS": "540000",
        "AGENTMAIL_TURN_ID": turn,
        "AGENTMAIL_TURN_DIR": str(request.turn_dir),
        "AGENTMAIL_TURN_KEY": request.turn_key,
        "AGENTMAIL_GATEWAY_URL": b.gateway.url,
        "AGENTMAIL_BRIDGE_ID": "bridge1",
    }
    assert "ama_k3y" not in request.env.values()


async def test_an_agents_mail_is_worked_on_and_not_answered(tmp_path: Path) -> None:
    """nanobot#3215: bridges that answer each other never end."""
    async with bench(tmp_path) as b:
        turn = await b.gateway.post(sender="pi", kind="agent")
        assert (await b.gateway.until_state(turn)).state == "no_reply"
    assert not b.gateway.replies


@pytest.mark.parametrize(("sender", "auto"), [("zcode", "no"), ("ada", "auto-replied"), ("ada", "auto-generated")])
async def test_own_and_automatic_mail_is_not_even_run(tmp_path: Path, sender: str, auto: str) -> None:
    """nanobot#3215: an agent that answers itself. The gateway makes no such turn; the bridge does not rely on it."""
    async with bench(tmp_path) as b:
        turn = await b.gateway.post(sender=sender, kind="agent", auto=auto)  # type: ignore[arg-type]
        assert (await b.gateway.until_state(turn)).state == "no_reply"
    assert not b.runner.requests
    assert not b.gateway.replies


async def test_a_mail_delivered_twice_is_run_once(tmp_path: Path) -> None:
    """cc-connect#733, cc-connect#607, takopi PR#198: one message, many runs."""
    async with bench(tmp_path) as b:
        turn = await b.gateway.post()
        await b.gateway.until_state(turn)
        mail = b.gateway.turns[turn].mail_id
        await b.gateway.tell("new_mail", mail_id=mail, thread_id="thr_0001", turn_id=turn)
        await b.gateway.repeat_events()
        await b.gateway.cut_streams()
        after = await b.gateway.post()
        await b.gateway.until_state(after)
    assert [request.turn_id for request in b.runner.requests] == [turn, after]
    assert len(b.gateway.replies) == 2


async def test_mail_that_came_while_the_bridge_was_away_is_answered_oldest_first(tmp_path: Path) -> None:
    """hermes-agent#80925: mail of a downtime was never answered."""
    gateway = FakeGateway()
    turns = [await gateway.post() for _ in range(5)]
    async with bench(tmp_path, gateway, AGENTMAIL_PARALLEL_TURNS="1"):
        for turn in turns:
            await gateway.until_state(turn)
    assert [turn for turn, _ in gateway.replies] == turns


async def test_old_mail_is_not_replayed_after_a_restart(tmp_path: Path) -> None:
    """hermes-agent#60637: after a restart, answered mail was answered again."""
    gateway = FakeGateway()
    async with bench(tmp_path, gateway):
        turn = await gateway.post()
        await gateway.until_state(turn)
    async with bench(tmp_path, gateway) as b:
        await gateway.tell("new_mail", mail_id="mail_0001", thread_id="thr_0001", turn_id=turn)
        after = await gateway.post()
        await gateway.until_state(after)
    assert [request.turn_id for request in b.runner.requests] == [after]


async def test_a_reset_of_the_stream_leads_to_the_list(tmp_path: Path) -> None:
    gateway = FakeGateway()
    async with bench(tmp_path, gateway):
        await gateway.until(lambda: gateway.count("list_turns") >= 1)
        turn = await gateway.post()
        gateway.events[-2:] = []
        await gateway.tell("reset", reason="too old")
        await gateway.until_state(turn)


async def test_a_runner_that_raises_is_a_failure_reply(tmp_path: Path) -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        raise RuntimeError(f"boom {request.turn_key}")

    async with bench(tmp_path, runner=ScriptedRunner(behave)) as b:
        turn = await b.gateway.post()
        assert (await b.gateway.until_state(turn)).state == "failed"
    [(_, body)] = b.gateway.replies
    assert body.failure is not None
    assert body.failure.class_ == "bridge_error"
    assert "RuntimeError" in body.body
    assert b.runner.requests[0].turn_key not in body.body
    assert turn in b.swept


@pytest.mark.parametrize("sender", ["person", "agent"])
async def test_a_failure_is_told_to_people_and_agents_alike(tmp_path: Path, sender: str) -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        return Outcome(text="half", failure=Failure("crashed", "It crashed: ama_secretsecret", "Try again."))

    async with bench(tmp_path, runner=ScriptedRunner(behave)) as b:
        turn = await b.gateway.post(kind=sender)  # type: ignore[arg-type]
        assert (await b.gateway.until_state(turn)).state == "failed"
    [(_, body)] = b.gateway.replies
    assert body.body == "It crashed: [hidden]\n\nTry again.\n\nWhat it said until then:\n\nhalf"


async def test_an_empty_answer_to_a_person_is_a_failure(tmp_path: Path) -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        return Outcome(text=" \n")

    async with bench(tmp_path, runner=ScriptedRunner(behave)) as b:
        turn = await b.gateway.post()
        assert (await b.gateway.until_state(turn)).state == "failed"
        assert b.gateway.replies[0][1].failure == Failure(
            "empty_answer", "The agent ended its turn without saying anything.",
            "Write again in this thread, and ask for what you want to read.",
        )  # fmt: skip


async def test_when_the_agent_mailed_the_sender_itself_there_is_no_second_mail(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        b.gateway.agent_mailed.add("turn_0001")
        turn = await b.gateway.post()
        assert (await b.gateway.until_state(turn)).state == "answered_by_agent"
    assert not b.gateway.replies


async def test_a_missing_agent_is_told_and_found_again_without_a_restart(tmp_path: Path) -> None:
    failure = Failure("cli_missing", "There is no zcode.", "Install it.")
    runner = ScriptedRunner(readiness=not_ready(failure))
    async with bench(tmp_path, runner=runner) as b:
        first = await b.gateway.post()
        assert (await b.gateway.until_state(first)).state == "failed"
        await b.gateway.until(lambda: any(beat.lacks == ("fake: not found (install it)",) for beat in b.gateway.beats))
        runner.readiness = ready()
        await b.gateway.until(lambda: b.gateway.beats[-1].ready)
        second = await b.gateway.post()
        assert (await b.gateway.until_state(second)).state == "answered"
    assert b.gateway.replies[0][1].failure == failure


async def test_a_failure_of_the_set_up_brings_a_fresh_check_before_the_next_turn(tmp_path: Path) -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        return Outcome(failure=Failure("not_signed_in", "No login.", "Sign in."))

    async with bench(tmp_path, runner=ScriptedRunner(behave)) as b:
        await b.gateway.until_state(await b.gateway.post())
        checks = b.runner.checks
        await b.gateway.until_state(await b.gateway.post())
        assert b.runner.checks > checks


async def test_a_tier_that_nothing_enforces_is_refused_to_a_sender_without_trust(tmp_path: Path) -> None:
    advisory = {"plan": Enforcement("advisory", "the deny list is empty")}
    async with bench(tmp_path, runner=ScriptedRunner(readiness=ready(advisory))) as b:  # type: ignore[arg-type]
        b.gateway.trust["eve"] = "workspace"
        refused = await b.gateway.post(sender="eve")
        assert (await b.gateway.until_state(refused)).state == "failed"
        allowed = await b.gateway.post(sender="ada")
        assert (await b.gateway.until_state(allowed)).state == "answered"
    assert [request.turn_id for request in b.runner.requests] == [allowed]


async def test_a_tier_above_the_bridges_cap_runs_lower_and_says_so(tmp_path: Path) -> None:
    async with bench(tmp_path, AGENTMAIL_MAX_MODE="plan") as b:
        await b.gateway.until_state(await b.gateway.post(mode="full"))
    assert b.runner.requests[0].tier == "plan"
    assert "instead of full" in b.gateway.replies[0][1].body


async def test_an_unknown_workspace_is_answered_with_the_ones_there_are(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        turn = await b.gateway.post(workspace="nowhere")
        assert (await b.gateway.until_state(turn)).state == "failed"
    [(_, body)] = b.gateway.replies
    assert body.failure is not None
    assert body.failure.class_ == "workspace_unknown"
    assert "default" in body.body


async def test_attachments_come_in_and_files_go_out(tmp_path: Path) -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        [given] = (request.turn_dir / "in").iterdir()
        assert str(given) in request.prompt
        (request.turn_dir / "out" / "result.txt").write_bytes(given.read_bytes().upper())
        (request.turn_dir / "out" / "link").symlink_to("/etc/passwd")
        return Outcome(text="see the file")

    gateway = FakeGateway()
    gateway.files["att_in"] = ("note.txt", "text/plain", b"hello")
    async with bench(tmp_path, gateway, ScriptedRunner(behave)):
        turn = await gateway.post(attachments=(Attachment("att_in", "note.txt", "text/plain", 5),))
        assert (await gateway.until_state(turn)).state == "answered"
    [(_, body)] = gateway.replies
    assert [gateway.files[id_] for id_ in body.attachments] == [("result.txt", "text/plain", b"HELLO")]
    assert "Not attached: link (no plain file)." in body.body


async def test_an_attachment_that_is_gone_is_a_failure_reply(tmp_path: Path) -> None:
    gateway = FakeGateway()
    gateway.faults["get_attachment"].append(GatewayProblem(404, "not_found", "", "there is no such attachment"))
    async with bench(tmp_path, gateway) as b:
        turn = await gateway.post(attachments=(Attachment("att_x", "note.txt", "text/plain", 5),))
        assert (await gateway.until_state(turn)).state == "failed"
    assert "note.txt" in gateway.replies[0][1].body
    assert not b.runner.requests


async def test_progress_reaches_the_gateway_in_order(tmp_path: Path) -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        emit(Started("native-1"))
        emit(Text("a"))
        emit(Text("b"))
        emit(ToolCall("c1", "Bash", "ls"))
        emit(ToolResult("c1", "Bash", True, "x"))
        emit(Status("compacting"))
        return Outcome(text="ab", native_session_id="native-1")

    async with bench(tmp_path, runner=ScriptedRunner(behave)) as b:
        turn = await b.gateway.post()
        await b.gateway.until(lambda: b.gateway.count("progress") >= 1)
        await b.gateway.until_state(turn)
    shown = b.gateway.shown[turn]
    assert [event.seq for event in shown] == list(range(1, len(shown) + 1))
    assert b.gateway.replies[0][1].native_session_id == "native-1"


async def test_the_next_mail_of_a_thread_resumes_the_agents_session(tmp_path: Path) -> None:
    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        return Outcome(text="x", native_session_id=request.native_session_id or "native-1")

    async with bench(tmp_path, runner=ScriptedRunner(behave)) as b:
        await b.gateway.until_state(await b.gateway.post(thread="thr_a"))
        await b.gateway.until_state(await b.gateway.post(thread="thr_a"))
        await b.gateway.until_state(await b.gateway.post(thread="thr_b"))
    assert [request.native_session_id for request in b.runner.requests] == [None, "native-1", None]
    assert b.runner.requests[0].session_dir == b.runner.requests[1].session_dir


async def test_an_agent_finds_nothing_in_its_session_folder_that_the_bridge_believes(tmp_path: Path) -> None:
    """Else it could say which directory its session belongs to."""
    seen: list[list[str]] = []

    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        seen.append([path.name for path in request.session_dir.iterdir()])
        (request.session_dir / "tie.json").write_text("{}")
        return Outcome(text="x", native_session_id="native-1")

    async with bench(tmp_path, runner=ScriptedRunner(behave)) as b:
        await b.gateway.until_state(await b.gateway.post(thread="thr_a"))
        await b.gateway.until_state(await b.gateway.post(thread="thr_a"))
    assert seen == [[], ["tie.json"]]
    assert [request.native_session_id for request in b.runner.requests] == [None, "native-1"]


async def test_a_session_whose_directory_moved_is_not_resumed_elsewhere_and_the_answer_says_so(tmp_path: Path) -> None:
    """claude-code#62406: a session went on in another directory than it was told."""
    first, second = tmp_path / "one", tmp_path / "two"
    gateway = FakeGateway()
    async with bench(tmp_path, gateway, ScriptedRunner(_with_session), AGENTMAIL_WORKSPACES=f"site={first}"):
        await gateway.until_state(await gateway.post(thread="thr_a"))
    async with bench(tmp_path, gateway, ScriptedRunner(_with_session), AGENTMAIL_WORKSPACES=f"site={second}") as b:
        await gateway.until_state(await gateway.post(thread="thr_a"))
    [request] = b.runner.requests
    assert request.native_session_id is None
    assert request.workspace == second.resolve()
    body = gateway.replies[1][1]
    assert body.context_lost
    assert "fresh session" in body.body


async def _with_session(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
    emit(Started("native-1"))
    return Outcome(text="x", native_session_id=request.native_session_id or "native-1")


async def test_turns_of_a_thread_run_one_after_the_other(tmp_path: Path) -> None:
    runner = ScriptedRunner()
    runner.gate.clear()
    places = "".join(f"w{n}={tmp_path}/w{n};" for n in range(2))
    async with bench(tmp_path, runner=runner, AGENTMAIL_WORKSPACES=places) as b:
        first = await b.gateway.post(thread="thr_a", workspace="w0")
        await runner.until_running(first)
        second = await b.gateway.post(thread="thr_a", workspace="w1")
        other = await b.gateway.post(thread="thr_b", workspace="w1")
        await runner.until_running(first, other)
        runner.gate.set()
        await b.gateway.until_state(second)
    assert [request.turn_id for request in runner.requests] == [first, other, second]
    assert runner.most_running == 2


async def test_a_turn_whose_directory_is_busy_is_not_claimed_yet(tmp_path: Path) -> None:
    """mcp_agent_mail#123, takopi#254: two owners of one folder."""
    runner = ScriptedRunner(parallel_turns=4)
    runner.gate.clear()
    (tmp_path / "w" / "sub").mkdir(parents=True)
    async with bench(tmp_path, runner=runner, AGENTMAIL_WORKSPACES=f"w={tmp_path}/w;v={tmp_path}/v") as b:
        first = await b.gateway.post(workspace="w")
        await runner.until_running(first)
        same = await b.gateway.post(workspace="w")
        inside = await b.gateway.post(workspace="w/sub")
        apart = await b.gateway.post(workspace="v")
        await runner.until_running(first, apart)
        assert b.gateway.turns[same].state == b.gateway.turns[inside].state == "queued"
        assert not [about for name, about in b.gateway.calls if name == "claim" and about in (same, inside)]
        runner.gate.set()
        await b.gateway.until_state(same)
        await b.gateway.until_state(inside)
    assert runner.most_running == 2


async def test_a_wrong_guess_at_the_directory_costs_a_release_and_nothing_else(tmp_path: Path) -> None:
    runner = ScriptedRunner(parallel_turns=4)
    runner.gate.clear()
    async with bench(tmp_path, runner=runner, AGENTMAIL_WORKSPACES=f"d={tmp_path}/d;v={tmp_path}/v") as b:
        first = await b.gateway.post(workspace="v")
        await runner.until_running(first)
        b.gateway.last_workspace["thr_old"] = "v"
        second = await b.gateway.post(thread="thr_old")
        await b.gateway.until(lambda: bool(b.gateway.releases))
        runner.gate.set()
        assert (await b.gateway.until_state(second)).attempt == 1
    assert [(turn, body.reason) for turn, body in b.gateway.releases] == [(second, BUSY_DIRECTORY)]
    assert runner.most_running == 1


async def test_no_more_turns_run_at_once_than_allowed(tmp_path: Path) -> None:
    runner = ScriptedRunner()
    runner.gate.clear()
    places = "".join(f"w{n}={tmp_path}/w{n};" for n in range(5))
    async with bench(tmp_path, runner=runner, AGENTMAIL_WORKSPACES=places, AGENTMAIL_PARALLEL_TURNS="3") as b:
        turns = [await b.gateway.post(workspace=f"w{n}") for n in range(5)]
        await runner.until_running(*turns[:3])
        assert b.gateway.count("claim") == 3
        runner.gate.set()
        for turn in turns:
            await b.gateway.until_state(turn)
    assert runner.most_running == 3


async def test_once_works_off_what_is_queued_and_ends(tmp_path: Path) -> None:
    gateway = FakeGateway()
    turns = [await gateway.post(thread="thr_a") for _ in range(3)]
    async with bench(tmp_path, gateway, once=True) as b:
        assert await b.ended() == 0
    assert [turn for turn, _ in gateway.replies] == turns


async def test_once_says_when_the_gateway_is_away(tmp_path: Path) -> None:
    async with bench(tmp_path, FakeGateway(online=False), once=True) as b:
        assert await b.ended() == 1


async def test_a_gateway_that_is_away_at_start_is_waited_for(tmp_path: Path) -> None:
    gateway = FakeGateway(online=False)
    async with bench(tmp_path, gateway) as b:
        turn = await gateway.post()
        assert not b.task.done()
        await gateway.go(online=True)
        await gateway.until_state(turn)


@pytest.mark.parametrize("method", ["whoami", "heartbeat", "claim", "list_turns"])
async def test_a_key_that_is_not_taken_ends_the_bridge_with_the_mend(tmp_path: Path, method: str) -> None:
    gateway = FakeGateway()
    gateway.faults[method].append(GatewayProblem(401, "unauthorized", "", "unknown key"))
    async with bench(tmp_path, gateway) as b:
        await gateway.post()
        assert await b.ended() == 3
    assert "agentmail agent rotate zcode" in b.log.getvalue()


async def test_a_key_of_another_agent_is_noticed_before_anything_is_claimed(tmp_path: Path) -> None:
    """nanobot#3215: a bridge that does not know its own name can't tell its own mail."""
    async with bench(tmp_path, FakeGateway(owner="pi")) as b:
        await b.gateway.post()
        assert await b.ended() == 3
    assert b.gateway.count("claim") == 0
    assert "AGENTMAIL_AGENT_NAME=pi" in b.log.getvalue()


async def test_no_key_and_no_body_reaches_the_log(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        await b.gateway.until_state(await b.gateway.post("my private words"))
    assert "claimed" in b.log.getvalue()
    for hidden in ("my private words", "ama_k3y", "amt_"):
        assert hidden not in b.log.getvalue()


async def test_heartbeats_tell_what_runs_and_what_is_enforced(tmp_path: Path) -> None:
    runner = ScriptedRunner()
    runner.gate.clear()
    async with bench(tmp_path, runner=runner) as b:
        turn = await b.gateway.post()
        await b.gateway.until(lambda: any(beat.busy == 1 and beat.ready for beat in b.gateway.beats))
        runner.gate.set()
        await b.gateway.until_state(turn)
        await b.gateway.until(lambda: b.gateway.beats[-1].busy == 0)
    beat = b.gateway.beats[-1]
    assert (beat.bridge_version, beat.agent_version, beat.max_mode) == ("0.1.0", "1.0", "workspace")
    assert beat.mode_enforcement["plan"].level == "native"


async def test_leftovers_of_a_killed_bridge_are_ended_before_anything_is_claimed(tmp_path: Path) -> None:
    """zai-org/feedback#104: processes left behind."""
    gateway = FakeGateway()
    turn = await gateway.post()
    async with bench(tmp_path, gateway) as b:
        (b.state.turns / "turn_old").mkdir()
        await gateway.until_state(turn)
    assert b.swept[0] == "bridge1"
    assert not list(b.state.turns.iterdir())


async def test_everything_said_at_once_is_answered_once_each(tmp_path: Path) -> None:
    """takopi PR#198: one message run many times."""
    places = "".join(f"w{n}={tmp_path}/w{n};" for n in range(4))
    async with bench(tmp_path, AGENTMAIL_WORKSPACES=places, AGENTMAIL_PARALLEL_TURNS="4") as b:
        turns = await asyncio.gather(*(b.gateway.post(workspace=f"w{n % 4}") for n in range(30)))
        await b.gateway.repeat_events()
        for turn in turns:
            await b.gateway.until_state(turn)
    assert sorted(turn for turn, _ in b.gateway.replies) == sorted(turns)
    assert len(b.runner.requests) == 30


async def test_a_directory_in_which_another_bridge_works_is_waited_for(tmp_path: Path) -> None:
    """mcp_agent_mail#123, takopi#254: two owners of one folder, here of two bridges that share a workspace."""
    shared = (tmp_path / "w").resolve()
    shared.mkdir()
    taken = lock_directory(shared)
    assert taken is not None
    async with bench(tmp_path, AGENTMAIL_WORKSPACES=f"w={shared}") as b:
        turn = await b.gateway.post()
        await b.gateway.until(lambda: bool(b.gateway.releases))
        assert b.gateway.turns[turn].state == "queued"
        assert b.gateway.releases[0][1].reason == BUSY_ELSEWHERE
        claims = b.gateway.count("claim")
        beats = len(b.gateway.beats)
        await b.gateway.until(lambda: len(b.gateway.beats) > beats + 2)
        assert b.gateway.count("claim") == claims
        taken.release()
        assert (await b.gateway.until_state(turn)).state == "answered"
    assert len(b.runner.requests) == 1


async def test_a_workspace_that_moves_away_under_the_set_up_is_noticed_before_the_start(tmp_path: Path) -> None:
    """claude-code#62406: a turn ran in another directory than it was told."""
    place, elsewhere = tmp_path / "w", tmp_path / "elsewhere"
    elsewhere.mkdir()

    class Moving(FakeGateway):
        async def get_attachment(
            self, attachment_id: str, dest: Path, *, size: int | None = None, limit: int | None = None
        ) -> int:
            place.rename(tmp_path / "old")
            place.symlink_to(elsewhere)
            return await super().get_attachment(attachment_id, dest, size=size, limit=limit)

    gateway = Moving()
    gateway.files["att_1"] = ("a", "text/plain", b"x")
    async with bench(tmp_path, gateway, AGENTMAIL_WORKSPACES=f"w={place}") as b:
        turn = await gateway.post(attachments=(Attachment("att_1", "a", "text/plain", 1),))
        assert (await gateway.until_state(turn)).state == "failed"
    assert gateway.replies[0][1].failure is not None
    assert gateway.replies[0][1].failure.class_ == "workspace_gone"
    assert not b.runner.requests


async def test_an_agent_that_mailed_the_sender_itself_and_then_said_nothing_did_not_fail(tmp_path: Path) -> None:
    gateway = FakeGateway()

    async def behave(request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        asked = gateway.mails["mail_0001"]
        own = replace(asked, id="mail_own", from_=AddressRef("zcode", "agent"), to=(asked.from_,), body="by myself")
        gateway.mails["mail_own"] = own
        return Outcome(failure=Failure("empty_answer", "nothing said", "ask"))

    async with bench(tmp_path, gateway, ScriptedRunner(behave)):
        turn = await gateway.post()
        assert (await gateway.until_state(turn)).state == "answered_by_agent"
    assert not gateway.replies


async def test_a_turn_that_has_ended_renews_no_lease(tmp_path: Path) -> None:
    async with bench(tmp_path) as b:
        turn = await b.gateway.post()
        await b.gateway.until_state(turn)
        beats = len(b.gateway.beats)
        await b.gateway.until(lambda: len(b.gateway.beats) > beats + 1)
        renewals = b.gateway.count("renew")
        await b.gateway.until(lambda: len(b.gateway.beats) > beats + 3)
        assert b.gateway.count("renew") == renewals
