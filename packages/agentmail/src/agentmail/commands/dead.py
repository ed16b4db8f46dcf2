"""`dead`: the turns that three attempts could not bring to an end."""

import sys
from typing import TYPE_CHECKING

import click

from ..errors import RefusedError, UsageError
from ..options import Common, common

if TYPE_CHECKING:
    from ..vendor.gateway_client import GatewayClient
    from ..vendor.wire import Mail, Turn

__all__ = ["dead"]


@click.group(short_help="Dead letters: list, show, retry, prune.")
def dead() -> None:
    """Dead letters: turns whose every attempt ended in the middle. They wait for you."""


async def _all(client: "GatewayClient") -> "list[Turn]":
    from ..vendor.gateway_client import every

    return [turn async for turn in every(lambda after: client.list_turns(states=("dead",), after=after, limit=200))]


async def _chosen(client: "GatewayClient", turns: tuple[str, ...], everything: bool) -> "list[Turn]":
    from ..ids import full_id

    if everything:
        return await _all(client)
    chosen = [await client.get_turn(await full_id(client, turn, "turn")) for turn in turns]
    for turn in chosen:
        if turn.state != "dead":
            raise RefusedError(
                f"{turn.id} is {turn.state}, not a dead letter", "See: agentmail dead list", code="conflict"
            )
    return chosen


def _need_some(turns: tuple[str, ...], everything: bool) -> None:
    if bool(turns) == everything:
        raise UsageError("name the dead letters, or say --all", "See: agentmail dead list")


@dead.command("list", short_help="List the dead letters.")
@common
def list_(options: Common) -> None:
    """List the dead letters, oldest first."""
    found = options.talk(_all)

    def text() -> str:
        from ..show import turn_table

        return "\n".join(turn_table(found, options.now, options.screen)) if found else "no dead letters"

    options.show({"items": found}, text)


@dead.command(short_help="Show a dead letter and its mail.")
@click.argument("turn", metavar="TURN")
@common
def show(options: Common, turn: str) -> None:
    """Show a dead letter: what happened, and the mail it is about."""

    async def work(client: "GatewayClient") -> "tuple[Turn, Mail]":
        found = (await _chosen(client, (turn,), False))[0]
        return found, await client.get_mail(found.mail_id)

    found, mail = options.talk(work)

    def text() -> str:
        from ..show import mail_text, turn_text

        return "\n".join(
            [*turn_text(found, options.now, options.screen), "", *mail_text(mail, options.now, options.screen)]
        )

    options.show({"turn": found, "mail": mail}, text)


@dead.command(short_help="Queue dead letters again.")
@click.argument("turns", nargs=-1, metavar="TURN...")
@click.option("--all", "everything", is_flag=True, help="All of them.")
@common
def retry(options: Common, turns: tuple[str, ...], everything: bool) -> None:
    """Queue dead letters again, with a fresh count of attempts."""
    _need_some(turns, everything)

    async def work(client: "GatewayClient") -> "list[Turn]":
        return [await client.retry(turn.id) for turn in await _chosen(client, turns, everything)]

    queued = options.talk(work)
    options.show({"items": queued}, lambda: "\n".join(f"{turn.id} queued" for turn in queued) or "no dead letters")


@dead.command(short_help="Delete dead letters.")
@click.argument("turns", nargs=-1, metavar="TURN...")
@click.option("--all", "everything", is_flag=True, help="All of them.")
@click.option("-y", "--yes", is_flag=True, help="Don't ask.")
@common
def prune(options: Common, turns: tuple[str, ...], everything: bool, yes: bool) -> None:
    """Delete dead letters. The mails stay, their turns are gone for good."""
    _need_some(turns, everything)
    chosen = options.talk(lambda client: _chosen(client, turns, everything))
    if chosen and not yes:
        if not sys.stdin.isatty():
            raise UsageError(f"{len(chosen)} dead letters would be deleted", "Say --yes if that is meant")
        click.confirm(f"Delete {len(chosen)} dead letters?", abort=True, err=True)

    async def work(client: "GatewayClient") -> list[str]:
        for turn in chosen:
            await client.delete_turn(turn.id)
        return [turn.id for turn in chosen]

    deleted = options.talk(work) if chosen else []
    options.show({"deleted": deleted}, lambda: "\n".join(f"{turn} deleted" for turn in deleted) or "no dead letters")
