"""The table of routes, the router and the OpenAPI document say the same."""

import json
import re
from typing import Any

import pytest

from agentmail_gateway.http.openapi import document
from agentmail_gateway.http.problem_reply import ALL_CODES
from agentmail_gateway.http.route import Call, route
from agentmail_gateway.http.routes import ROUTES
from agentmail_gateway.problems import CODES

from .support import Process

API = "/api/v1"
# The contract: who may call what. Everything else on these paths is 405.
CONTRACT = {
    ("GET", "/"): "public",
    ("GET", "/healthz"): "public",
    ("GET", "/readyz"): "public",
    ("GET", "/metrics"): "public",
    ("GET", f"{API}/openapi.json"): "public",
    ("POST", f"{API}/sign-in"): "public",
    ("POST", f"{API}/sign-in-codes"): "person",
    ("POST", f"{API}/sign-out"): "person",
    ("GET", f"{API}/whoami"): "agent person turn",
    ("POST", f"{API}/mails"): "agent person turn",
    ("GET", f"{API}/mails"): "agent person turn",
    ("GET", f"{API}/mails/{{mail_id}}"): "agent person turn",
    ("PUT", f"{API}/mails/{{mail_id}}/read"): "agent person turn",
    ("DELETE", f"{API}/mails/{{mail_id}}/read"): "agent person turn",
    ("GET", f"{API}/threads"): "agent person turn",
    ("GET", f"{API}/threads/{{thread_id}}"): "agent person turn",
    ("GET", f"{API}/search"): "agent person turn",
    ("POST", f"{API}/attachments"): "agent person turn",
    ("GET", f"{API}/attachments/{{attachment_id}}"): "agent person turn",
    ("GET", f"{API}/agents"): "agent person turn",
    ("POST", f"{API}/agents/me/heartbeat"): "agent",
    ("GET", f"{API}/events"): "agent person",
    ("GET", f"{API}/turns"): "agent person turn",
    ("GET", f"{API}/turns/{{turn_id}}"): "agent person turn",
    ("DELETE", f"{API}/turns/{{turn_id}}"): "person",
    ("POST", f"{API}/turns/{{turn_id}}/claim"): "agent",
    ("POST", f"{API}/turns/{{turn_id}}/start"): "agent",
    ("POST", f"{API}/turns/{{turn_id}}/renew"): "agent",
    ("POST", f"{API}/turns/{{turn_id}}/release"): "agent",
    ("POST", f"{API}/turns/{{turn_id}}/progress"): "agent",
    ("POST", f"{API}/turns/{{turn_id}}/reply"): "agent",
    ("POST", f"{API}/turns/{{turn_id}}/finish"): "agent",
    ("POST", f"{API}/turns/{{turn_id}}/cancel"): "agent person",
    ("POST", f"{API}/turns/{{turn_id}}/retry"): "agent person",
    ("POST", f"{API}/permissions"): "agent",
    ("GET", f"{API}/permissions"): "agent person",
    ("GET", f"{API}/permissions/{{permission_id}}"): "agent person",
    ("POST", f"{API}/permissions/{{permission_id}}/decision"): "person",
    ("POST", f"{API}/admin/agents"): "admin",
    ("PATCH", f"{API}/admin/agents/{{name}}"): "admin",
    ("POST", f"{API}/admin/agents/{{name}}/rotate"): "admin",
    ("GET", f"{API}/admin/people"): "admin",
    ("POST", f"{API}/admin/people"): "admin",
    ("PATCH", f"{API}/admin/people/{{name}}"): "admin",
    ("POST", f"{API}/admin/people/{{name}}/rotate"): "admin",
    ("GET", f"{API}/admin/trust"): "admin",
    ("PUT", f"{API}/admin/trust"): "admin",
    ("GET", f"{API}/admin/limits"): "admin",
    ("PUT", f"{API}/admin/limits"): "admin",
    ("GET", f"{API}/admin/audit"): "admin",
    ("GET", f"{API}/admin/export"): "admin",
}
DOCUMENT: dict[str, Any] = json.loads(document(ROUTES, "1.0"))


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method.upper(), path, operation)
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
    ]


def test_the_table_is_the_contract() -> None:
    table = {
        (each.method, each.path): "admin" if each.admin else " ".join(sorted(each.who)) or "public" for each in ROUTES
    }
    assert table == CONTRACT
    assert len(ROUTES) == len(CONTRACT)


def test_the_document_lists_exactly_the_table() -> None:
    assert {(method, path) for method, path, _ in operations()} == set(CONTRACT)


async def test_the_router_knows_exactly_the_table(gateway: Process) -> None:
    methods = ("DELETE", "GET", "PATCH", "POST", "PUT")
    for path in {path for _, path in CONTRACT}:
        real = re.sub(r"{\w+}", "nothing", path)
        for method in methods:
            if (method, path) in CONTRACT:
                if path != f"{API}/events":
                    answer = await gateway.ask(method, real, token="wrong")
                    assert answer.status != 405, (method, path)
                    assert answer.status in {401, 429} or CONTRACT[method, path] == "public", (method, path)
            else:
                answer = await gateway.ask(method, real)
                assert answer.code == "method_not_allowed"
                allowed = answer.headers["allow"].split(", ")
                assert [each for each in methods if each in allowed] == [
                    each for each in methods if (each, path) in CONTRACT
                ]


async def test_the_served_document_is_the_table_s(gateway: Process) -> None:
    answer = await gateway.ask("GET", f"{API}/openapi.json", token=None)
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json["paths"] == DOCUMENT["paths"]


def test_the_document_has_the_form_of_openapi() -> None:
    assert DOCUMENT["openapi"] == "3.1.0"
    assert set(DOCUMENT["info"]) >= {"title", "version"}
    names = [operation["operationId"] for _, _, operation in operations()]
    assert len(set(names)) == len(names)
    schemes = DOCUMENT["components"]["securitySchemes"]
    for method, path, operation in operations():
        assert operation["summary"], (method, path)
        for parameter in operation.get("parameters", []):
            assert parameter["in"] in {"path", "query", "header"}
            assert isinstance(parameter["schema"], dict)
            assert parameter["required"] or parameter["in"] != "path"
        in_path = [each["name"] for each in operation.get("parameters", []) if each["in"] == "path"]
        assert in_path == re.findall(r"{(\w+)}", path)
        assert any(status.startswith("2") for status in operation["responses"])
        for status, response in operation["responses"].items():
            assert re.fullmatch(r"[245]\d\d", status)
            assert response["description"]
            assert ("content" in response) == (status != "204")
        for requirement in operation["security"]:
            assert set(requirement) <= set(schemes)


def test_every_reference_leads_somewhere_and_every_schema_is_used() -> None:
    used = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(DOCUMENT)))
    assert used == set(DOCUMENT["components"]["schemas"])


def test_every_code_is_in_the_document_and_on_some_route() -> None:
    assert DOCUMENT["components"]["schemas"]["ProblemBody"]["properties"]["code"]["enum"] == sorted(ALL_CODES)
    listed = {code for each in ROUTES for code in each.problems}
    everywhere = {"foreign_host", "foreign_origin", "internal", "invalid", "unsupported_media_type"}
    assert listed | everywhere >= set(CODES)


def test_a_handler_that_does_not_fit_its_path_is_refused() -> None:
    async def handler(call: Call, other: str) -> None:
        """Nothing."""

    with pytest.raises(TypeError, match="other"):
        route("GET", "/x/{name}", handler, who=frozenset())
