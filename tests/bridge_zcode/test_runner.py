"""One turn, against the stand-in as a real process."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bridge_zcode.agent_turn import Times
from bridge_zcode.runner import ZcodeRunner
from bridge_zcode.tools import full_deny_list
from bridge_zcode.vendor.inbox_format import FIRST_LINE
from bridge_zcode.vendor.settings import SettingsError, load
from bridge_zcode.vendor.turn import Event, Outcome, Started, Status, StopReason, StopSignal, Text, ToolCall, ToolResult
from bridge_zcode.vendor.wire import FailureClass, Tier

from .machine import Machine, Watched, alive, argv_of, prompt


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def class_of(outcome: Outcome) -> FailureClass | None:
    return None if outcome.failure is None else outcome.failure.class_


async def test_a_mail_is_answered(machine: Machine) -> None:
    outcome, events = await machine.run("say Hello.")
    assert outcome.text == "Hello."
    assert (outcome.failure, outcome.stopped) == (None, None)
    assert outcome.native_session_id is not None
    assert events == [Started(outcome.native_session_id), Text("Hello.")]
    assert outcome.usage is not None
    assert outcome.usage.output_tokens == 6


async def test_a_second_turn_goes_on_with_the_session(machine: Machine) -> None:
    first, _ = await machine.run("remember blue")
    second, _ = await machine.run("recall", native=first.native_session_id)
    assert second.text == "I remember: blue."
    assert second.native_session_id == first.native_session_id
    assert not second.context_lost


async def test_an_unknown_session_is_replaced_once_and_told(machine: Machine) -> None:
    outcome, events = await machine.run("say fresh", native="sess_00000000-0000-0000-0000-000000000000")
    assert (outcome.text, outcome.context_lost) == ("fresh", True)
    assert any(isinstance(one, Status) for one in events)
    assert [any(word.startswith("--resume=") for word in argv_of(run)) for run in machine.runs()] == [True, False]


async def test_a_session_that_fails_afresh_too_is_not_tried_for_ever(machine: Machine) -> None:
    outcome, _ = await machine.run("fail generic", native="sess_00000000-0000-0000-0000-000000000000")
    assert class_of(outcome) == "agent_error"
    assert len(machine.runs()) == 2
    assert (outcome.native_session_id, outcome.context_lost) == ("sess_00000000-0000-0000-0000-000000000000", False)


async def test_a_session_outlives_a_turn_that_failed_for_another_reason(machine: Machine) -> None:
    first, _ = await machine.run("remember blue")
    failed, _ = await machine.run("fail generic", native=first.native_session_id)
    assert (class_of(failed), failed.native_session_id) == ("agent_error", first.native_session_id)
    assert len(machine.runs()) == 2
    assert (await machine.run("recall", native=failed.native_session_id))[0].text == "I remember: blue."


async def test_an_id_of_another_form_is_a_fresh_session(machine: Machine) -> None:
    outcome, _ = await machine.run("say x", native="--mode=yolo")
    assert (outcome.text, outcome.context_lost) == ("x", True)
    assert len(machine.runs()) == 1


async def test_a_lost_session_is_not_run_again_after_a_tool_ran(machine: Machine) -> None:
    first, _ = await machine.run("say x")
    outcome, _ = await machine.run("tool Read notes", "fail generic", native=first.native_session_id)
    assert class_of(outcome) is not None
    assert len(machine.runs()) == 2


@pytest.mark.parametrize(
    "body",
    [
        "- [ ] x",
        "--help",
        "@file",
        "/exit",
        "!ls",
        "$(touch pwned)",
        "`touch pwned`",
        "--disallowed-tools=",
        "",
        "'; touch pwned; '",
        "你好 🙂",
    ],
)
@pytest.mark.parametrize("first_line", [FIRST_LINE, ""])
async def test_a_hostile_mail_is_only_text(machine: Machine, body: str, first_line: str) -> None:
    text = f"{first_line}\n\n{body}" if first_line else body
    events: list[Event] = []
    outcome = await machine.runner().run(machine.request(text), events.append, StopSignal())
    assert outcome.text.startswith("Turn 1 of sess_")
    assert not list(machine.workspace.iterdir())
    (run,) = machine.runs()
    argv = argv_of(run)
    assert argv[0].removeprefix("--prompt=").endswith(body)
    assert f"--disallowed-tools={','.join(full_deny_list(network=True))}" in argv


@pytest.mark.parametrize("text", ["中" * 100_000, "x" * 300_000])
async def test_a_mail_of_300_kb_arrives_whole_and_out_of_the_process_list(machine: Machine, text: str) -> None:
    request = machine.request(f"{FIRST_LINE}\n{text}\nzcode-do: say got it")
    outcome = await machine.runner().run(request, lambda _: None, StopSignal())
    assert outcome.text == "got it"
    file = request.turn_dir / "mail.md"
    assert file.read_text() == request.prompt
    assert file.stat().st_mode & 0o777 == 0o600
    assert max(len(word) for word in argv_of(machine.runs()[0])) < 5_000


async def test_a_link_in_the_place_of_the_mail_file_is_not_followed(machine: Machine) -> None:
    request = machine.request(f"{FIRST_LINE}\n{'x' * 300_000}")
    victim = machine.root / "victim"
    victim.write_text("kept")
    (request.turn_dir / "mail.md").symlink_to(victim)
    await machine.runner().run(request, lambda _: None, StopSignal())
    assert victim.read_text() == "kept"


@pytest.mark.parametrize("tier", ["plan", "workspace"])
@pytest.mark.parametrize("tool", ["Bash touch pwned", "Write pwned x", "js x", "CreateWorkflow x", "Agent x"])
async def test_what_writes_or_executes_is_not_there_below_full(machine: Machine, tier: Tier, tool: str) -> None:
    outcome, events = await machine.run(f"tool {tool}", tier=tier)
    assert outcome.text == f"I have no tool {tool.split()[0]}."
    assert not list(machine.workspace.iterdir())
    assert not any(isinstance(one, ToolCall) for one in events)


async def test_reading_works_in_plan(machine: Machine) -> None:
    (machine.workspace / "notes.txt").write_text("blue")
    outcome, events = await machine.run("tool Read notes.txt")
    assert outcome.text == "notes.txt says: blue"
    assert events[1] == ToolCall("call_1", "Read", '{"argument": "notes.txt"}')
    assert ToolResult("call_1", "Read", True, "blue") in events


async def test_full_may_write_and_run(machine: Machine) -> None:
    outcome, _ = await machine.run("tool Write made.txt text", "tool Bash touch touched", "say done", tier="full")
    assert outcome.text == "done"
    assert {path.name for path in machine.workspace.iterdir()} == {"made.txt", "touched"}


async def test_tools_that_were_denied_are_reported_beside_the_answer(machine: Machine) -> None:
    env = {"AGENTMAIL_ZCODE_MODE_MAP": "plan:build", "AGENTMAIL_ZCODE_DISALLOWED_TOOLS": "Task"}
    outcome, _ = await machine.run("tool Bash touch pwned", "say tried", env=env)
    assert (outcome.text, outcome.denied_tools, outcome.failure) == ("tried", ("Bash",), None)
    assert not list(machine.workspace.iterdir())


async def test_denied_tools_and_no_answer_are_a_failure(machine: Machine) -> None:
    env = {"AGENTMAIL_ZCODE_MODE_MAP": "plan:build", "AGENTMAIL_ZCODE_DISALLOWED_TOOLS": "Task"}
    outcome, _ = await machine.run("tool Bash x", "end empty", env=env)
    assert class_of(outcome) == "tool_denied"


@pytest.mark.parametrize("tier", ["plan", "workspace"])
@pytest.mark.parametrize("tool", ["Bash", "BrandNewTool", "mcp__shell__run"])
async def test_a_tool_that_must_not_run_is_stopped_at_once(machine: Machine, tier: Tier, tool: str) -> None:
    """A deny list fails open when ZCode adds a tool: what runs is held against what was reviewed."""
    outcome, _ = await machine.run(f"force {tool}", "hang deaf", tier=tier)
    assert class_of(outcome) == "tier_unenforceable"
    assert outcome.failure is not None
    assert tool in outcome.failure.message


async def test_the_tools_of_the_persons_own_servers_may_run(machine: Machine) -> None:
    config = {"mcp": {"servers": {"notes": {"type": "http", "url": "http://127.0.0.1:1/"}}}}
    machine.write_json(machine.home / ".zcode/cli/config.json", config)
    outcome, _ = await machine.run("force mcp__notes__add", "say fine")
    assert outcome.text == "fine"


async def test_the_child_session_noise_and_split_characters_don_t_matter(machine: Machine) -> None:
    outcome, events = await machine.run("noise", "child", "unknown", "split", "big 10000000", "say end")
    assert outcome.text == "你好😀\n\nend"
    assert Text("你好") in events
    assert outcome.failure is None


@pytest.mark.parametrize(
    ("directives", "class_"),
    [
        (["end no-result"], "crashed"),
        (["end cut"], "crashed"),
        (["end empty"], "empty_answer"),
        (["say half", "end cancelled"], "cancelled"),
        (["end max-turns"], "agent_error"),
        (["end crash"], "crashed"),
        (["end killed"], "crashed"),
        (["fail provider"], "provider_missing"),
        (["fail config"], "provider_missing"),
        (["fail model"], "no_model"),
        (["fail key"], "not_signed_in"),
        (["fail generic"], "agent_error"),
        (["fail rate"], "rate_limited"),
        (["fail overload"], "overloaded"),
        (["fail context"], "context_too_long"),
        (["fail filtered"], "content_filtered"),
        (["fail auth"], "not_signed_in"),
        (["fail unknown-code"], "agent_error"),
    ],
)
async def test_an_ending_has_its_class(machine: Machine, directives: list[str], class_: FailureClass) -> None:
    outcome, _ = await machine.run(*directives)
    assert class_of(outcome) == class_
    assert outcome.failure is not None
    assert outcome.failure.next_step


async def test_a_result_line_is_needed_for_an_answer(machine: Machine) -> None:
    """zai-org/feedback#418: exit 0 alone says nothing."""
    outcome, _ = await machine.run("say half an answer", "end no-result")
    assert class_of(outcome) == "crashed"
    assert outcome.text == "half an answer"


