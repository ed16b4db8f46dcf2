"""The bridges of this machine's agents: which are started, and what to say of each."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ..connect import translate
from ..errors import CliError
from ..home import Home
from .fleet import AGENTS, AgentKind, bridge_program, is_installed
from .keys import ensure_key
from .presence import agent_line, is_back, missing_line, unready_line
from .service import Service

if TYPE_CHECKING:
    from ..vendor.gateway_client import GatewayClient

__all__ = ["Bridges"]

_READY_S = 30.0
_LOOK_S = 0.15
_AS_ROOT = "not started: this is root, and an agent would run as root; use another user, or: agentmail up --allow-root"


@dataclass(frozen=True, slots=True)
class _Running:
    kind: AgentKind
    service: Service
    task: asyncio.Task[None]
    began: datetime


class Bridges:
    """Starts, reports on and stops the bridges.

    `say` prints a line, `changed` is called when a
    process changed. `root`: this process is the superuser; `allow_root`: agents may run as such. `only` names the
    agents that are wanted, all when it is empty.
    """

    def __init__(
        self,
        home: Home,
        environ: Mapping[str, str],
        *,
        url: str,
        root: bool,
        allow_root: bool,
        only: frozenset[str],
        say: Callable[[str], None],
        changed: Callable[[], None],
    ) -> None:
        self._home = home
        self._environ = environ
        self._url = url
        self._root = root
        self._allow_root = allow_root
        self._kinds = [kind for kind in AGENTS if not only or kind.name in only]
        self._say = say
        self._tell = changed
        self._moved = asyncio.Event()
        self._running: dict[str, _Running] = {}
        self._reported: set[str] = set()

    def pids(self) -> list[tuple[str, int]]:
        """(name, pid) of every bridge that runs."""
        return [(name, pid) for name, bridge in self._running.items() if (pid := bridge.service.pid) is not None]

    async def start(self, admin: "GatewayClient", find: Callable[[str], bool]) -> None:
        """Start a bridge for `echo` and for each agent that `find` finds; say at once why one is not started."""
        for line in await asyncio.gather(*(self._start(admin, kind, find) for kind in self._kinds)):
            if line is not None:
                self._say(line)

    async def _start(self, admin: "GatewayClient", kind: AgentKind, find: Callable[[str], bool]) -> str | None:
        if not is_installed(kind.module):
            package = kind.module.replace("_", "-")
            return _line(kind.name, f"the package {package} is not installed beside this program; install it there")
        if kind.runs_programs and not find(kind.name):
            return _line(kind.name, missing_line(kind.label, kind.name))
        if kind.runs_programs and self._root and not self._allow_root:
            return _line(kind.name, _AS_ROOT)
        try:
            await self._key(admin, kind)
        except CliError as error:
            return _line(kind.name, error.line())
        service: Service

        async def prepare() -> None:
            if service.starts:
                await self._key(admin, kind)

        def say(text: str) -> None:
            # Until its line is out, that line tells all of it.
            if kind.name in self._reported:
                self._say(text)

        service = Service(
            lambda: bridge_program(
                self._home, self._environ, kind, self._url, allow_root=self._allow_root or not kind.runs_programs
            ),
            say=say,
            changed=self._on_change,
            prepare=prepare,
        )
        began = datetime.now(UTC)
        self._running[kind.name] = _Running(kind, service, asyncio.create_task(service.run()), began)
        return None

    async def _key(self, admin: "GatewayClient", kind: AgentKind) -> None:
        from ..vendor.gateway_client import GatewayError

        try:
            await ensure_key(admin, self._home, kind.name)
        except GatewayError as error:
            raise translate(error) from error

    def _on_change(self) -> None:
        self._moved.set()
        self._tell()

    def runs(self, name: str) -> bool:
        """Whether a bridge for this agent was started."""
        return name in self._running

    async def report(self, admin: "GatewayClient") -> frozenset[str]:
        """Say one line per started bridge as soon as it is known; the names of those whose agent is ready."""
        waiting, ready = dict(self._running), set[str]()
        try:
            async with asyncio.timeout(_READY_S):
                while waiting:
                    await self._look(admin, waiting, ready)
                    if waiting:
                        await self._next_look()
        except TimeoutError:
            for name in waiting:
                self._say(_line(name, "is still starting; later: agentmail agents"))
                self._reported.add(name)
        return frozenset(ready)

    async def _look(self, admin: "GatewayClient", waiting: dict[str, _Running], ready: set[str]) -> None:
        from ..vendor.gateway_client import GatewayError

        try:
            agents = {agent.name: agent for agent in (await admin.list_agents()).items}
        except GatewayError:
            return
        for name, bridge in list(waiting.items()):
            agent = agents.get(name)
            if agent is not None and is_back(agent, bridge.began):
                self._say(_line(name, agent_line(agent)))
                if agent.ready:
                    ready.add(name)
            elif bridge.service.ends:
                service = bridge.service
                self._say(_line(name, unready_line(service.why_ended, service.last_line, str(self._home.log(name)))))
            else:
                continue
            self._reported.add(name)
            del waiting[name]

    async def _next_look(self) -> None:
        self._moved.clear()
        try:
            async with asyncio.timeout(_LOOK_S):
                await self._moved.wait()
        except TimeoutError:
            return

    async def stop(self) -> None:
        """Stop all bridges, side by side."""
        await asyncio.gather(*(bridge.service.stop() for bridge in self._running.values()))
        await asyncio.gather(*(bridge.task for bridge in self._running.values()), return_exceptions=True)

    def kill(self) -> None:
        """End all bridges at once."""
        for bridge in self._running.values():
            bridge.service.kill()


def _line(name: str, text: str) -> str:
    return f"  {name:<9} {text}"
