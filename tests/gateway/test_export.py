import json
from collections.abc import AsyncIterator

from .world import World


async def test_everything_that_was_written_comes_out_as_json_lines(world: World) -> None:
    async def content() -> AsyncIterator[bytes]:
        yield b"x"

    file = await world.gateway.put_attachment(world.ada, name="a.txt", type="text/plain", chunks=content())
    mail = await world.send(world.ada, "zcode", cc=("bob",), subject="s", body="世界", attachments=(file.id,))
    for number in range(250):
        await world.send(world.bob, "ada", body=str(number))
    await world.gateway.claim(world.zcode, mail.receipts[0].turn_id)
    lines = [line async for line in world.gateway.export(world.ada)]
    entries = [json.loads(line) for line in b"".join(lines).decode().splitlines()]
    kinds = [entry["type"] for entry in entries]
    assert {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)} == {
        "account": 4,
        "mail": 251,
        "turn": 1,
        "attachment": 1,
        "audit": 3,
    }
    first = next(entry for entry in entries if entry["type"] == "mail")
    assert (first["id"], first["from"], first["to"], first["cc"], first["body"]) == (
        mail.id,
        "ada",
        ["zcode"],
        ["bob"],
        "世界",
    )
    assert first["attachments"] == [{"id": file.id, "name": "a.txt", "type": "text/plain", "size": 1}]
    assert all("\n" not in line.decode()[:-1] or line.count(b"\n") > 1 for line in lines)