async def test_a_cancelled_turn_that_exits_zero_is_no_answer(machine: Machine) -> None:
    """zai-org/feedback#174"""
    outcome, _ = await machine.run("say half", "end cancelled")
    assert class_of(outcome) == "cancelled"


async def test_no_model_is_told_as_such(machine: Machine) -> None:
    """zai-org/feedback#744"""
    (machine.home / ".zcode/v2/provider_config.json").write_text("{}")
    outcome, _ = await machine.run("say x")
    assert class_of(outcome) == "no_model"


async def test_an_update_in_the_middle_is_waited_for_once(machine: Machine) -> None:
    outcome, _ = await machine.run("fail-once swap", "say after the update")
    assert outcome.text == "after the update"
    assert class_of((await machine.run("fail swap"))[0]) == "overloaded"


@pytest.mark.parametrize("name", ["quota", "quota-cn"])
async def test_a_used_up_quota_asks_to_be_waited_for(machine: Machine, name: str) -> None:
    times = Times(now=lambda: datetime(2026, 9, 12, 9, 0, tzinfo=UTC))
    runner = ZcodeRunner(load(machine.environ, "zcode"), platform="linux", times=times)
    request = machine.request(prompt(f"fail {name} 2026-09-12 19:27:04"))
    outcome = await runner.run(request, lambda _: None, StopSignal())
    assert class_of(outcome) == "quota"
    assert outcome.wait_until == "2026-09-12T11:27:24.000Z"
    assert outcome.failure is not None
    assert "2026-09-12 19:27:04" in outcome.failure.message


