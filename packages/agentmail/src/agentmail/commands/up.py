"""`up`."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from ..errors import LocalError
from ..home import Home, make_private
from ..spelling import spelled
from ..terminal import safe_block
from ..up.fleet import AGENTS
from ..up.patience import Patience

if TYPE_CHECKING:
    from ..up.supervisor import Options

__all__ = ["up"]

DEFAULT_PORT = 8180


@click.command(short_help="Start the gateway and a bridge for every agent on this machine.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port on 127.0.0.1; 0 takes any free one.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="AGENT",
    type=click.Choice([kind.name for kind in AGENTS]),
    help="Start only this agent's bridge; may be repeated. Default: every one found.",
)
@click.option("--allow-root", is_flag=True, help="As root: let agents run as root.")
@click.option("--no-greeting", is_flag=True, help="Send no greeting to echo on the first run.")
@click.pass_context
def up(ctx: click.Context, port: int, only: tuple[str, ...], allow_root: bool, no_greeting: bool) -> None:
    """Start the gateway, and a bridge for every agent found on this machine; keep them running until Ctrl-C.

    The first Ctrl-C stops everything in order, the second at once. Data and logs lie in one folder (AGENTMAIL_HOME),
    and nothing is reachable from other machines.
    """
    from ..up.supervisor import Options
    from ..vendor.state_lock import StateLock, StateLocked

    home = Home.of(os.environ)
    make_private(home.root)
    options = Options(
        port=port,
        port_given=ctx.get_parameter_source("port") is not ParameterSource.DEFAULT,
        allow_root=allow_root,
        greeting=not no_greeting,
        only=frozenset(only),
        root=hasattr(os, "geteuid") and os.geteuid() == 0,
    )
    try:
        lock = StateLock.acquire(home.root, f"process {os.getpid()}")
    except StateLocked as error:
        holder = f" ({error.holder})" if error.holder else ""
        _say(f"AgentMail runs already{holder}: {home.url() or 'it is just starting'}")
        _say("Who is ready: agentmail agents     Stop it: Ctrl-C where it runs")
        return
    except OSError as error:
        raise LocalError(f"can't use the data folder {home.root}: {error.strerror or error}") from error
    with lock:
        asyncio.run(_run(home, options, _say))


def _say(line: str) -> None:
    # A terminal that was closed must not keep the processes from being stopped in order.
    with suppress(OSError, ValueError):
        click.echo(safe_block(spelled(line, os.environ)))


async def _run(home: Home, options: "Options", say: Callable[[str], None]) -> None:
    from ..up.find import is_here
    from ..up.supervisor import Supervisor
    from ..vendor.settings import user_home

    user = user_home(os.environ)
    supervisor = Supervisor(
        home,
        os.environ,
        options,
        say=say,
        find=lambda agent: is_here(agent, environ=os.environ, home=user, platform=sys.platform),
    )
    loop = asyncio.get_running_loop()
    patience = Patience(loop.time)

    def on_signal(number: signal.Signals) -> None:
        match patience.take(by_person=number is signal.SIGINT):
            case "stop":
                supervisor.stop.set()
            case "force":
                supervisor.force.set()
            case None:
                return

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if (number := getattr(signal, name, None)) is not None:
            with suppress(NotImplementedError):
                loop.add_signal_handler(number, on_signal, number)
    await supervisor.run()
