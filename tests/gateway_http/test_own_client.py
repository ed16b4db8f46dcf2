"""The project's own event-stream client against the real gateway, through a kill and a restart."""

import asyncio
from pathlib import Path

import pytest

from shared.sse_client import EventStream

from .support import running

pytestmark = pytest.mark.slow


async def test_the_client_misses_nothing_over_a_kill_and_a_restart(tmp_path: Path) -> None:
    """opencode#25657"""
    data = tmp_path / "data"
    with running(data) as first:
        name, token = await first.person()
        port = first.port
        connected = asyncio.Event()
        stream = EventStream(
            f"http://127.0.0.1:{port}/api/v1/events", {"Authorization": f"Bearer {token}"}, connected=connected.set
        )
        async with stream:
            waiting = asyncio.create_task(anext(stream))
            await asyncio.wait_for(connected.wait(), 10)
            sent = [(await first.send(name))["id"]]
            event = await asyncio.wait_for(waiting, 10)
            assert event.event == "new_mail"
            sent.append((await first.send(name))["id"])
            first.kill()
            with running(data, "--port", str(port)) as second:
                sent.append((await second.send(name))["id"])
                rest = [await asyncio.wait_for(anext(stream), 20) for _ in range(2)]
                for number, each in enumerate([event, *rest]):
                    assert sent[number] in each.data