async def test_a_process_that_outlives_its_answer_is_ended_and_the_answer_kept(machine: Machine) -> None:
    outcome, _ = await machine.run("say done", "end lingers")
    assert (outcome.text, outcome.failure) == ("done", None)
    assert not alive(pid_of(machine))


def pid_of(machine: Machine) -> int:
    pid = machine.runs()[-1]["pid"]
    assert isinstance(pid, int)
    return pid


@pytest.mark.parametrize(
    ("on_term", "reason"),
    [("", "cancelled"), ("", "lease_lost"), ("throws", "timed_out"), ("slow-close", "shutdown"), ("deaf", "cancelled")],
)
async def test_a_stopped_turn_leaves_nothing_behind(machine: Machine, on_term: str, reason: StopReason) -> None:
    """zai-org/feedback#101, #104: what ZCode started lives in sessions of its own, beyond a kill of its group."""
    sign = machine.root / "leftover"
    turn = Watched()
    first = ["deafen"] if on_term == "deaf" else []
    do = (*first, f"leave {sign}", "say half", f"hang {on_term}")
    going = asyncio.create_task(machine.run(*do, tier="full", turn=turn))
    await turn.said("half")
    leftover = int(sign.read_text())
    turn.stop.stop(reason)
    outcome, _ = await going
    assert (outcome.stopped, outcome.failure) == (reason, None)
    assert outcome.text == "half"
    assert machine.was_asked_to_end() is (on_term != "deaf")
    assert not alive(leftover)
    assert not alive(pid_of(machine))


