"""A turn of the real dsh whose network is closed but for its model."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bridge_dsh.model_network import lead, own_hosts
from bridge_dsh.vendor.wire import Tier

from .machine import Machine, machine

slow = pytest.mark.slow
KEY = "sk-fake-0123456789"


@pytest.fixture
async def dsh(tmp_path: Path) -> AsyncIterator[Machine]:
    async with machine(tmp_path, AGENTMAIL_NETWORK="model", AGENTMAIL_MAX_MODE="full") as made:
        yield made


def shell(command: str) -> dict[str, Any]:
    return {"tool": "bash", "arguments": {"command": command, "description": "x"}}


@slow
@pytest.mark.parametrize("tier", ["plan", "workspace"])
async def test_the_model_is_reached_and_its_key_stays_outside(dsh: Machine, tier: Tier) -> None:
    steps = [
        shell("env; tr '\\0' '\\n' < /proc/1/environ; cat /proc/*/environ | tr '\\0' '\\n'"),
        shell(f"curl -sS --noproxy '*' -m 5 http://127.0.0.1:{dsh.model.port}/straight"),
        shell("curl -sS -m 5 -x http://127.0.0.1:18190 https://elsewhere.example/"),
        {"text": "tried"},
    ]
    outcome = await dsh.steps(*steps, tier=tier)
    assert outcome.text == "tried"
    assert {asked.headers["x-api-key"] for asked in dsh.model.asked} == {KEY}
    told = dsh.told()
    assert KEY not in told
    assert "DEEPSEEK_API_KEY=key-" in told
    assert "Failed to connect to 127.0.0.1" in told or "Couldn't connect to server" in told
    assert outcome.note == "The turn was kept from reaching elsewhere.example:443 (AGENTMAIL_NETWORK=model)."


@slow
async def test_off_cuts_the_model_off_as_well(dsh: Machine) -> None:
    outcome = await dsh.steps({"text": "x"}, runner=await dsh.quick(AGENTMAIL_NETWORK="off"))
    assert outcome.failure is not None
    assert dsh.model.asked == []


@slow
@pytest.mark.parametrize("network", ["model", "off"])
async def test_without_a_sandbox_nothing_runs_with_a_closed_network(dsh: Machine, network: str) -> None:
    runner = await dsh.quick(AGENTMAIL_NETWORK=network)
    runner._cage._proof = None
    outcome = await dsh.steps({"text": "x"}, runner=runner)
    assert outcome.failure is not None
    assert f"AGENTMAIL_NETWORK={network} needs the sandbox" in outcome.failure.message
    assert dsh.model.asked == []


def test_the_key_is_exchanged_for_a_word_and_the_url_for_the_bridge_s() -> None:
    env, reach = lead({"DEEPSEEK_API_KEY": KEY, "OTHER_KEY": "inside"}, lambda: "word")
    base = "http://127.0.0.1:18190/deepseek/anthropic"
    assert env == {"DEEPSEEK_API_KEY": "word", "OTHER_KEY": "inside", "DEEPSEEK_BASE_URL": base}
    assert reach.routes[0].base == "https://api.deepseek.com/anthropic"
    assert reach.routes[0].secrets == {"word": KEY}


def test_another_provider_has_to_be_named() -> None:
    env, reach = lead({"OTHER_KEY": "inside"}, lambda: "word")
    assert (env, reach.routes, reach.hosts) == ({"OTHER_KEY": "inside"}, (), ())
    assert own_hosts({"OTHER_KEY": "inside"}) == ()


def test_the_host_of_the_user_s_own_variables() -> None:
    assert own_hosts({"DEEPSEEK_API_KEY": KEY}) == ("api.deepseek.com:443",)
    assert own_hosts({"DEEPSEEK_API_KEY": KEY, "DEEPSEEK_BASE_URL": "http://a.example/x"}) == ("a.example:80",)
