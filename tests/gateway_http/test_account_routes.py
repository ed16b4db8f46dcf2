"""Credentials over HTTP, and the browser's session."""

from typing import Any

import pytest

from .support import Process, ask

WHOAMI = "/api/v1/whoami"


async def signed_in(gateway: Process, **headers: str) -> tuple[dict[str, str], Any]:
    """The headers of a browser that has just signed in, and what it was told."""
    code = await gateway.ask("POST", "/api/v1/sign-in-codes")
    assert code.status == 201
    answer = await ask(gateway.port, "POST", "/api/v1/sign-in", {"code": code.json["code"]}, headers=headers)
    assert answer.status == 200, answer
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0]}, answer


async def test_each_credential_tells_who_it_belongs_to(gateway: Process) -> None:
    name, key = await gateway.agent()
    person, token = await gateway.person()
    for credential, kind, who, admin in (
        (gateway.admin, "person", "ada", True),
        (token, "person", person, False),
        (key, "agent", name, False),
    ):
        answer = await gateway.ask("GET", WHOAMI, token=credential)
        assert answer.json == {"name": who, "kind": kind, "admin": admin, "turn_id": None, "csrf": None}


async def test_name_and_secret_are_the_fallback_of_a_bearer_key(gateway: Process) -> None:
    name, key = await gateway.agent()
    answer = await ask(gateway.port, "GET", WHOAMI, headers={"X-Agent-Name": name, "X-Agent-Secret": key})
    assert (answer.status, answer.json["name"]) == (200, name)
    other = await ask(gateway.port, "GET", WHOAMI, headers={"X-Agent-Name": "ada", "X-Agent-Secret": key})
    assert other.status == 401


async def test_without_a_key_there_is_only_a_challenge(gateway: Process) -> None:
    answer = await ask(gateway.port, "GET", WHOAMI)
    assert (answer.status, answer.code) == (401, "unauthorized")
    assert answer.headers["www-authenticate"].startswith("Bearer ")


async def test_a_code_opens_one_session(gateway: Process) -> None:
    code = (await gateway.ask("POST", "/api/v1/sign-in-codes")).json
    first = await ask(gateway.port, "POST", "/api/v1/sign-in", {"code": code["code"]})
    again = await ask(gateway.port, "POST", "/api/v1/sign-in", {"code": code["code"]})
    assert (first.status, first.json["name"]) == (200, "ada")
    assert (again.status, again.code) == (401, "unauthorized")


async def test_the_cookie_is_for_this_host_and_no_script(gateway: Process) -> None:
    _, answer = await signed_in(gateway)
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    assert answer.headers["cache-control"] == "no-store"


async def test_a_session_reads_and_changes_with_its_csrf_token(gateway: Process) -> None:
    cookie, answer = await signed_in(gateway)
    who = await ask(gateway.port, "GET", WHOAMI, headers=cookie)
    assert (who.json["name"], who.json["csrf"]) == ("ada", answer.json["csrf"])
    without = await ask(gateway.port, "POST", "/api/v1/mails", {"to": ["ada"]}, headers=cookie)
    assert (without.status, without.code) == (403, "forbidden")
    headers = cookie | {"X-CSRF-Token": who.json["csrf"], "Origin": f"http://127.0.0.1:{gateway.port}"}
    headers["Host"] = f"127.0.0.1:{gateway.port}"
    assert (await ask(gateway.port, "POST", "/api/v1/mails", {"to": ["ada"]}, headers=headers)).status == 201


async def test_signing_out_ends_the_session(gateway: Process) -> None:
    cookie, answer = await signed_in(gateway)
    headers = cookie | {"X-CSRF-Token": answer.json["csrf"]}
    out = await ask(gateway.port, "POST", "/api/v1/sign-out", headers=headers)
    assert out.status == 204
    assert "Max-Age=0" in out.headers["set-cookie"]
    assert (await ask(gateway.port, "GET", WHOAMI, headers=cookie)).status == 401


async def test_a_key_is_no_session_to_sign_out_of(gateway: Process) -> None:
    answer = await gateway.ask("POST", "/api/v1/sign-out")
    assert (answer.status, answer.code) == (409, "conflict")


async def test_agents_make_no_sign_in_codes(gateway: Process) -> None:
    _, key = await gateway.agent()
    answer = await gateway.ask("POST", "/api/v1/sign-in-codes", token=key)
    assert (answer.status, answer.code) == (403, "forbidden")


@pytest.mark.parametrize("path", ["/api/v1/mails", "/api/v1/events", WHOAMI])
async def test_a_foreign_page_is_refused_even_with_a_valid_key(gateway: Process, path: str) -> None:
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "http://127.0.0.1:3000"}, {"Origin": "null"}):
        answer = await gateway.ask("GET", path, headers=headers)
        assert (answer.status, answer.code) == (403, "foreign_origin")


async def test_a_rebound_name_is_refused_even_with_a_valid_key(gateway: Process) -> None:
    answer = await gateway.ask("GET", WHOAMI, headers={"Host": f"evil.example:{gateway.port}"})
    assert (answer.status, answer.code) == (403, "foreign_host")
