"""A turn of the real pi whose network is closed but for its model."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bridge_pi.vendor.wire import Tier

from .machine import Machine, machine

pytestmark = pytest.mark.slow
KEY = "sk-fake-0123456789"


@pytest.fixture
async def pi(tmp_path: Path) -> AsyncIterator[Machine]:
    async with machine(tmp_path, AGENTMAIL_NETWORK="model", AGENTMAIL_MAX_MODE="full") as made:
        yield made


def shell(command: str) -> dict[str, Any]:
    return {"tool": "bash", "arguments": {"command": command}}


def looks(pi: Machine) -> list[dict[str, Any]]:
    """A look for a key, and ways around the proxy: straight, by another name, through it to another place."""
    port = pi.model.port
    return [
        shell("env; tr '\\0' '\\n' < /proc/1/environ; cat ~/.pi/agent/*.json; cat /proc/net/dev"),
        shell(f"curl -sS --noproxy '*' -m 5 http://127.0.0.1:{port}/straight"),
        shell("curl -sS -m 5 https://elsewhere.example/"),
        shell("curl -sS -m 5 http://elsewhere.example/plain"),
        shell("curl -sS -m 5 http://127.0.0.1:18190/agentmail/../api/v1/turns --path-as-is"),
        {"text": "tried"},
    ]


async def test_the_model_is_reached_and_its_key_stays_outside(pi: Machine) -> None:
    outcome = await pi.steps(*looks(pi), tier="workspace")
    assert outcome.text == "tried"
    assert {asked.headers["authorization"] for asked in pi.model.asked} == {f"Bearer {KEY}"}
    assert all(asked.path == "/v1/chat/completions" for asked in pi.model.asked)
    told = pi.told()
    assert KEY not in told
    assert "FAKE_KEY=key-" in told
    assert "eth0" not in told
    assert "Failed to connect to 127.0.0.1" in told or "Couldn't connect to server" in told
    assert "lets this turn reach no elsewhere.example:80" in told
    assert "only what is below /mcp" in told
    assert outcome.note == (
        "The turn was kept from reaching elsewhere.example:443, elsewhere.example:80 (AGENTMAIL_NETWORK=model)."
    )


async def test_a_literal_key_and_a_saved_one_stay_outside_too(pi: Machine) -> None:
    models = json.loads((pi.own / "models.json").read_text())
    models["providers"]["fake"] |= {"apiKey": "sk-literal", "headers": {"X-Team": "$FAKE_KEY", "X-Plain": "sk-plain"}}
    models["providers"]["anthropic"] = {"baseUrl": pi.model.url}
    pi.write(pi.own / "models.json", models)
    pi.write(pi.own / "auth.json", {"anthropic": {"type": "api_key", "key": "sk-saved"}})
    runner = await pi.quick(AGENTMAIL_PI_MODEL="fake/fake-1")
    await pi.steps(shell("cat ~/.pi/agent/*.json; env"), {"text": "x"}, tier="workspace", runner=runner)
    headers = pi.model.asked[0].headers
    assert (headers["authorization"], headers["x-team"], headers["x-plain"]) == ("Bearer sk-literal", KEY, "sk-plain")
    told = pi.told()
    assert not [secret for secret in ("sk-literal", "sk-plain", "sk-saved", KEY) if secret in told]
    runner = await pi.quick(AGENTMAIL_PI_MODEL="anthropic/claude-sonnet-4-5")
    outcome = await pi.steps({"text": "from the other"}, runner=runner)
    assert outcome.text == "from the other", outcome
    assert pi.model.asked[-1].headers["x-api-key"] == "sk-saved"


async def test_a_host_on_the_list_is_reached(pi: Machine) -> None:
    place = f"127.0.0.1:{pi.model.port}"
    runner = await pi.quick(AGENTMAIL_NETWORK_HOSTS=place)
    command = f"curl -sS --noproxy '' -p -x $HTTPS_PROXY http://{place}/by-tunnel"
    outcome = await pi.steps(shell(command), {"text": "x"}, tier="workspace", runner=runner)
    assert "/by-tunnel" in {asked.path for asked in pi.model.asked}
    assert outcome.note == ""


async def test_off_cuts_the_model_off_as_well(pi: Machine) -> None:
    outcome = await pi.steps({"text": "x"}, runner=await pi.quick(AGENTMAIL_NETWORK="off"))
    assert outcome.failure is not None
    assert pi.model.asked == []


async def test_open_is_the_machine_s_own_network(pi: Machine) -> None:
    runner = await pi.quick(AGENTMAIL_NETWORK="open")
    step = shell(f"curl -sS http://127.0.0.1:{pi.model.port}/straight; env")
    await pi.steps(step, {"text": "x"}, tier="workspace", runner=runner)
    assert "/straight" in {asked.path for asked in pi.model.asked}
    assert "PROXY" not in pi.told()


async def test_the_self_check_names_what_is_reached(pi: Machine) -> None:
    _, readiness = await pi.ready()
    found = next(finding for finding in readiness.findings if finding.what == "network")
    assert (found.ok, readiness.ready) == (True, True)
    assert found.found == f"model: only {pi.model.url}/v1 (its key stays outside)"


async def test_without_a_known_place_nothing_runs(pi: Machine) -> None:
    pi.write(pi.own / "models.json", {"providers": {}})
    runner = await pi.quick()
    outcome = await pi.steps({"text": "x"}, runner=runner)
    assert outcome.failure is not None
    assert "AGENTMAIL_NETWORK_HOSTS" in outcome.failure.next_step


@pytest.mark.parametrize("network", ["model", "off"])
async def test_without_a_sandbox_nothing_runs_with_a_closed_network(pi: Machine, network: str) -> None:
    runner = await pi.quick(AGENTMAIL_NETWORK=network)
    runner._cage._proof = None
    tiers: tuple[Tier, ...] = ("plan", "full")
    for tier in tiers:
        outcome = await pi.steps({"text": "x"}, runner=runner, tier=tier)
        assert outcome.failure is not None
        assert outcome.failure.class_ == "tier_unenforceable"
        assert f"AGENTMAIL_NETWORK={network} needs the sandbox" in outcome.failure.message
    assert pi.model.asked == []
