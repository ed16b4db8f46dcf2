"""Whatever is sent, the answer is one that the OpenAPI document lists, in the form that it lists, and never a 500."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentmail_gateway.gateway import Gateway
from agentmail_gateway.http.app import App
from agentmail_gateway.http.openapi import document
from agentmail_gateway.http.origins import AllowList
from agentmail_gateway.http.problem_reply import ALL_CODES
from agentmail_gateway.http.route import Route
from agentmail_gateway.http.routes import ROUTES
from agentmail_gateway.http.settings import HttpSettings
from agentmail_gateway.vendor.wire import PermissionAsk, SendMail

from .memory import call, scope
from .support import Answer

DOCUMENT: dict[str, Any] = json.loads(document(ROUTES, "1"))
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
FUZZED = [each for each in ROUTES if each.gives != "text/event-stream"]
TEXT = st.one_of(
    st.sampled_from(
        ["", "ada", "zcode", "eve", "plan", "\0", "\ud800", "a" * 5000, "回复: 你好", "' OR 1=1 --", "../x"]
    ),
    st.text(max_size=20),
)
NUMBER = st.one_of(st.integers(-3, 3), st.sampled_from([2**31, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**40]))
ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBER, st.floats(), TEXT),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


HINTS: dict[str, list[Any]] = {
    "to": [["zcode"], ["eve"], ["ada", "zcode"]],
    "cc": [[], ["eve"]],
    "sender": ["zcode", "eve"],
    "in_reply_to": [None],
    "attachments": [[]],
    "lease": [1, 1, 2],
    "workspace": [None, "site"],
    "not_before": [None, "2026-12-01T00:00:00.000Z", "2999-01-01T00:00:00+05:00", "yesterday"],
    "code": ["amc_unknown"],
}


def hinted(name: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """`values`, or more often some that get past the first look."""
    hints = HINTS.get(name)
    return values if hints is None else st.one_of(st.sampled_from(hints), st.sampled_from(hints), values)


def fitting(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that mostly fit a schema of the document."""
    match schema:
        case {"$ref": ref}:
            return fitting(SCHEMAS[ref.rpartition("/")[2]])
        case {"enum": values}:
            return st.sampled_from(values)
        case {"anyOf": choices}:
            return st.one_of([fitting(choice) for choice in choices])
        case {"type": "object", "properties": properties}:
            required = set(schema.get("required", []))
            values = {name: hinted(name, fitting(each)) for name, each in properties.items()}
            must = {name: value for name, value in values.items() if name in required}
            may = {name: value for name, value in values.items() if name not in required}
            return st.fixed_dictionaries(must, optional=may)
        case {"type": "object"}:
            return st.dictionaries(TEXT, fitting(schema.get("additionalProperties") or {}), max_size=3)
        case {"type": "array", "items": items}:
            return st.lists(fitting(items), max_size=3)
        case {"type": "string"}:
            return TEXT
        case {"type": "integer"}:
            return NUMBER
        case {"type": "number"}:
            return st.one_of(NUMBER, st.floats())
        case {"type": "boolean"}:
            return st.booleans()
        case {"type": "null"}:
            return st.none()
        case _:
            return ANYTHING


