"""`help`: what belongs to no single command."""

import click

from ..cli import cli
from ..errors import UsageError, exit_codes

__all__ = ["SETTINGS", "help"]

SETTINGS: tuple[tuple[str, str], ...] = (
    ("AGENTMAIL_HOME", "the data folder; default: the platform's folder for a user's application data"),
    (
        "AGENTMAIL_GATEWAY_URL",
        "the gateway to talk to; default: the one of the data folder, else http://127.0.0.1:8180",
    ),
    ("AGENTMAIL_TOKEN", "the person's token; default: the data folder's (gateway/person.token), for this machine only"),
    ("AGENTMAIL_DEBUG", "set: a fault of this program shows where it happened"),
    ("NO_COLOR", "set: no colours"),
)


@click.command(short_help="Help on a topic: exit-codes, settings.")
@click.argument("topic", required=False)
@click.pass_context
def help(ctx: click.Context, topic: str | None) -> None:  # noqa: A001 -- the command's name
    """Help on a command, or on a topic: exit-codes, settings."""
    root = ctx.find_root()
    if topic is None:
        click.echo(root.get_help())
    elif topic == "exit-codes":
        click.echo("\n".join(f"{code:>3}  {meaning}" for code, meaning in exit_codes()))
    elif topic == "settings":
        width = max(len(name) for name, _ in SETTINGS)
        click.echo("\n".join(f"{name:<{width}}  {meaning}" for name, meaning in SETTINGS))
    elif (command := cli.get_command(root, topic)) is not None:
        with click.Context(command, info_name=topic, parent=root) as inner:
            click.echo(command.get_help(inner))
    else:
        raise UsageError(f"no help on {topic!r}", "See: agentmail help")
