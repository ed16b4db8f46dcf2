"""A gateway in a process of its own that sends mail and says on a line when each is stored, until it is killed."""

import asyncio
import sys
from pathlib import Path

from agentmail_gateway.gateway import Gateway
from agentmail_gateway.problems import Problem
from agentmail_gateway.vendor.wire import Limits, SendMail

LIMITS = Limits(queue_length=10**9)


async def send(gateway: Gateway, token: str, worker: int) -> None:
    who = gateway.authenticate(token)
    assert who is not None
    number = 0
    while True:
        key = f"{worker}-{number}"
        mail, _ = await gateway.send_mail(who, SendMail(to=("echo", "ada"), body=f"body {key}"), key)
        # Once this line is read, the mail must be on disk.
        sys.stdout.write(f"{mail.id} {key} {gateway.last_event_id()}\n")
        sys.stdout.flush()
        number += 1


async def main(data: Path, workers: int) -> None:
    gateway = await Gateway.open(data, admin="ada", limits=LIMITS)
    token = gateway.person_token_path.read_text().strip()
    admin = gateway.authenticate(token)
    assert admin is not None
    try:
        await gateway.add_agent(admin, "echo")
    except Problem as problem:
        if problem.code != "conflict":
            raise
    await asyncio.gather(*(send(gateway, token, worker) for worker in range(workers)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
