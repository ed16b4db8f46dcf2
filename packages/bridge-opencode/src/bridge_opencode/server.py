"""The calls to an opencode server (1.x) that a turn needs, each with its own time limit.

A request that comes just as the port opens is taken and never answered (CLI-WeChat-Bridge#33), so that what is asked
first is asked again after a short while.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import httpx2

from .fields import table, tables, word
from .turn_mode import Rule
from .vendor.bounded import encodable
from .vendor.event_parser import EventParser, EventTooLargeError

__all__ = ["Server", "ServerError"]

USER = "opencode"
EVENT_LIMIT = 1 << 26


class ServerError(Exception):
    """The server said no, or nothing. `status` is that of HTTP, None without an answer."""

    def __init__(self, told: str, status: int | None = None):
        super().__init__(told)
        self.status = status


class Server:
    """A running opencode server at `url` that knows `password`, asked about `directory`; `aclose` it.

    `probe_s` is the limit of a first, repeated request, `call_s` that of any other but the prompt.
    """

    def __init__(self, url: str, password: str, directory: str, *, probe_s: float, call_s: float):
        self._probe_s = probe_s
        self._call_s = call_s
        self._about = {"directory": directory}
        # The address is on loopback: no proxy of the environment has anything to do with it.
        self._client = httpx2.AsyncClient(
            base_url=url,
            auth=(USER, password),
            timeout=httpx2.Timeout(call_s),
            trust_env=False,
            # Reading the system's certificates costs more than the rest of a turn here.
            verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            limits=httpx2.Limits(max_keepalive_connections=0),
        )

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.aclose()

    async def until_healthy(self) -> None:
        """Return when the server answers. Bounded by the caller."""
        await self._insist("/global/health", self._probe_s)

    async def configuration(self) -> dict[str, Any]:
        """The configuration in force; the first request about a directory, for which opencode takes its time."""
        found = await self._insist("/config", self._call_s)
        return found if isinstance(found, dict) else {}

    async def agents(self) -> list[str]:
        """Names of the agents that there are."""
        return [word(agent, "name") for agent in tables(await self._call("GET", "/agent"))]

    async def providers(self) -> dict[str, Any]:
        """``{"providers": [{"id", "models", "options"}], "default": {provider: model}}``."""
        found = await self._call("GET", "/config/providers")
        return found if isinstance(found, dict) else {}

    async def create_session(self, title: str, rules: Sequence[Rule]) -> str:
        """Make a session and return its id. A title of its own saves a request to the model for one."""
        made = await self._call("POST", "/session", {"title": title, "permission": list(rules)})
        return word(made, "id")

    async def session_directory(self, session_id: str) -> str | None:
        """The directory of a session, None when there is no such session."""
        try:
            return word(await self._call("GET", f"/session/{_part(session_id)}"), "directory")
        except ServerError as error:
            if error.status is None:
                raise
            return None

    async def set_rules(self, session_id: str, rules: Sequence[Rule]) -> None:
        """Put `rules` behind those that the session has: so they count, and the earlier ones don't."""
        await self._call("PATCH", f"/session/{_part(session_id)}", {"permission": list(rules)})

    async def prompt(self, session_id: str, text: str, *, agent: str, model: tuple[str, str] | None) -> dict[str, Any]:
        """Send the prompt and wait, without a limit, for the last message of its turn: ``{"info", "parts"}``."""
        body: dict[str, Any] = {"agent": agent, "parts": [{"type": "text", "text": encodable(text)}]}
        if model is not None:
            body["model"] = {"providerID": model[0], "modelID": model[1]}
        answer = await self._call("POST", f"/session/{_part(session_id)}/message", body, unlimited=True)
        if not isinstance(answer, dict):
            raise ServerError("opencode's answer to the prompt can't be read")
        return answer

    async def rename_session(self, session_id: str, title: str) -> None:
        """Give the session its title, which makes an event."""
        await self._call("PATCH", f"/session/{_part(session_id)}", {"title": title})

    async def open_permissions(self) -> list[dict[str, Any]]:
        """The permissions that opencode waits for now."""
        return tables(await self._call("GET", "/permission"))

    async def reply(self, permission_id: str, *, allowed: bool, message: str) -> None:
        """Answer a permission question. It is never answered for longer than this once.

        A rejection with a message lets the model go on, one without ends its turn.
        """
        body = {"reply": "once"} if allowed else {"reply": "reject", "message": message}
        await self._call("POST", f"/permission/{_part(permission_id)}/reply", body)

    async def reject_question(self, question_id: str) -> None:
        """Let nobody's screen be the answer to a question of the agent."""
        await self._call("POST", f"/question/{_part(question_id)}/reject", {})

    async def abort(self, session_id: str) -> None:
        """Stop what the session does, its tools with it."""
        await self._call("POST", f"/session/{_part(session_id)}/abort", {}, limit_s=self._probe_s)

    async def dispose(self) -> None:
        """Let the server put down everything that it has running."""
        await self._call("POST", "/global/dispose", {}, limit_s=self._probe_s)

    @asynccontextmanager
    async def events(self) -> AsyncIterator[AsyncIterator[str]]:
        """The ``data`` of the server's events until the stream ends; those of its first moments can be missing."""
        chunks, response = await self._subscribe()
        try:
            yield _data(chunks)
        finally:
            await response.aclose()

    async def _subscribe(self) -> tuple[AsyncIterator[bytes], httpx2.Response]:
        while True:
            response = None
            try:
                async with asyncio.timeout(self._probe_s):
                    request = self._client.build_request("GET", "/global/event", timeout=None)
                    response = await self._client.send(request, stream=True)
                    if response.is_success:
                        chunks = response.aiter_bytes()
                        await anext(chunks)
                        return chunks, response
            except (TimeoutError, httpx2.HTTPError, StopAsyncIteration):
                pass
            if response is not None:
                await response.aclose()
            await asyncio.sleep(self._probe_s / 20)

    async def _insist(self, path: str, limit_s: float) -> Any:
        while True:
            try:
                return await self._call("GET", path, limit_s=limit_s)
            except ServerError as error:
                if error.status is not None:
                    raise
            await asyncio.sleep(self._probe_s / 20)

    async def _call(
        self, method: str, path: str, body: object = None, *, limit_s: float | None = None, unlimited: bool = False
    ) -> Any:
        limit = None if unlimited else limit_s or self._call_s
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        try:
            response = await self._client.request(
                method,
                path,
                params=self._about,
                content=content,
                headers={"Content-Type": "application/json"} if content is not None else {},
                timeout=limit,
            )
        except httpx2.HTTPError as error:
            raise ServerError(f"no answer to {method} {path}: {type(error).__name__}") from None
        if response.status_code >= 300:
            raise ServerError(_told(response), response.status_code)
        try:
            return response.json() if response.content else None
        except ValueError:
            raise ServerError(f"the answer to {method} {path} is no JSON", response.status_code) from None


async def _data(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    parser = EventParser(limit=EVENT_LIMIT)
    try:
        async for chunk in chunks:
            for event in parser.feed(chunk):
                yield event.data
    except (httpx2.HTTPError, EventTooLargeError):
        return


def _told(response: httpx2.Response) -> str:
    """The server's own words for an error; it often has none."""
    try:
        said = response.json()
    except ValueError:
        return response.text[:500]
    return word(table(said, "data"), "message") or word(said, "message") or response.text[:500]


def _part(value: str) -> str:
    return quote(value, safe="")