class World:
    """A gateway in memory with a mail, a claimed turn, and one caller of each kind."""

    def __init__(self, runner: asyncio.Runner, data: Path) -> None:
        self.runner = runner
        self.gateway = runner.run(Gateway.open(data, admin="ada"))
        self.app = App(self.gateway, HttpSettings(AllowList.of("127.0.0.1"), slow_s=1e9))
        self.admin = (data / "person.token").read_text().strip()
        self.ids = {"name": ["zcode", "eve"]}
        self.tokens = {"": ""}
        runner.run(self._fill())

    async def _fill(self) -> None:
        ada = self.gateway.authenticate(self.admin)
        assert ada is not None
        _, key = await self.gateway.add_agent(ada, "zcode")
        _, token = await self.gateway.add_person(ada, "eve")
        zcode = self.gateway.authenticate(key)
        assert zcode is not None
        mails = [(await self.gateway.send_mail(ada, SendMail(to=("zcode",))))[0] for _ in range(4)]
        turns = [mail.receipts[0].turn_id for mail in mails]
        claims = [await self.gateway.claim(zcode, turn) for turn in turns[:3]]
        ask = PermissionAsk(turns[0], claims[0].lease, "bash", "May I?")
        permissions = [(await self.gateway.ask_permission(zcode, ask)).id]
        attachment = await self.gateway.put_attachment(ada, name="a", type="text/plain", chunks=_chunks())
        self.ids |= {"mail_id": [mail.id for mail in mails], "thread_id": [mail.thread_id for mail in mails]}
        self.ids |= {"turn_id": turns, "permission_id": permissions, "attachment_id": [attachment.id]}
        self.tokens |= {"person": self.admin, "agent": key, "turn": claims[0].turn_key, "eve": token}

    def ask(self, request: dict[str, Any], body: bytes) -> Answer:
        answer, _ = self.runner.run(call(self.app, request, [body]))
        return answer


async def _chunks() -> AsyncIterator[bytes]:
    yield b"content"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with asyncio.Runner() as runner:
        made = World(runner, tmp_path_factory.mktemp("fuzz"))
        yield made
        runner.run(made.gateway.close())


def encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode()


def check(route: Route, answer: Answer) -> None:
    """The answer is one of those that the document lists."""
    operation = DOCUMENT["paths"][route.path][route.method.lower()]
    assert str(answer.status) in operation["responses"], (answer.status, answer.content)
    assert answer.status < 500, answer.content
    if answer.status >= 400:
        assert answer.code in ALL_CODES
        assert answer.code in operation["responses"][str(answer.status)]["description"]
        assert b"Traceback" not in answer.content
    elif route.answer is not None:
        msgspec.json.decode(answer.content, type=route.answer)


@pytest.mark.parametrize("route", FUZZED, ids=[f"{each.method} {each.path}" for each in FUZZED])
@settings(max_examples=40, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_answer_is_in_the_document(world: World, route: Route, data: Any) -> None:
    HINTS["turn_id"] = world.ids["turn_id"]
    junk = st.one_of(st.sampled_from(["nothing", "mail_" + "0" * 32, "\ud800"]), st.text(min_size=1, max_size=5))
    path = route.path
    for name in route.parameters:
        known = st.sampled_from(world.ids[name])
        path = path.replace(
            f"{{{name}}}", data.draw(st.one_of(known, known, known, junk.filter(lambda x: "/" not in x)))
        )
    headers = {"Host": "127.0.0.1"}
    kind = data.draw(st.sampled_from(sorted(route.who) * 3 + ["", "eve"]))
    if world.tokens[kind]:
        headers["Authorization"] = f"Bearer {world.tokens[kind]}"
    body = b""
    if route.body is not None:
        headers["Content-Type"] = "application/json"
        schema = {"$ref": f"#/components/schemas/{route.body.__name__}"}
        body = encoded(data.draw(st.one_of(fitting(schema), fitting(schema), fitting(schema), ANYTHING)))
    elif route.takes is not None:
        body = data.draw(st.binary(max_size=100))
        headers["Content-Type"] = data.draw(st.sampled_from(["text/plain", "nonsense", "a/b; c=d"]))
    if route.key != "none":
        headers["Idempotency-Key"] = data.draw(st.sampled_from(["k", "k2", "k3"]))
    names = [each["name"] for each in DOCUMENT["paths"][route.path][route.method.lower()].get("parameters", [])]
    parameters = [name for name in names if name.isidentifier() and name not in route.parameters]
    pairs = {}
    if parameters and data.draw(st.booleans()):
        pairs = data.draw(st.dictionaries(st.sampled_from(parameters), st.text("abc01 %&=,", max_size=6), max_size=3))
    if "q" in parameters or "name" in parameters:
        pairs = {"q" if "q" in parameters else "name": data.draw(TEXT.filter(str.isprintable))} | pairs
    query = "&".join(f"{name}={value}" for name, value in pairs.items())
    check(route, world.ask(scope(route.method, path, headers, query), body))
