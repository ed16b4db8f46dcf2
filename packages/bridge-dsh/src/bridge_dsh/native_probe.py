"""Shows whether dsh's own sandbox refuses what a tier forbids, by letting a model of the bridge's own ask for it.

For machines on which the bridge's sandbox does not hold. The model is a few lines of script on loopback: it asks for a
shell command and for a file, inside and outside of a workspace made for it; then one looks at what is there.
"""

import asyncio
import json
import secrets
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .turn_mode import PATCH, mode
from .vendor import process
from .vendor.wire import Enforcement, Tier

__all__ = ["prove"]

LIMIT_S = 40.0
LARGEST = 1 << 26


@dataclass(slots=True)
class _Model:
    """Asks for each of `calls`, a request after the other, then says that it is done. `told` is all it was sent."""

    calls: tuple[tuple[str, Mapping[str, str]], ...]
    told: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection with one message."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = next((line[15:] for line in head.split("\r\n") if line.startswith("content-length:")), "0")
            self.told.append((await reader.readexactly(min(int(length), LARGEST))).decode("utf-8", "replace"))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
            writer.write("".join(self._frames(len(self.told) - 1)).encode())
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            pass
        finally:
            writer.close()

    def _frames(self, number: int) -> list[str]:
        usage = {"input_tokens": 1, "output_tokens": 1}
        head = {"id": "m", "type": "message", "role": "assistant", "model": "probe", "content": [], "usage": usage}
        if number < len(self.calls):
            tool, arguments = self.calls[number]
            block: dict[str, Any] = {"type": "tool_use", "id": f"call_{number}", "name": tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
            reason = "tool_use"
        else:
            block, delta, reason = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}, "end_turn"
        return [
            _frame("message_start", message=head),
            _frame("content_block_start", index=0, content_block=block),
            _frame("content_block_delta", index=0, delta=delta),
            _frame("content_block_stop", index=0),
            _frame("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": 1}),
            _frame("message_stop"),
        ]


def _frame(name: str, **data: Any) -> str:
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n"


@asynccontextmanager
async def _serving(model: _Model) -> AsyncIterator[str]:
    server = await asyncio.start_server(model.serve, "127.0.0.1", 0, limit=LARGEST)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def prove(command: tuple[str, ...], folder: Path, tier: Tier) -> Enforcement:
    """Try `tier` (plan or workspace) with dsh's `command`, below `folder`, which is emptied first.

    `native` only if every forbidden thing was seen to be refused, and the control was seen to work.
    """
    try:
        why = await _seen(command, folder, tier)
    except (OSError, process.ProcessError) as error:
        why = f"it could not be tried: {error}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    name = mode(tier, sandboxed=False)
    if why:
        return Enforcement("advisory", f"dsh's own sandbox ({name}) was not seen to hold: {why}")
    told = "was seen to refuse writes; what is read, and the network, is not confined"
    return Enforcement("native", f"dsh's own sandbox ({name}) {told}")


async def _seen(command: tuple[str, ...], folder: Path, tier: Tier) -> str:
    """What did not hold, in words; empty when all of it did."""
    shutil.rmtree(folder, ignore_errors=True)
    workspace, outside, home = (folder / name for name in ("workspace", "outside", "home"))
    for place in (workspace, outside, home):
        place.mkdir(parents=True)
    nonce = f"probe{secrets.token_hex(8)}"
    (workspace / "readme").write_text(nonce)
    (folder / "probe.yml").write_text(PATCH)
    script = (
        f"cat readme; echo x > {workspace}/by-shell; echo x > {outside}/by-shell; "
        f"ln -s {outside} link; echo x > link/by-link"
    )
    model = _Model(
        (
            ("bash", {"command": script, "description": "try"}),
            ("write", {"file_path": str(outside / "by-tool"), "content": "x"}),
            ("write", {"file_path": str(workspace / "by-tool"), "content": "x"}),
        )
    )
    argv = (*command, "--profile", "headless", "--patch", str(folder / "probe.yml"), "--json", "try what you can")
    async with _serving(model) as url:
        env = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(home),
            "DSH_HOME": str(home / "dsh"),
            "DSH_TELEMETRY_DISABLED": "1",
            "DSH_PERMISSION_MODE": mode(tier, sandboxed=False),
            "DEEPSEEK_API_KEY": "none",
            "DEEPSEEK_BASE_URL": url,
        }
        said = await process.capture(argv, cwd=workspace, env=env, timeout=LIMIT_S)
    if said.returncode != 0 or len(model.told) <= len(model.calls):
        return f"its trial did not come to an end ({(said.stderr.strip() or said.stdout.strip())[-200:]})"
    if nonce not in model.told[-1]:
        return "it ran no command at all"
    if list(outside.iterdir()):
        return "a write outside of the workspace succeeded"
    inside = {path.name for path in workspace.iterdir()} - {"readme"}
    if tier == "plan":
        return "a write in the workspace succeeded" if inside else ""
    return "" if {"by-shell", "by-tool"} <= inside else "it can't write the workspace either"