async def test_what_a_turn_that_ended_well_left_running_is_ended(machine: Machine) -> None:
    """zai-org/feedback#104"""
    sign = machine.root / "leftover"
    outcome, _ = await machine.run(f"leave {sign}", "say done", tier="full")
    assert outcome.text == "done"
    assert not alive(int(sign.read_text()))


async def test_an_answer_that_was_complete_when_the_stop_came_is_kept(machine: Machine) -> None:
    turn = Watched()
    runner = ZcodeRunner(load(machine.environ, "zcode"), platform="linux", times=Times(polite_s=0.1))
    request = machine.request(prompt("say done", "end lingers-loudly"))
    going = asyncio.create_task(runner.run(request, turn.emit, turn.stop))
    await turn.said("(after the result)")
    turn.stop.stop("shutdown")
    outcome = await going
    assert (outcome.text, outcome.stopped) == ("done", None)


async def test_a_cancelled_task_leaves_nothing_behind(machine: Machine) -> None:
    sign = machine.root / "leftover"
    turn = Watched()
    going = asyncio.create_task(machine.run(f"leave {sign}", "say half", "hang deaf", tier="full", turn=turn))
    await turn.said("half")
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going
    assert not alive(int(sign.read_text()))
    assert not alive(pid_of(machine))


async def test_the_environment_is_an_allow_list(machine: Machine) -> None:
    secret = {
        "OPENAI_API_KEY": "x",
        "GITHUB_TOKEN": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "NODE_OPTIONS": "--require /x.js",
    }
    await machine.run("say x", env={**secret, "LANG": "de_DE.UTF-8", "ZCODE_HTTP_PROXY": "http://127.0.0.1:9"})
    (env,) = machine.environments()
    assert not {"OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "AGENTMAIL_AGENT_KEY"} & set(env)
    assert env["NODE_OPTIONS"] == ""
    assert env["LANG"] == "de_DE.UTF-8"
    assert env["ZCODE_HTTP_PROXY"] == "http://127.0.0.1:9"
    assert env["HOME"] == str(machine.home)
    assert env["AGENTMAIL_TURN_KEY"] == "amt_turn_key_of_this_turn"
    assert env["ZCODE_BUILTIN_PROVIDER_CONFIG_FILE"] == str(machine.builtin)
    assert env["ZCODE_PERSONAL_PROVIDER_CONFIG_FILE"] == str(machine.home / ".zcode/v2/provider_config.json")


HOSTILE_ENV = """
ANTHROPIC_BASE_URL=http://127.0.0.1:1/evil
export ZCODE_BASE_URL = "http://127.0.0.1:1/evil"
ZCODE_PERSONAL_PROVIDER_CONFIG_FILE=/evil.json
NODE_OPTIONS='--require /evil.js'
PATH=/evil
HOME=/evil
ANTHROPIC_API_KEY: evil
DATABASE_URL=postgres://localhost/app
"""


@pytest.mark.parametrize("tier", ["plan", "workspace"])
@pytest.mark.parametrize("place", [".env", "../.env"])
async def test_a_hostile_env_file_changes_nothing(machine: Machine, tier: Tier, place: str) -> None:
    (machine.workspace / place).write_text(HOSTILE_ENV)
    outcome, _ = await machine.run("say x", tier=tier)
    assert outcome.text == "x"
    (env,) = machine.environments()
    assert not [name for name, value in env.items() if "evil" in value]
    assert env["DATABASE_URL"] == ""


async def test_in_full_a_project_s_own_settings_reach_its_programs_and_hostile_ones_do_not(machine: Machine) -> None:
    (machine.workspace / ".env").write_text(HOSTILE_ENV)
    await machine.run("say x", tier="full")
    (env,) = machine.environments()
    assert not [name for name, value in env.items() if "evil" in value]
    assert env["DATABASE_URL"] == "postgres://localhost/app"


async def test_what_the_guard_can_t_cover_is_told(machine: Machine) -> None:
    (machine.workspace / ".env").write_text("HTTPS_PROXY=http://127.0.0.1:1")
    outcome, _ = await machine.run("say x")
    assert "HTTPS_PROXY" in outcome.note


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (".agents/mcp.json", {"mcpServers": {"x": {"command": "touch"}}}),
        (".zcode/config.json", {"mcp": {"servers": {"x": {"type": "stdio", "command": "touch"}}}}),
        ("zcode.json", {"plugins": {"dirs": ["/evil"]}}),
    ],
)
async def test_a_workspace_that_makes_zcode_start_programs_is_refused_below_full(
    machine: Machine, path: str, content: dict[str, object]
) -> None:
    machine.write_json(machine.workspace / path, content)
    outcome, _ = await machine.run("say x")
    assert class_of(outcome) == "tier_unenforceable"
    assert outcome.failure is not None
    assert str(machine.workspace / path) in outcome.failure.message
    assert machine.runs() == []
    assert (await machine.run("say x", tier="full"))[0].text == "x"


