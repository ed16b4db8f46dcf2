"""Permission questions on the command line, in a store in which an agent really asked."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentmail_gateway.gateway import Gateway
from agentmail_gateway.vendor.wire import PermissionAsk, SendMail

from .installation import Installation

pytestmark = pytest.mark.slow


async def _ask(data: Path, questions: int) -> None:
    """A store in which a running turn waits for the answers to some questions."""
    gateway = await Gateway.open(data, admin="ada")
    try:
        person = gateway.authenticate(gateway.person_token_path.read_text().strip())
        assert person is not None
        _, key = await gateway.add_agent(person, "opencode")
        agent = gateway.authenticate(key)
        assert agent is not None
        mail, _ = await gateway.send_mail(person, SendMail(to=("opencode",), body="x"), "key")
        claim = await gateway.claim(agent, mail.receipts[0].turn_id)
        for number in range(questions):
            ask = PermissionAsk(
                claim.turn_id, claim.lease, "bash", f"bash: make {number}", f"make {number}", f"make {number} *"
            )
            await gateway.ask_permission(agent, ask)
    finally:
        await gateway.close()


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Installation]:
    data = tmp_path / "home" / "gateway"
    data.mkdir(parents=True)
    installation = Installation(tmp_path / "home")
    asyncio.run(_ask(data, 2))
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


def test_questions_are_listed_shown_and_answered(here: Installation) -> None:
    listed = here.run("questions")
    assert listed.returncode == 0, listed.stderr
    assert listed.stdout.count("perm_") == 2
    first, second = [each["id"] for each in json.loads(here.run("questions", "--json").stdout)["items"]]
    shown = here.run("questions", first[-8:])
    assert shown.returncode == 0, shown.stderr
    assert "cover bash: make 0 *" in shown.stdout

    assert here.run("answer", first, "thread").stdout == f"{first} allowed in this thread by ada\n"
    assert here.run("answer", first, "thread").returncode == 0
    changed = here.run("answer", first, "reject")
    assert changed.returncode != 0
    assert "answered already" in changed.stderr
    assert json.loads(here.run("answer", second, "reject", "--json").stdout)["decision"] == "reject"

    assert here.run("questions").stdout == "no open question\n"
    assert here.run("questions", "--all").stdout.count("perm_") == 2


def test_what_is_no_question_or_no_answer_is_refused(here: Installation) -> None:
    assert here.run("answer", "perm_" + "0" * 32, "once").returncode != 0
    assert here.run("answer", "turn_" + "0" * 32, "once").returncode == 2
    assert here.run("answer", "perm_" + "0" * 32, "perhaps").returncode == 2
