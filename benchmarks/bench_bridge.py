"""The bridge for ZCode around the stand-in for its command line: start-up, memory, and what it adds to a turn.

The stand-in is wrapped by a shell script that notes when a turn's process starts and ends, so that the agent's own time
is left out.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil

from .bench_events import next_event
from .measure import Figure, median, percentile
from .servers import Gateway, gateway, stop

STARTS, TURNS, LIMIT_S = 5, 40, 30
STAND_IN = Path(__file__).resolve().parents[1] / "tests" / "fakes" / "zcode" / "zcode.py"
WRAPPER = """#!/bin/sh
case "$*" in *--prompt=*) turn=1 ;; esac
[ -n "$turn" ] && date +%s%N >> "{folder}/started"
"{python}" "{program}" "$@"
status=$?
[ -n "$turn" ] && date +%s%N >> "{folder}/ended"
exit $status
"""


def prepare(folder: Path) -> dict[str, str]:
    """A home with the stand-in set up, and the environment of a bridge that uses it."""
    home = folder / "home"
    (home / ".zcode" / "cli").mkdir(parents=True)
    (home / ".zcode" / "stand-in.json").write_text(json.dumps({"face": "0.16.5"}))
    (home / ".zcode" / "cli" / "config.json").write_text(json.dumps({"model": {"main": "zai/model"}}))
    script = folder / "zcode-stand-in"
    script.write_text(WRAPPER.format(folder=folder, python=sys.executable, program=STAND_IN))
    script.chmod(0o755)
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "AGENTMAIL_STATE_DIR": str(folder / "state"),
        "AGENTMAIL_ZCODE_COMMAND": str(script),
        "AGENTMAIL_ALLOW_ROOT": "1",
    }


@asynccontextmanager
async def bridge(environ: dict[str, str]) -> AsyncIterator[asyncio.subprocess.Process]:
    """A bridge process that has subscribed when the context is entered."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bridge_zcode"), env=environ, stderr=asyncio.subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        lines = b""
        async with asyncio.timeout(LIMIT_S):
            while b"subscribed" not in (line := await process.stderr.readline()):
                lines += line
                if not line:
                    raise RuntimeError(lines.decode())
        draining = asyncio.create_task(process.stderr.read())
        yield process
    finally:
        await stop(process)
        await draining


def stamps(file: Path) -> list[float]:
    """The times that the wrapper noted, in seconds of the epoch."""
    return [int(line) / 1e9 for line in file.read_text().split()] if file.exists() else []


async def turns(server: Gateway, folder: Path) -> tuple[list[float], list[float]]:
    """Milliseconds from each mail's 201 to its process, and from the process's end to the answer at the sender."""
    sender, listener = server.connect(), server.connect()
    events = await listener.stream("/api/v1/events")
    sent, answered = [], []
    async with asyncio.timeout(LIMIT_S * 4):
        for number in range(TURNS):
            body = {"to": ["zcode"], "subject": f"Turn {number}", "body": "A question."}
            status, answer = await sender.request("POST", "/api/v1/mails", body)
            sent.append(time.time())
            assert status == 201, answer
            await next_event(events, b"new_mail")
            answered.append(time.time())
    sender.close()
    listener.close()
    begun, ended = stamps(folder / "started"), stamps(folder / "ended")
    assert len(begun) == len(ended) == TURNS, (len(begun), len(ended))
    before = [(start - at) * 1000 for start, at in zip(begun, sent, strict=True)]
    after = [(at - end) * 1000 for at, end in zip(answered, ended, strict=True)]
    return before, after


async def run(folder: Path) -> list[Figure]:
    """Measure in `folder`; about 30 s."""
    environ = prepare(folder)
    starts, sizes = [], []
    async with gateway(folder / "gateway") as server:
        admin = server.connect()
        status, answer = await admin.request("POST", "/api/v1/admin/agents", {"name": "zcode"})
        assert status == 201, answer
        admin.close()
        environ |= {
            "AGENTMAIL_AGENT_KEY": answer["key"],
            "AGENTMAIL_GATEWAY_URL": f"http://127.0.0.1:{server.port}",
        }
        for _ in range(STARTS):
            begin = time.perf_counter()
            async with bridge(environ) as process:
                starts.append(time.perf_counter() - begin)
                await asyncio.sleep(2)
                sizes.append(psutil.Process(process.pid).memory_info().rss / 1e6)
        async with bridge(environ):
            before, after = await turns(server, folder)
    return [
        Figure("bridge-zcode: start -> subscribed", median(starts), "s", 0.6),
        Figure("bridge-zcode: idle memory", median(sizes), "MB", 45),
        Figure("mail stored -> agent's process started, p50", percentile(before, 0.5), "ms", 50),
        Figure("agent's process ended -> answer at the sender, p50", percentile(after, 0.5), "ms", 30),
    ]
