"""Dead letters on the command line, in a store whose turns were really given up three times."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentmail_gateway.gateway import Gateway
from agentmail_gateway.vendor.wire import SendMail

from .installation import Installation

pytestmark = pytest.mark.slow


async def _give_up(data: Path, mails: int) -> None:
    """A store with `mails` turns that an agent claimed three times and never ended."""
    now = [time.time() - 3600]
    gateway = await Gateway.open(data, admin="ada", now=lambda: now[0])
    try:
        person = gateway.authenticate(gateway.person_token_path.read_text().strip())
        assert person is not None
        _, key = await gateway.add_agent(person, "crashy")
        agent = gateway.authenticate(key)
        assert agent is not None
        for number in range(mails):
            body = SendMail(to=("crashy",), subject=f"mail {number}", body="x")
            mail, _ = await gateway.send_mail(person, body, f"key {number}")
            for _ in range(3):
                await gateway.claim(agent, mail.receipts[0].turn_id)
                now[0] += 91
                await gateway.sweep()
    finally:
        await gateway.close()


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Installation]:
    data = tmp_path / "home" / "gateway"
    data.mkdir(parents=True)
    installation = Installation(tmp_path / "home")
    asyncio.run(_give_up(data, 3))
    with subprocess.Popen(
        [sys.executable, "-m", "agentmail_gateway", "--data", str(data), "--port", "0"],
        env=installation.environ,
        stdout=subprocess.PIPE,
        text=True,
    ) as gateway:
        assert gateway.stdout is not None
        assert "listening on" in gateway.stdout.readline()
        yield installation
        gateway.terminate()


def _dead(here: Installation) -> list[dict[str, Any]]:
    items = json.loads(here.run("dead", "list", "--json").stdout)["items"]
    assert isinstance(items, list)
    return items


def test_dead_letters_are_listed_shown_queued_again_and_deleted(here: Installation) -> None:
    first, second, third = [turn["id"] for turn in _dead(here)]
    shown = here.run("dead", "show", first[-10:])
    assert shown.returncode == 0, shown.stderr
    assert f"Turn:       {first}" in shown.stdout
    assert "Attempt:    3" in shown.stdout
    assert "Subject: mail 0" in shown.stdout
    assert set(json.loads(here.run("dead", "show", first, "--json").stdout)) == {"turn", "mail"}

    assert here.run("dead", "retry", first).stdout == f"{first} queued\n"
    assert [turn["id"] for turn in _dead(here)] == [second, third]
    assert here.run("turns", "--state", "queued", "--agent", "crashy").stdout.count("turn_") == 1

    unsure = here.run("dead", "prune", second)
    assert unsure.returncode == 2
    assert "--yes" in unsure.stderr
    assert here.run("dead", "prune", second, "--yes").stdout == f"{second} deleted\n"
    assert here.run("dead", "prune", "--all", "--yes").stdout == f"{third} deleted\n"
    assert _dead(here) == []
    watched = here.run("watch", third)
    assert watched.returncode == 4


def test_all_dead_letters_are_queued_again_at_once(here: Installation) -> None:
    assert here.run("dead", "retry", "--all").stdout.count(" queued\n") == 3
    assert _dead(here) == []


def test_waiting_for_a_dead_letter_fails(here: Installation) -> None:
    watched = here.run("watch", _dead(here)[0]["id"])
    assert watched.returncode == 1
    assert "crashy: dead" in watched.stdout
