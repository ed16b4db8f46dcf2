"""Administration over HTTP."""

import json
from typing import Any

import pytest

from .support import Process

ADMIN = "/api/v1/admin"
ROUTES: list[tuple[str, str, Any]] = [
    ("POST", "agents", {"name": "x"}),
    ("POST", "agents/x/rotate", None),
    ("PATCH", "agents/x", {"paused": True}),
    ("GET", "people", None),
    ("POST", "people", {"name": "x"}),
    ("POST", "people/x/rotate", None),
    ("PATCH", "people/x", {"display": "X"}),
    ("GET", "trust", None),
    ("PUT", "trust", {"sender": "x", "tier": "full"}),
    ("GET", "limits", None),
    ("PUT", "limits", {}),
    ("GET", "audit", None),
    ("GET", "export", None),
]


@pytest.mark.parametrize(("method", "path", "body"), ROUTES)
async def test_administration_is_for_administrators(gateway: Process, method: str, path: str, body: Any) -> None:
    _, token = await gateway.person()
    _, key = await gateway.agent()
    for credential in (token, key):
        answer = await gateway.ask(method, f"{ADMIN}/{path}", body, token=credential)
        assert (answer.status, answer.code) == (403, "forbidden")


async def test_a_key_is_shown_once_and_in_no_list(gateway: Process) -> None:
    """AgentChatBus#8, mcp-memory-service#1117"""
    name, key = await gateway.agent()
    person, token = await gateway.person()
    shown = b""
    for path in (
        "/api/v1/agents?limit=200",
        f"{ADMIN}/people?limit=200",
        f"{ADMIN}/audit?limit=200",
        f"{ADMIN}/export",
    ):
        answer = await gateway.ask("GET", path)
        assert answer.status == 200, path
        shown += answer.content
    assert name.encode() in shown
    assert person.encode() in shown
    for secret in (key, token, gateway.admin):
        assert secret.encode() not in shown
        assert secret.encode() not in gateway.log.read_bytes()


async def test_a_taken_name_is_a_conflict(gateway: Process) -> None:
    name, _ = await gateway.agent()
    for kind in ("agents", "people"):
        answer = await gateway.ask("POST", f"{ADMIN}/{kind}", {"name": name})
        assert (answer.status, answer.code) == (409, "conflict")


@pytest.mark.parametrize("kind", ["agents", "people"])
async def test_a_rotated_key_replaces_the_old_one(gateway: Process, kind: str) -> None:
    name, old = await (gateway.agent() if kind == "agents" else gateway.person())
    answer = await gateway.ask("POST", f"{ADMIN}/{kind}/{name}/rotate")
    assert (answer.status, answer.json["name"]) == (200, name)
    assert (await gateway.ask("GET", "/api/v1/whoami", token=old)).status == 401
    assert (await gateway.ask("GET", "/api/v1/whoami", token=answer.json["key"])).status == 200
    assert (await gateway.ask("POST", f"{ADMIN}/{kind}/nobody-here/rotate")).status == 404


async def test_an_agent_is_paused_capped_and_disabled(gateway: Process) -> None:
    name, key = await gateway.agent()
    answer = await gateway.ask("PATCH", f"{ADMIN}/agents/{name}", {"paused": True, "max_mode": "plan"})
    assert (answer.status, answer.json["paused"], answer.json["max_mode"]) == (200, True, "plan")
    answer = await gateway.ask("PATCH", f"{ADMIN}/agents/{name}", {"paused": False})
    assert (answer.json["paused"], answer.json["max_mode"]) == (False, "plan")
    assert (await gateway.ask("PATCH", f"{ADMIN}/agents/{name}", {"disabled": True})).json["disabled"] is True
    assert (await gateway.ask("GET", "/api/v1/whoami", token=key)).status == 401


async def test_people_are_listed_and_changed(gateway: Process) -> None:
    name, _ = await gateway.person()
    answer = await gateway.ask("PATCH", f"{ADMIN}/people/{name}", {"display": "Someone"})
    assert (answer.status, answer.json["display"]) == (200, "Someone")
    people = (await gateway.ask("GET", f"{ADMIN}/people?limit=200")).json["items"]
    assert {"ada", name} <= {person["name"] for person in people}


async def test_trust_is_set_and_taken_back(gateway: Process) -> None:
    name, _ = await gateway.person()
    answer = await gateway.ask("PUT", f"{ADMIN}/trust", {"sender": name, "tier": "full"})
    assert (answer.status, answer.json["tier"]) == (200, "full")
    listed = (await gateway.ask("GET", f"{ADMIN}/trust?limit=200")).json["items"]
    assert {"sender": name, "tier": "full", "explicit": True} in listed
    answer = await gateway.ask("PUT", f"{ADMIN}/trust", {"sender": name, "tier": None})
    assert (answer.json["tier"], answer.json["explicit"]) == ("workspace", False)


async def test_limits_are_read_and_replaced(gateway: Process) -> None:
    before = (await gateway.ask("GET", f"{ADMIN}/limits")).json
    answer = await gateway.ask("PUT", f"{ADMIN}/limits", before | {"hops": 3})
    assert (answer.status, answer.json["hops"]) == (200, 3)
    assert (await gateway.ask("GET", f"{ADMIN}/limits")).json["hops"] == 3
    assert (await gateway.ask("PUT", f"{ADMIN}/limits", before)).json == before
    assert (await gateway.ask("PUT", f"{ADMIN}/limits", {"hopes": 3})).code == "invalid"


async def test_the_export_is_json_lines(gateway: Process) -> None:
    mail = await gateway.send("ada", subject="Exported")
    answer = await gateway.ask("GET", f"{ADMIN}/export")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/x-ndjson")
    assert answer.headers["content-disposition"].startswith("attachment")
    lines = [json.loads(line) for line in answer.content.splitlines()]
    assert mail["id"].encode() in answer.content
    assert all(isinstance(line, dict) for line in lines)
