"""The turn ledger over HTTP: what a bridge says, who may say it, and what comes back."""

from typing import Any

import pytest

from .support import Process

TURNS = "/api/v1/turns"
HEARTBEAT = {
    "bridge_version": "1",
    "agent_version": "0.16.9",
    "mode_enforcement": {"plan": {"level": "native", "why": "seen"}},
    "max_mode": "workspace",
    "can_ask": False,
    "busy": 0,
}


class Work:
    """An agent with one turn waiting."""

    def __init__(self, gateway: Process, name: str, key: str, turn_id: str, thread_id: str) -> None:
        self.gateway = gateway
        self.name = name
        self.key = key
        self.turn_id = turn_id
        self.thread_id = thread_id

    async def step(self, step: str, body: object = None, **options: Any) -> Any:
        return await self.gateway.ask("POST", f"{TURNS}/{self.turn_id}/{step}", body, token=self.key, **options)

    async def claim(self) -> Any:
        answer = await self.step("claim")
        assert answer.status == 200, answer
        return answer.json

    async def state(self) -> str:
        return str((await self.gateway.ask("GET", f"{TURNS}/{self.turn_id}")).json["state"])


@pytest.fixture
async def work(gateway: Process) -> Work:
    name, key = await gateway.agent()
    mail = await gateway.send(name)
    (receipt,) = mail["receipts"]
    return Work(gateway, name, key, receipt["turn_id"], mail["thread_id"])


async def test_a_turn_is_claimed_run_and_answered(gateway: Process, work: Work) -> None:
    listed = await gateway.ask("GET", f"{TURNS}?state=queued,leased", token=work.key)
    assert [turn["id"] for turn in listed.json["items"]] == [work.turn_id]
    claim = await work.claim()
    assert claim["effective_mode"] == "plan"
    lease = claim["lease"]
    assert (await work.step("start", {"lease": lease})).status == 204
    renewed = await work.step("renew", {"lease": lease})
    assert (renewed.status, renewed.json["cancel_requested"]) == (200, False)
    event = {"seq": 1, "at": "2026-12-01T00:00:00.000Z", "type": "text", "text": "Working"}
    assert (await work.step("progress", {"lease": lease, "events": [event]})).status == 204
    body = {"lease": lease, "outcome": "ok", "body": "Yes."}
    replied = await work.step("reply", body, headers={"Idempotency-Key": "relay-1"})
    assert (replied.status, replied.json["state"]) == (200, "answered")
    assert replied.json["mail"]["auto_submitted"] == "auto-replied"
    again = await work.step("reply", body, headers={"Idempotency-Key": "relay-1"})
    assert (again.status, again.json) == (200, replied.json)
    other = await work.step("reply", body, headers={"Idempotency-Key": "relay-2"})
    assert (other.status, other.code) == (409, "turn_final")


async def test_a_reply_needs_its_relay_key(work: Work) -> None:
    claim = await work.claim()
    answer = await work.step("reply", {"lease": claim["lease"], "outcome": "ok", "body": "Yes."})
    assert (answer.status, answer.code) == (422, "invalid")
    assert "Idempotency-Key" in answer.json["detail"]


async def test_a_turn_is_claimed_once(work: Work) -> None:
    await work.claim()
    answer = await work.step("claim")
    assert (answer.status, answer.code) == (409, "not_claimable")


async def test_a_released_turn_waits_again_and_an_old_lease_is_stale(work: Work) -> None:
    first = await work.claim()
    assert (await work.step("release", {"lease": first["lease"], "reason": "shutdown"})).status == 204
    assert await work.state() == "queued"
    second = await work.claim()
    assert second["lease"] > first["lease"]
    answer = await work.step("renew", {"lease": first["lease"]})
    assert (answer.status, answer.code) == (409, "lease_stale")


async def test_a_turn_is_finished_without_a_mail(work: Work) -> None:
    claim = await work.claim()
    answer = await work.step("finish", {"lease": claim["lease"], "outcome": "no_reply"})
    assert (answer.status, answer.json["state"]) == (200, "no_reply")


async def test_a_waiting_turn_is_cancelled_by_its_sender(gateway: Process, work: Work) -> None:
    _, stranger = await gateway.person()
    path = f"{TURNS}/{work.turn_id}/cancel"
    assert (await gateway.ask("POST", path, token=stranger)).status == 404
    answer = await gateway.ask("POST", path)
    assert (answer.status, answer.json["state"]) == (200, "cancelled")


async def test_only_dead_turns_are_retried_or_dropped(gateway: Process, work: Work) -> None:
    for method, path in (("POST", f"{TURNS}/{work.turn_id}/retry"), ("DELETE", f"{TURNS}/{work.turn_id}")):
        answer = await gateway.ask(method, path)
        assert answer.status == 409, answer
        assert answer.code in {"conflict", "turn_final"}


