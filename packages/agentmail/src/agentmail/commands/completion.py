"""`completion`: the script that makes a shell complete this program's words."""

import click
from click.shell_completion import get_completion_class

__all__ = ["completion"]

_INSTALL = {
    "bash": 'eval "$(agentmail completion bash)"   in ~/.bashrc',
    "zsh": 'eval "$(agentmail completion zsh)"   in ~/.zshrc, after compinit',
    "fish": "agentmail completion fish > ~/.config/fish/completions/agentmail.fish",
}


@click.command(epilog="To install: " + "; ".join(_INSTALL.values()))
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script for a shell."""
    script = get_completion_class(shell)
    assert script is not None
    click.echo(script(ctx.find_root().command, {}, "agentmail", "_AGENTMAIL_COMPLETE").source())
