"""`agents` and `agent add|rotate|pause|resume|remove`."""

from typing import TYPE_CHECKING, cast

import click

from ..home import write_private
from ..options import TIERS, Common, common

if TYPE_CHECKING:
    from ..vendor.gateway_client import GatewayClient
    from ..vendor.wire import Agent, IssuedKey, Page, Tier

__all__ = ["agent", "agents"]

_SAVE = click.option(
    "--save-key",
    "save",
    is_flag=True,
    help="Don't print the key but keep it where the agent's bridge on this machine looks for it.",
)


@click.command(short_help="List the agents and whether they are ready.")
@common
def agents(options: Common) -> None:
    """List the agents: ready or what they lack, what waits for them, which tiers are allowed and what enforces each."""

    async def work(client: "GatewayClient") -> "Page[Agent]":
        return await client.list_agents()

    page = options.talk(work)

    def text() -> str:
        from ..show import agent_table

        return "\n".join(agent_table(page.items, options.now, options.screen)) if page.items else "no agents"

    options.show(page, text)


@click.group(short_help="Administer an agent: add, rotate, pause, resume, remove.")
def agent() -> None:
    """Administer an agent. The agents of this machine are set up by "agentmail up"."""


def _hand_over(options: Common, issued: "IssuedKey", save: bool) -> None:
    """Give the key to the person once: on the terminal, or in a file that only they can read."""
    if not save:
        options.show(issued, lambda: issued.key)
        return
    file = options.home.key_file(issued.name)
    write_private(file, issued.key + "\n")
    options.show({"name": issued.name, "key_file": str(file)}, lambda: f"the key of {issued.name} is in {file}")


@agent.command(short_help="Make an agent and print its key, once.")
@click.argument("name")
@click.option(
    "--max-mode", type=TIERS, default="workspace", show_default=True, help="The highest tier it may work under."
)
@_SAVE
@common
def add(options: Common, name: str, max_mode: str, save: bool) -> None:
    """Make an agent and print its key, this once. Its bridge reads the key from AGENTMAIL_AGENT_KEY_FILE."""

    async def work(client: "GatewayClient") -> "IssuedKey":
        return await client.add_agent(name, cast("Tier", max_mode))

    _hand_over(options, options.talk(work), save)


@agent.command(short_help="Give an agent a new key and print it, once.")
@click.argument("name")
@_SAVE
@common
def rotate(options: Common, name: str, save: bool) -> None:
    """Give an agent a new key; the old one stops working at once.

    For a bridge that "agentmail up" started, restart that: it sees that its key is old and makes a new one.
    """

    async def work(client: "GatewayClient") -> "IssuedKey":
        return await client.rotate_agent(name)

    _hand_over(options, options.talk(work), save)


def _change(options: Common, name: str, done: str, *, paused: bool | None = None, disabled: bool | None = None) -> None:
    async def work(client: "GatewayClient") -> "Agent":
        return await client.patch_agent(name, paused=paused, disabled=disabled)

    changed = options.talk(work)
    options.show(changed, lambda: f"{changed.name}: {done}")


@agent.command(short_help="Let an agent take no new work.")
@click.argument("name")
@common
def pause(options: Common, name: str) -> None:
    """Let an agent take no new work. Mail for it waits; what runs, runs on."""
    _change(options, name, "paused, its mail waits", paused=True)


@agent.command(short_help="Let an agent work again, after pause or remove.")
@click.argument("name")
@common
def resume(options: Common, name: str) -> None:
    """Let an agent work again, after pause or remove."""
    _change(options, name, "takes work again", paused=False, disabled=False)


@agent.command(short_help="Take an agent out of service.")
@click.argument("name")
@common
def remove(options: Common, name: str) -> None:
    """Take an agent out of service: its key stops working, mail to it is refused; "resume" undoes it."""
    _change(options, name, "removed, its key works no longer", disabled=True)