@pytest.mark.parametrize("step", ["claim", "start", "renew", "release", "progress", "reply", "finish"])
async def test_a_turn_of_another_agent_is_not_found(gateway: Process, work: Work, step: str) -> None:
    _, stranger = await gateway.agent()
    bodies: dict[str, Any] = {
        "start": {"lease": 1},
        "renew": {"lease": 1},
        "release": {"lease": 1, "reason": "x"},
        "progress": {"lease": 1, "events": []},
        "reply": {"lease": 1, "outcome": "ok", "body": "x"},
        "finish": {"lease": 1, "outcome": "no_reply"},
    }
    answer = await gateway.ask(
        "POST",
        f"{TURNS}/{work.turn_id}/{step}",
        bodies.get(step),
        token=stranger,
        headers={"Idempotency-Key": "k"},
    )
    assert (answer.status, answer.code) == (404, "not_found")


async def test_people_claim_nothing(gateway: Process, work: Work) -> None:
    answer = await gateway.ask("POST", f"{TURNS}/{work.turn_id}/claim")
    assert (answer.status, answer.code) == (403, "forbidden")


async def test_an_unknown_state_is_named(gateway: Process) -> None:
    answer = await gateway.ask("GET", f"{TURNS}?state=queued,sleeping")
    assert (answer.status, answer.code) == (422, "invalid")
    assert "sleeping" in answer.json["detail"]


async def test_a_turn_key_reads_and_writes_its_turns_mail_and_no_more(gateway: Process, work: Work) -> None:
    claim = await work.claim()
    turn_key = claim["turn_key"]
    who = await gateway.ask("GET", "/api/v1/whoami", token=turn_key)
    assert (who.json["kind"], who.json["name"], who.json["turn_id"]) == ("turn", work.name, work.turn_id)
    sent = await gateway.ask(
        "POST", "/api/v1/mails", {"to": ["ada"], "body": "Done", "in_reply_to": claim["mail"]["id"]}, token=turn_key
    )
    assert sent.status == 201
    for method, path, body in (
        ("POST", f"{TURNS}/{work.turn_id}/claim", None),
        ("POST", f"{TURNS}/{work.turn_id}/finish", {"lease": claim["lease"], "outcome": "no_reply"}),
        ("POST", f"{TURNS}/{work.turn_id}/cancel", None),
        ("POST", "/api/v1/agents/me/heartbeat", HEARTBEAT),
        ("GET", "/api/v1/events", None),
        ("GET", "/api/v1/permissions", None),
        ("POST", "/api/v1/sign-in-codes", None),
        ("GET", "/api/v1/admin/people", None),
    ):
        answer = await gateway.ask(method, path, body, token=turn_key)
        assert (answer.status, answer.code) == (403, "forbidden"), path
    body = {"lease": claim["lease"], "outcome": "ok", "body": "Done"}
    replied = await work.step("reply", body, headers={"Idempotency-Key": "relay"})
    assert (replied.json["mail"], replied.json["state"]) == (None, "answered_by_agent")
    assert (await gateway.ask("GET", "/api/v1/whoami", token=turn_key)).status == 401


async def test_a_heartbeat_puts_an_agent_online(gateway: Process) -> None:
    name, key = await gateway.agent()
    answer = await gateway.ask("POST", "/api/v1/agents/me/heartbeat", HEARTBEAT, token=key)
    assert (answer.status, answer.content) == (204, b"")
    agents = (await gateway.ask("GET", "/api/v1/agents?limit=200")).json["items"]
    (found,) = [each for each in agents if each["name"] == name]
    assert (found["online"], found["agent_version"]) == (True, "0.16.9")
    assert found["mode_enforcement"]["plan"] == {"level": "native", "why": "seen"}


async def test_agents_are_listed_in_pages(gateway: Process) -> None:
    made = {(await gateway.agent())[0] for _ in range(3)}
    seen: list[str] = []
    path = "/api/v1/agents?limit=2"
    while path:
        page = (await gateway.ask("GET", path)).json
        seen += [each["name"] for each in page["items"]]
        path = f"/api/v1/agents?limit=2&after={page['next']}" if page["next"] else ""
    assert made <= set(seen)
    assert len(seen) == len(set(seen))


async def test_a_permission_question_is_asked_and_decided(gateway: Process, work: Work) -> None:
    claim = await work.claim()
    ask = {"turn_id": work.turn_id, "lease": claim["lease"], "tool": "bash", "summary": "Run the tests"}
    asked = await gateway.ask("POST", "/api/v1/permissions", ask, token=work.key)
    assert asked.status == 201, asked
    path = f"/api/v1/permissions/{asked.json['id']}"
    assert asked.headers["location"] == path
    listed = await gateway.ask("GET", "/api/v1/permissions?state=open&limit=200")
    assert asked.json["id"] in [each["id"] for each in listed.json["items"]]
    by_agent = await gateway.ask("POST", f"{path}/decision", {"decision": "once"}, token=work.key)
    assert (by_agent.status, by_agent.code) == (403, "forbidden")
    decided = await gateway.ask("POST", f"{path}/decision", {"decision": "reject"})
    assert (decided.status, decided.json["decision"], decided.json["decided_by"]) == (200, "reject", "ada")
    assert (await gateway.ask("GET", path, token=work.key)).json["decision"] == "reject"
