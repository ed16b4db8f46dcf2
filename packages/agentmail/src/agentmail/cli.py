"""The command tree. A command's module is imported only when that command runs, so that each one starts fast."""

import importlib
from importlib import metadata

import click

from .errors import exit_codes

__all__ = ["cli"]

# section, command, module, one line of help
_COMMANDS: tuple[tuple[str, str, str, str], ...] = (
    ("Start", "up", "up", "Start the gateway and a bridge for every agent on this machine."),
    ("Mail", "send", "send", "Send a mail; with --wait, show what the agents do and answer."),
    ("Mail", "reply", "send", "Answer a mail."),
    ("Mail", "inbox", "mailbox", "List the mail that came for you."),
    ("Mail", "read", "mailbox", "Show a mail and mark it read."),
    ("Mail", "thread", "mailbox", "Show a whole thread, or list the threads."),
    ("Mail", "search", "mailbox", "Find mail by its words."),
    ("Work", "turns", "turns", "List what the agents work on and worked on."),
    ("Work", "watch", "turns", "Follow a turn until it ends."),
    ("Work", "cancel", "turns", "Cancel a turn, or all turns of a mail."),
    ("Work", "questions", "questions", "List what running agents ask permission for."),
    ("Work", "answer", "questions", "Answer such a question: once, thread, always or reject."),
    ("Work", "dead", "dead", "Dead letters: list, show, retry, prune."),
    ("Agents", "agents", "agents", "List the agents and whether they are ready."),
    ("Agents", "agent", "agents", "Administer an agent: add, rotate, pause, resume, remove."),
    ("More", "completion", "completion", "Print the completion script for bash, zsh or fish."),
    ("More", "help", "help_topics", "Help on a topic: exit-codes, settings."),
)


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports them when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, in the order of the table."""
        return [name for _, name, _, _ in _COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command `cmd_name`, imported now."""
        for _, name, module, _ in _COMMANDS:
            if name == cmd_name:
                loaded = importlib.import_module(f"{__package__}.commands.{module}")
                command = getattr(loaded, name.replace("-", "_"))
                assert isinstance(command, click.Command)
                return command
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by section, from the table."""
        for section in dict.fromkeys(row[0] for row in _COMMANDS):
            with formatter.section(section):
                formatter.write_dl([(name, text) for part, name, _, text in _COMMANDS if part == section])


_EPILOG = (
    "Exit codes: "
    + " · ".join(f"{code} {text}" for code, text in exit_codes()[:4])
    + " · more: agentmail help exit-codes"
)


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(f"agentmail {metadata.version('agentmail')}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=_EPILOG,
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version."
)
def cli() -> None:
    """Mail between people and coding agents.

    First: agentmail up — then, in another terminal: agentmail send echo "Hello" --wait
    """
