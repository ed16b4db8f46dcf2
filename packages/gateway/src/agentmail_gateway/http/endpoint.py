"""Carries out a route: authenticate, allow, decode, handle, encode."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from ..problems import Problem
from .authentication import Caller, refuse_keys_in_query
from .exchange import Body, Headers, Receive, Reply, Request, Scope, Send, send_bytes
from .problem_reply import HttpProblem
from .route import Call, Route
from .settings import Services

__all__ = ["ROUTE_KEY", "PathEndpoint"]

ROUTE_KEY = "agentmail.route"
KEY_PATTERN = re.compile(r"[\x21-\x7e]{1,200}")
JSON_HEADERS: Headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
_encode = msgspec.json.Encoder().encode


class PathEndpoint:
    """The routes of one path, as an ASGI application. Raises Problem for everything that is refused."""

    def __init__(self, routes: Sequence[Route], services: Services) -> None:
        self._any = routes[0]
        self._by_method = {route.method: (route, _decoder(route)) for route in routes}
        if "GET" in self._by_method and not self._by_method["GET"][0].streams:
            self._by_method["HEAD"] = self._by_method["GET"]
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        found = self._by_method.get(request.method)
        if found is None:
            scope[ROUTE_KEY] = self._any
            allow = ", ".join(sorted(self._by_method))
            raise HttpProblem("method_not_allowed", f"This path takes {allow}.", [(b"allow", allow.encode())])
        route, decoder = found
        scope[ROUTE_KEY] = route
        pairs = request.query()
        refuse_keys_in_query(pairs)
        caller = self._caller(route, request)
        given: dict[str, Any] = dict(scope["path_params"]) if route.parameters else {}
        if route.query is not None:
            given["query"] = _query(pairs, route.query)
        elif pairs and route.who:
            raise Problem("invalid", f"This route takes no parameters; leave `{pairs[0][0]}` out.")
        if route.key != "none":
            given["key"] = _key(request, required=route.key == "required")
        if decoder is not None:
            given["body"] = await _body(request, decoder, route.body_limit)
        call = Call(self._services, request, caller)
        if route.streams:
            await route.handler(call, **given, send=send)
            return
        answer = await route.handler(call, **given)
        status, extra = route.status, ()
        if isinstance(answer, Reply):
            answer, status, extra = answer.value, answer.status, answer.headers
        if isinstance(answer, Body):
            content, headers = answer.content, [(b"content-type", answer.media_type.encode())]
        elif answer is None:
            content, headers = b"", []
        else:
            content, headers = _encode(answer), JSON_HEADERS
        await send_bytes(send, status, content, [*headers, *extra])

    def _caller(self, route: Route, request: Request) -> Caller | None:
        if not route.who:
            return None
        caller = self._services.authenticator.caller(request)
        if caller.who.kind not in route.who:
            raise Problem("forbidden", _NOT_FOR[caller.who.kind])
        if route.admin and not caller.who.admin:
            raise Problem("forbidden", "Only an administrator may do this; ask one, or use their token.")
        return caller


_NOT_FOR = {
    "person": "This route is for an agent's bridge and its agent key; a person's token can't be used here.",
    "agent": "This route is for people; an agent key can't be used here.",
    "turn": "A turn key is for the turn's own mail; this route takes the key of the agent's bridge or of a person.",
}


def _decoder(route: Route) -> "msgspec.json.Decoder[Any] | None":
    return None if route.body is None else msgspec.json.Decoder(route.body)


async def _body(request: Request, decoder: "msgspec.json.Decoder[Any]", limit: int) -> Any:
    media_type, _, parameters = (request.header(b"content-type") or "").partition(";")
    charset = parameters.strip().lower().replace('"', "")
    if media_type.strip().lower() != "application/json" or charset not in {"", "charset=utf-8"}:
        raise Problem("unsupported_media_type", "Send the body as JSON in UTF-8: `Content-Type: application/json`.")
    content = await request.body(limit)
    try:
        return decoder.decode(content)
    except msgspec.ValidationError as error:
        raise Problem("invalid", f"The body does not fit: {error}. /api/v1/openapi.json has the fields.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Problem("invalid", f"The body is not JSON in UTF-8: {error}.") from None
    except RecursionError:
        raise Problem("invalid", "The body is nested too deeply.") from None


def _query(pairs: list[tuple[str, str]], model: type[msgspec.Struct]) -> msgspec.Struct:
    values: dict[str, str] = {}
    for name, value in pairs:
        if name in values:
            raise Problem("invalid", f"The parameter `{name}` is given twice; give it once.")
        if value:
            values[name] = value
    try:
        return msgspec.convert(values, model, strict=False)
    except msgspec.ValidationError as error:
        text = str(error).replace("Object contains unknown field", "there is no parameter")
        text = text.replace("Object missing required field", "it lacks the parameter").replace("$.", "")
        raise Problem("invalid", f"The query does not fit: {text}.") from None


def _key(request: Request, *, required: bool) -> str | None:
    value = request.header(b"idempotency-key")
    if value is None and not required:
        return None
    if value is None:
        raise Problem("invalid", "This route needs the header Idempotency-Key, so that a repeat does nothing twice.")
    if KEY_PATTERN.fullmatch(value) is None:
        raise Problem("invalid", "Idempotency-Key is 1 to 200 visible ASCII characters without spaces.")
    return value
