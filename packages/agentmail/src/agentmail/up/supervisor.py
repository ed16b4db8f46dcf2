"""The whole of `agentmail up`: gateway, keys, bridges, greeting; then watching, and stopping in the right order.

The bridges stop first, so that they can still give their turns back, then the gateway. A gateway that somebody else
started on the same data folder is used and left running.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from ..connect import translate
from ..errors import CliError, StoppedError
from ..home import Home, write_private
from ..terminal import safe, safe_block
from ..vendor.wire import Mail
from . import leftovers
from .bridges import Bridges
from .gateway_keeper import GatewayKeeper
from .gateway_link import admin_client
from .greeting import GREETING, greet

__all__ = ["Options", "Supervisor"]

_GREETING_S = 30.0
_LEFTOVERS_S = 6.0
_ANSWER_LINES = 10


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for.

    `root` says whether this process is the superuser's; `port` 0 is any free one; `only` names the agents that are
    wanted, all when it is empty.
    """

    port: int
    port_given: bool
    allow_root: bool
    greeting: bool
    root: bool
    only: frozenset[str] = frozenset()


class Supervisor:
    """Runs everything until `stop` is set; `force` ends at once what has not stopped yet.

    `say` prints one line, `find` tells whether an agent's program is on this machine.
    """

    def __init__(
        self,
        home: Home,
        environ: Mapping[str, str],
        options: Options,
        *,
        say: Callable[[str], None],
        find: Callable[[str], bool],
    ) -> None:
        self._home = home
        self._environ = environ
        self._options = options
        self._say = say
        self._find = find
        self._gateway = GatewayKeeper(home, environ, options.port, say=say, changed=self._record)
        self._bridges: Bridges | None = None
        self.stop = asyncio.Event()
        self.force = asyncio.Event()

    async def run(self) -> None:
        """Start, watch and stop. Raises `CliError` when it can't start, `StoppedError` when it was forced to end."""
        work = asyncio.create_task(self._work())
        stop = asyncio.create_task(self.stop.wait())
        await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            self._say("stopping …")
        for task in (work, stop):
            task.cancel()
        outcome, _ = await asyncio.gather(work, stop, return_exceptions=True)
        await self._stop_all()
        if isinstance(outcome, Exception):
            raise outcome

    async def _work(self) -> None:
        from ..vendor.gateway_client import GatewayError

        left = leftovers.leftovers(self._home.up_state)
        if left:
            names = ", ".join(sorted(process.name for process in left))
            self._say(f"an earlier `agentmail up` was killed; what it left is ended first: {names}")
            await leftovers.end(left, _LEFTOVERS_S)
        await self._gateway.start()
        self._say(f"AgentMail: {self._gateway.url}")
        if (
            self._gateway.is_guest
            and self._options.port_given
            and not self._gateway.url.endswith(f":{self._options.port}")
        ):
            self._say("(its gateway runs already, --port is not used)")
        try:
            await self._agents()
        except GatewayError as error:
            raise translate(error) from error

    async def _agents(self) -> None:
        async with admin_client(self._home, self._gateway.url) as admin:
            self._bridges = bridges = Bridges(
                self._home,
                self._environ,
                url=self._gateway.url,
                root=self._options.root,
                allow_root=self._options.allow_root,
                only=self._options.only,
                say=self._say,
                changed=self._record,
            )
            await bridges.start(admin, self._find)
            greeting: asyncio.Task[Mail | str] | None = None
            if self._options.greeting and bridges.runs("echo") and not self._home.greeted.exists():
                # The mail may wait for its bridge, a person should not.
                greeting = asyncio.create_task(greet(admin, _GREETING_S))
            try:
                ready = await bridges.report(admin)
                if greeting is not None and "echo" in ready:
                    await self._show_greeting(greeting)
            finally:
                if greeting is not None:
                    greeting.cancel()
                    await asyncio.gather(greeting, return_exceptions=True)
            self._say('Write: agentmail send echo "Hello" --wait     Stop: Ctrl-C')
            await self._gateway.watch()

    async def _show_greeting(self, task: "asyncio.Task[Mail | str]") -> None:
        from ..vendor.gateway_client import GatewayError

        try:
            answer = await task
        except (GatewayError, CliError) as error:
            answer = str(error)
        if isinstance(answer, str):
            self._say(f"the greeting to echo was not answered: {safe(answer)}")
            return
        self._say(f"you → echo:  {safe(GREETING.body)}")
        lines = [line for line in safe_block(answer.body).splitlines() if line.strip()]
        self._say("echo → you:  " + "\n             ".join(lines[:_ANSWER_LINES]))
        write_private(self._home.greeted, answer.id + "\n")

    def _record(self) -> None:
        running = self._bridges.pids() if self._bridges else []
        if (pid := self._gateway.pid) is not None:
            running.append(("gateway", pid))
        # A full disk must not end what runs well.
        with suppress(CliError):
            leftovers.record(self._home.up_state, running)

    async def _stop_all(self) -> None:
        stopping = asyncio.create_task(self._stop_in_order())
        force = asyncio.create_task(self.force.wait())
        await asyncio.wait({stopping, force}, return_when=asyncio.FIRST_COMPLETED)
        forced = not stopping.done()
        if forced:
            if self._bridges is not None:
                self._bridges.kill()
            self._gateway.kill()
        force.cancel()
        await stopping
        if forced:
            raise StoppedError("ended by force; turns that were running are tried again at the next start")
        if self._gateway.is_guest:
            self._say(f"the gateway at {self._gateway.url} keeps running, it was not started here")

    async def _stop_in_order(self) -> None:
        if self._bridges is not None:
            await self._bridges.stop()
        await self._gateway.stop()
