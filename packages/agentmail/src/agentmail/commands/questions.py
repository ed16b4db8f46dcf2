"""`questions` and `answer`: what a running agent asks permission for."""

from typing import TYPE_CHECKING, cast

import click

from ..options import Common, common

if TYPE_CHECKING:
    from ..vendor.gateway_client import GatewayClient
    from ..vendor.wire import PermissionDecision, PermissionRequest

__all__ = ["answer", "questions"]


@click.command(short_help="List what running agents ask permission for.")
@click.argument("question", required=False, metavar="[QUESTION]")
@click.option("--all", "everything", is_flag=True, help="Also those that are answered.")
@common
def questions(options: Common, question: str | None, everything: bool) -> None:
    """List the open questions of running agents, or show one of them whole.

    An agent waits a few minutes for the answer (AGENTMAIL_PERMISSION_WAIT_MS of its bridge); none is a no.
    """

    async def work(client: "GatewayClient") -> "list[PermissionRequest]":
        from ..ids import full_id
        from ..vendor.gateway_client import every

        if question is not None:
            return [await client.get_permission(await full_id(client, question, "perm"))]
        state = None if everything else "open"
        pages = every(lambda after: client.list_permissions(state=state, after=after, limit=200))
        return [each async for each in pages]

    found = options.talk(work)

    def text() -> str:
        from ..question_text import question_table, question_text

        if question is not None:
            return "\n".join(question_text(found[0], options.now))
        return "\n".join(question_table(found, options.now, options.screen)) if found else "no open question"

    options.show({"items": found}, text)


@click.command(short_help="Answer such a question: once, thread, always or reject.")
@click.argument("question", metavar="QUESTION")
@click.argument("decision", type=click.Choice(["once", "thread", "always", "reject"]))
@common
def answer(options: Common, question: str, decision: str) -> None:
    """Answer the question of a running agent.

    `once` allows it this time, `thread` in this thread from now on, `always` everywhere; what is remembered covers what
    `agentmail questions QUESTION` says and no more. `reject` refuses it, and the agent goes on without.
    """

    async def work(client: "GatewayClient") -> "PermissionRequest":
        from ..ids import full_id

        chosen = cast("PermissionDecision", decision)
        return await client.decide_permission(await full_id(client, question, "perm"), chosen)

    decided = options.talk(work)

    def text() -> str:
        from ..question_text import question_state

        return f"{decided.id} {question_state(decided)}"

    options.show(decided, text)
