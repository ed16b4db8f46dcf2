"""A model on loopback that speaks OpenAI chat completions and Anthropic messages, streaming, and follows a script.

It stands in for a paid model; the agents that call it are the real ones.
"""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from .script import Step, next_step

SIZE = 2_000  # characters in one streamed piece


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came: path, headers in lower case, and the decoded body."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools that the agent offered."""
        return tuple(sorted((each.get("function") or each)["name"] for each in self.body.get("tools") or ()))


@dataclass(slots=True)
class ModelServer:
    """The running server: where it is, what it was asked, and an event per request."""

    port: int = 0
    asked: list[Asked] = field(default_factory=list)
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)
    down: bool = False
    counter: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    @property
    def url(self) -> str:
        """Base URL without a path."""
        return f"http://127.0.0.1:{self.port}"

    async def wait_for(self, count: int, limit_s: float = 60) -> None:
        """Wait until `count` requests have come; TimeoutError after `limit_s`."""
        async with asyncio.timeout(limit_s), self.arrived:
            await self.arrived.wait_for(lambda: len(self.asked) >= count)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection, one request, then close it."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
            raw = await reader.readexactly(int(headers.get("content-length", 0)))
            body = json.loads(raw) if raw.startswith(b"{") else {}
            asked = Asked(head[0].split(" ")[1], headers, body)
            async with self.arrived:
                self.asked.append(asked)
                self.arrived.notify_all()
            await self.answer(asked, reader, writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def answer(self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Write the answer that the script has for `asked`."""
        if "messages" not in asked.body:
            writer.write(_error(404, "no such route", None))
            return
        step = Step(status=503) if self.down else next_step(asked.body["messages"])
        if step.status is not None:
            writer.write(_error(step.status, f"scripted {step.status}", step.retry_after))
            return
        anthropic = asked.path.split("?")[0].endswith("/messages")
        call_id = f"call_{next(self.counter)}"
        frames = _anthropic(step, call_id) if anthropic else _openai(step, call_id)
        if not asked.body.get("stream"):
            writer.write(_whole(step, call_id, anthropic=anthropic))
            return
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        for number, frame in enumerate(frames):
            writer.write(frame)
            await writer.drain()
            if step.slow:
                await asyncio.sleep(step.slow)
            if step.drop and number == 1:
                return
            if step.hang and number == 1:
                await reader.read()  # until the agent hangs up
                return


def _error(status: int, message: str, retry_after: str | None) -> bytes:
    kind = {401: "authentication_error", 429: "rate_limit_error"}.get(status, "api_error")
    body = json.dumps({"type": "error", "error": {"message": message, "type": kind, "code": kind}}).encode()
    extra = f"Retry-After: {retry_after}\r\n" if retry_after else ""
    head = f"HTTP/1.1 {status} Scripted\r\nContent-Type: application/json\r\n{extra}Connection: close\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _pieces(step: Step) -> list[str]:
    text = step.text * step.repeat
    if step.slow:
        return [f"{word} " for word in text.split(" ")]
    return [text[start : start + SIZE] for start in range(0, len(text), SIZE)]


def _event(data: object, name: str | None = None) -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def _openai(step: Step, call_id: str) -> list[bytes]:
    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _event(
            {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **more}
        )

    frames = [chunk({"role": "assistant", "content": ""}), *(chunk({"content": piece}) for piece in _pieces(step))]
    if step.tool:
        call = {"name": step.tool, "arguments": json.dumps(step.arguments or {})}
        frames.append(chunk({"tool_calls": [{"index": 0, "id": call_id, "type": "function", "function": call}]}))
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    frames.append(chunk({}, step.finish or ("tool_calls" if step.tool else "stop"), usage=usage))
    return [*frames, b"data: [DONE]\n\n"]


def _anthropic(step: Step, call_id: str) -> list[bytes]:
    def event(name: str, **data: Any) -> bytes:
        return _event({"type": name, **data}, name)

    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
    }
    frames = [event("message_start", message={**message, "usage": {"input_tokens": 100, "output_tokens": 1}})]
    blocks = 0
    if step.text or not step.tool:
        frames.append(event("content_block_start", index=0, content_block={"type": "text", "text": ""}))
        for piece in _pieces(step):
            frames.append(event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece}))
        frames.append(event("content_block_stop", index=0))
        blocks = 1
    if step.tool:
        block = {"type": "tool_use", "id": call_id, "name": step.tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step.arguments or {})}
        frames.append(event("content_block_start", index=blocks, content_block=block))
        frames.append(event("content_block_delta", index=blocks, delta=delta))
        frames.append(event("content_block_stop", index=blocks))
    finish = {"length": "max_tokens", "content_filter": "refusal", None: "tool_use" if step.tool else "end_turn"}
    stop = {"stop_reason": finish[step.finish], "stop_sequence": None}
    frames.append(event("message_delta", delta=stop, usage={"output_tokens": 20}))
    return [*frames, event("message_stop")]


def _whole(step: Step, call_id: str, *, anthropic: bool) -> bytes:
    text = step.text * step.repeat
    body: dict[str, Any]
    if anthropic:
        content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        if step.tool:
            content.append({"type": "tool_use", "id": call_id, "name": step.tool, "input": step.arguments or {}})
        usage = {"input_tokens": 100, "output_tokens": 20}
        reason = "tool_use" if step.tool else "end_turn"
        head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m"}
        body = {**head, "content": content, "stop_reason": reason, "usage": usage}
    else:
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if step.tool:
            function = {"name": step.tool, "arguments": json.dumps(step.arguments or {})}
            message["tool_calls"] = [{"id": call_id, "type": "function", "function": function}]
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": step.finish or ("tool_calls" if step.tool else "stop"),
        }
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        body = {
            "id": "c1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [choice],
            "usage": usage,
        }
    data = json.dumps(body).encode()
    head_line = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {len(data)}"
    return f"{head_line}\r\n\r\n".encode() + data


@asynccontextmanager
async def model_server(port: int = 0) -> AsyncIterator[ModelServer]:
    """A running model server on loopback; closed with its connections at the end."""
    model = ModelServer()
    server = await asyncio.start_server(model.handle, "127.0.0.1", port, limit=1 << 26)
    model.port = server.sockets[0].getsockname()[1]
    try:
        yield model
    finally:
        server.close()
