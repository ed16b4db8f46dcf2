"""A gateway that is killed at any moment: what it said is stored is there, whole, and no id comes twice."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from agentmail_gateway.events import StoredEvent
from agentmail_gateway.gateway import Gateway
from agentmail_gateway.principal import Principal
from agentmail_gateway.vendor import wire

from .crash_child import LIMITS

CHILD = Path(__file__).with_name("crash_child.py")
ADA = Principal("person", "ada", admin=True)


async def killed_after(data: Path, lines: int, workers: int) -> list[list[str]]:
    """What a gateway said until it was killed in the middle of its work."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, str(CHILD), str(data), str(workers), stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    said = [await asyncio.wait_for(child.stdout.readline(), 60) for _ in range(lines)]
    child.send_signal(signal.SIGKILL)
    rest = await asyncio.wait_for(child.stdout.read(), 60)
    await asyncio.wait_for(child.wait(), 60)
    assert child.returncode == -signal.SIGKILL
    # The last line may have been cut; every whole one was said.
    whole = b"".join(said) + rest[: rest.rfind(b"\n") + 1]
    return [line.split() for line in whole.decode().splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize(("lines", "workers"), [(1, 1), (2, 16), (60, 1), (300, 16)])
async def test_a_mail_that_was_said_to_be_stored_survives_a_kill(tmp_path: Path, lines: int, workers: int) -> None:
    said = await killed_after(tmp_path / "store", lines, workers)
    gateway = await Gateway.open(tmp_path / "store", admin="ada", limits=LIMITS)
    try:
        echo = Principal("agent", "echo")
        for mail_id, key, _ in said:
            mail = await gateway.get_mail(ADA, mail_id)
            assert mail.body == f"body {key}"
            assert [receipt.state for receipt in mail.receipts] == ["queued"]
            assert (await gateway.get_mail(echo, mail_id)).unread
            again, created = await gateway.send_mail(ADA, wire.SendMail(to=("echo", "ada"), body=mail.body), key)
            assert (again.id, created) == (mail_id, False)
        events = await everything(gateway, echo)
        told = [event.data["mail_id"] for event in events]
        assert len(set(told)) == len(told)
        assert {mail_id for mail_id, _, _ in said} <= set(told)
        stored = await count(gateway, ADA)
        assert len(told) == stored, "each mail that is there was told of, and no other"
        last = gateway.last_event_id()
        assert last >= max(int(event) for _, _, event in said)
        await gateway.send_mail(ADA, wire.SendMail(to=("echo",)))
        assert gateway.last_event_id() == last + 1
    finally:
        await gateway.close()


@pytest.mark.slow
async def test_no_id_comes_twice_however_often_the_gateway_is_killed(tmp_path: Path) -> None:
    seen: dict[str, str] = {}
    newest = 0
    for round_ in range(3):
        said = await killed_after(tmp_path / "store", 40, 4)
        for mail_id, key, event in said:
            if round_ == 0:
                assert mail_id not in seen
                seen[mail_id] = key
            assert int(event) >= newest
        newest = max(int(event) for _, _, event in said)
    gateway = await Gateway.open(tmp_path / "store", admin="ada", limits=LIMITS)
    try:
        ids = [event.id for event in await everything(gateway, Principal("agent", "echo"))]
        assert ids == sorted(set(ids))
    finally:
        await gateway.close()


async def everything(gateway: Gateway, who: Principal) -> list[StoredEvent]:
    events: list[StoredEvent] = []
    cursor = 0
    while True:
        page = await gateway.events_after(who, cursor)
        assert page is not None
        if not page:
            return events
        events += page
        cursor = page[-1].id


async def count(gateway: Gateway, who: Principal) -> int:
    total, after = 0, None
    while True:
        page = await gateway.list_mails(who, box="sent", after=after, limit=200)
        total += len(page.items)
        after = page.next
        if after is None:
            return total