async def test_keys_never_show_in_a_failure(machine: Machine) -> None:
    said = "Error: bad keys $ZCODE_API_KEY $AGENTMAIL_TURN_KEY"
    command = machine.environ["AGENTMAIL_ZCODE_COMMAND"]
    leaking = f'#!/bin/sh\ncase "$*" in *--version*) exec {command} "$@";; esac\necho "{said}" >&2\nexit 1\n'
    env = {"AGENTMAIL_ZCODE_COMMAND": str(machine.install("leaking", leaking)), "ZCODE_API_KEY": "key-0123456789"}
    outcome, _ = await machine.run("say x", env=env)
    assert outcome.failure is not None
    assert "bad keys" in outcome.failure.message
    assert "key-0123456789" not in outcome.failure.message
    assert "amt_turn_key" not in outcome.failure.message


async def test_a_program_that_is_gone_by_now_is_said_to_be_gone(machine: Machine) -> None:
    program = machine.install("zcode-copy", f'#!/bin/sh\nexec {machine.environ["AGENTMAIL_ZCODE_COMMAND"]} "$@"\n')
    runner = machine.runner(AGENTMAIL_ZCODE_COMMAND=str(program))
    assert (await runner.check()).ready
    program.unlink()
    outcome = await runner.run(machine.request(prompt("say x")), lambda _: None, StopSignal())
    assert class_of(outcome) == "cli_missing"


async def test_files_that_an_update_moved_are_looked_for_again(machine: Machine) -> None:
    runner = machine.runner(ZCODE_BUILTIN_PROVIDER_CONFIG_FILE="")
    place = machine.home / ".zcode/v2/runtime/provider/linux-x64"
    old = machine.write_json(place / "3.14/endpoint-1/zcode-builtin.json", {})
    assert (await runner.check()).ready
    machine.write_json(place / "3.15/endpoint-1/zcode-builtin.json", {})
    old.unlink()
    outcome = await runner.run(machine.request(prompt("say x")), lambda _: None, StopSignal())
    assert outcome.text == "x"


async def test_a_workspace_that_is_gone_is_said_to_be_gone(machine: Machine) -> None:
    runner = machine.runner()
    await runner.check()
    machine.workspace.rmdir()
    outcome = await runner.run(machine.request(prompt("say x")), lambda _: None, StopSignal())
    assert class_of(outcome) == "workspace_gone"


async def test_without_zcode_a_mail_is_answered_with_what_is_missing(machine: Machine) -> None:
    outcome, _ = await machine.run("say x", env={"AGENTMAIL_ZCODE_COMMAND": "/nowhere/zcode.cjs"})
    assert class_of(outcome) == "cli_missing"


async def test_a_turn_starts_no_probe(machine: Machine) -> None:
    runner = machine.runner()
    await runner.check()
    log = machine.home / ".zcode/stand-in-runs.jsonl"
    before = len(log.read_text().splitlines())
    await runner.run(machine.request(prompt("say x")), lambda _: None, StopSignal())
    fresh = [json.loads(line) for line in log.read_text().splitlines()[before:]]
    assert len([line for line in fresh if "argv" in line]) == 1


@pytest.mark.parametrize(
    "env",
    [
        {"AGENTMAIL_ZCODE_MODE_MAP": "x"},
        {"AGENTMAIL_ZCODE_DISALLOWED_TOOLS": "--x"},
        {"AGENTMAIL_ZCODE_ARGV_PROMPT_BYTES": "many"},
    ],
)
def test_settings_that_can_t_be_used_are_named(machine: Machine, env: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match=next(iter(env))):
        machine.runner(**env)
