"""The OpenAPI 3.1 document, made from the table of routes and the structures that the handlers use."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec

from ..vendor.wire import ProblemBody
from .problem_reply import ALL_CODES
from .route import Route

__all__ = ["document"]

Json = dict[str, Any]
REF = "#/components/schemas/{name}"
# What a route can answer with beyond what it lists, by what it is made of.
EVERYWHERE = ("foreign_host", "foreign_origin", "internal", "invalid")
BINARY: Json = {"type": "string", "format": "binary"}
SECURITY_SCHEMES: Json = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "An agent key, a turn key or a person's token.",
    },
    "agentName": {"type": "apiKey", "in": "header", "name": "X-Agent-Name"},
    "agentSecret": {"type": "apiKey", "in": "header", "name": "X-Agent-Secret"},
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "agentmail",
        "description": "A browser's session; over https the cookie is called __Host-agentmail. "
        "A change also needs the header X-CSRF-Token.",
    },
}


def document(routes: Iterable[Route], version: str) -> bytes:
    """The document of `routes` as JSON."""
    table = tuple(routes)
    models: list[Any] = [ProblemBody]
    for each in table:
        models += [model for model in (each.body, each.query, each.answer) if model is not None]
    unique = list({repr(model): model for model in models}.values())
    schemas, components = msgspec.json.schema_components(unique, ref_template=REF)
    schema_of = {repr(model): schema for model, schema in zip(unique, schemas, strict=True)}
    queries = {_name(schema_of[repr(each.query)]) for each in table if each.query is not None}
    paths: dict[str, Json] = {}
    for each in table:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, schema_of, components)
    kept = {name: schema for name, schema in components.items() if name not in queries}
    kept["ProblemBody"] = {**kept["ProblemBody"]}
    kept["ProblemBody"]["properties"] = {
        **kept["ProblemBody"]["properties"],
        "code": {"type": "string", "enum": sorted(ALL_CODES)},
    }
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "AgentMail gateway",
                "version": version,
                "description": "Mail between people and coding agents. Names here don't change; fields may be added.",
                "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            },
            "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
            "servers": [{"url": "/"}],
            "paths": paths,
            "components": {"schemas": kept, "securitySchemes": SECURITY_SCHEMES},
        }
    )


def _name(schema: Json) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _operation(each: Route, schema_of: dict[str, Json], components: dict[str, Json]) -> Json:
    operation: Json = {
        "operationId": each.handler.__name__,
        "summary": each.summary,
        "responses": _responses(each, schema_of),
        "security": _security(each),
    }
    parameters = _parameters(each, schema_of, components)
    if parameters:
        operation["parameters"] = parameters
    if each.body is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema_of[repr(each.body)]}},
        }
    elif each.takes is not None:
        operation["requestBody"] = {"required": True, "content": {each.takes: {"schema": BINARY}}}
    return operation


def _security(each: Route) -> list[Json]:
    if not each.who:
        return []
    schemes: list[Json] = [{"bearer": []}]
    if "agent" in each.who:
        schemes.append({"agentName": [], "agentSecret": []})
    if "person" in each.who:
        schemes.append({"session": []})
    return schemes


def _parameters(each: Route, schema_of: dict[str, Json], components: dict[str, Json]) -> list[Json]:
    found: list[Json] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in each.parameters
    ]
    if each.query is not None:
        model = components[_name(schema_of[repr(each.query)])]
        required = model.get("required", [])
        for name, schema in model["properties"].items():
            found.append({"name": name, "in": "query", "required": name in required, "schema": _not_null(schema)})
    if each.key != "none":
        found.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": each.key == "required",
                "schema": {"type": "string", "pattern": "^[!-~]{1,200}$"},
            }
        )
    found += [{"name": name, "in": "header", "required": False, "schema": {"type": "string"}} for name in each.headers]
    return found


def _not_null(schema: Json) -> Json:
    """A parameter is there or not; its schema without the null that stands for absent."""
    kept = {name: value for name, value in schema.items() if name != "default" or value is not None}
    if "anyOf" in kept:
        choices = [choice for choice in kept.pop("anyOf") if choice != {"type": "null"}]
        kept |= choices[0] if len(choices) == 1 else {"anyOf": choices}
    if "enum" in kept:
        kept["enum"] = [value for value in kept["enum"] if value is not None]
    return kept


def _codes(each: Route) -> set[str]:
    codes = {*EVERYWHERE, *each.problems}
    if each.who:
        codes |= {"forbidden", "rate_limited", "unauthorized", "unavailable"}
    if each.body is not None:
        codes |= {"too_large", "unsupported_media_type"}
    return codes


def _responses(each: Route, schema_of: dict[str, Json]) -> Json:
    responses: Json = {}
    for status in sorted({each.status, *each.also}):
        response: Json = {"description": HTTPStatus(status).phrase}
        if status != 204:
            schema = {"type": "string"} if each.answer is None else schema_of[repr(each.answer)]
            if each.gives == "*/*":
                schema = BINARY
            elif each.answer is None and each.gives == "application/json":
                schema = {"type": "object"}
            response["content"] = {each.gives: {"schema": schema}}
        responses[str(status)] = response
    by_status: dict[int, list[str]] = {}
    for code in sorted(_codes(each)):
        by_status.setdefault(ALL_CODES[code][0], []).append(code)
    for status, codes in sorted(by_status.items()):
        responses[str(status)] = {
            "description": f"{HTTPStatus(status).phrase}: {', '.join(codes)}",
            "content": {"application/problem+json": {"schema": {"$ref": REF.format(name="ProblemBody")}}},
        }
    return responses
