"""`turns`, `watch` and `cancel`."""

import sys
from typing import TYPE_CHECKING, cast, get_args

import click

from ..errors import Exit, NotFinishedError, StoppedError, UsageError
from ..options import Common, common

if TYPE_CHECKING:
    from ..outcome import Answers
    from ..vendor.gateway_client import GatewayClient
    from ..vendor.wire import Turn

__all__ = ["cancel", "turns", "watch"]

_OPEN = ("queued", "leased", "running")


def _states(text: str | None) -> tuple[str, ...]:
    from ..vendor.wire import TurnState

    names = tuple(part.strip() for part in (text or "").split(",") if part.strip())
    names = _OPEN if names == ("open",) else names
    known = get_args(TurnState)
    for name in names:
        if name not in known:
            raise UsageError(f"{name!r} is not a state", f"The states: open, {', '.join(known)}")
    return names


@click.command(short_help="List what the agents work on and worked on.")
@click.option("--state", metavar="STATES", help="Only these states, with commas; 'open' is queued, leased and running.")
@click.option("--agent", metavar="NAME", help="Only turns of this agent.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="How many, counted from the newest.",
)
@common
def turns(options: Common, state: str | None, agent: str | None, limit: int) -> None:
    """List turns, the newest last: what each agent works on, waits for or has ended."""
    states = _states(state)

    async def work(client: "GatewayClient") -> "tuple[Turn, ...]":
        from ..listing import newest

        return await newest(
            lambda after: client.list_turns(
                states=states, order="newest", after=after, limit=200 if agent else min(limit, 200)
            ),
            limit,
            (lambda turn: turn.agent == agent) if agent else None,
        )

    found = options.talk(work)

    def text() -> str:
        from ..show import turn_table

        return "\n".join(turn_table(found, options.now, options.screen)) if found else "no turns"

    options.show({"items": found}, text)


@click.command(short_help="Follow a turn until it ends.")
@click.argument("turn", metavar="TURN")
@click.option("--limit", type=click.FloatRange(min=0.1), metavar="SECONDS", help="Stop watching after this time.")
@common
def watch(options: Common, turn: str, limit: float | None) -> None:
    """Follow a turn until it ends, then show the answer. The exit code tells how it ended."""
    from ..outcome import answers_to, exit_for
    from ..progress import Quiet, TerminalProgress
    from ..show import mail_text, outcome_line
    from ..terminal import Screen
    from ..waiting import Follower

    shower = TerminalProgress(sys.stderr, Screen.of(sys.stderr, options.environ)) if sys.stderr.isatty() else Quiet()

    async def work(client: "GatewayClient") -> "Answers":
        from ..ids import full_id

        turn_id = await full_id(client, turn, "turn")
        async with Follower(client, shower) as follower:
            ended = await follower.until_done([turn_id], limit)
        return await answers_to(client, ended[0].mail_id, ended)

    try:
        answers = options.talk(work)
    except KeyboardInterrupt:
        raise StoppedError("stopped watching; the turn goes on", f"End it: agentmail cancel {turn}") from None
    finally:
        shower.close()

    def text() -> str:
        screen = options.screen
        lines = [line for reply in answers.replies for line in (*mail_text(reply, options.now, screen), "")]
        return "\n".join([*lines, *(outcome_line(ended, screen) for ended in answers.turns)])

    options.show({"mail": answers.mail, "turns": answers.turns, "replies": answers.replies}, text)
    code = exit_for(answers.turns)
    if code is Exit.TIMED_OUT:
        raise NotFinishedError(f"the turn did not end within {limit:g} s, it goes on")
    if code:
        raise click.exceptions.Exit(code)


@click.command(short_help="Cancel a turn, or all turns of a mail.")
@click.argument("turn", metavar="TURN|MAIL")
@common
def cancel(options: Common, turn: str) -> None:
    """Cancel a turn, or with the id of a mail all its open turns.

    A queued turn ends at once; a running one when its bridge has stopped the agent.
    """

    async def work(client: "GatewayClient") -> "list[Turn]":
        from ..ids import full_id

        if not turn.startswith("mail_"):
            return [await client.cancel(await full_id(client, turn, "turn"))]
        mail = await client.get_mail(await full_id(client, turn, "mail"))
        return [await client.cancel(receipt.turn_id) for receipt in mail.receipts if receipt.state in _OPEN]

    cancelled = options.talk(work)

    def text() -> str:
        from ..show import outcome_line

        lines = []
        for ended in cancelled:
            going = cast("str", ended.state) in _OPEN and ended.cancel_requested
            lines.append(outcome_line(ended, options.screen) + (", cancelling" if going else ""))
        return "\n".join(lines) or "no open turn"

    options.show({"items": cancelled}, text)
