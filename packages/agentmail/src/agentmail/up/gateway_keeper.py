"""The gateway of the data folder: used when one answers there, else started and kept running."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from ..errors import CliError, LocalError
from ..home import Home
from ..terminal import safe
from .fleet import GATEWAY, gateway_program, is_installed
from .gateway_link import answers
from .ports import check_port
from .service import Service, back_off

__all__ = ["GatewayKeeper"]

_STARTS_S = 20.0
_LOOK_S = 2.0
_LISTENING = "listening on "


class GatewayKeeper:
    """Gives a running gateway's `url` after `start`, and keeps one running there in `watch`.

    `port` 0 is any free one. `say` gets lines for the terminal, `changed` is called when its process changed.
    """

    def __init__(
        self,
        home: Home,
        environ: Mapping[str, str],
        port: int,
        *,
        say: Callable[[str], None],
        changed: Callable[[], None],
    ) -> None:
        self._home = home
        self._environ = environ
        self._port = port
        self._say = say
        self._tell = changed
        self._service: Service | None = None
        self._task: asyncio.Task[None] | None = None
        self._moved = asyncio.Event()
        self.url = ""

    @property
    def is_guest(self) -> bool:
        """Whether the gateway was started by somebody else."""
        return self._service is None and bool(self.url)

    @property
    def pid(self) -> int | None:
        """Our gateway's process, or None."""
        return self._service.pid if self._service else None

    async def start(self) -> None:
        """Find or start the gateway. Raises `LocalError` with the cause when it does not start."""
        url = self._home.url()
        if url and await answers(self._home, url):
            self.url = url
        else:
            await self._start_own()

    async def _start_own(self) -> None:
        if not is_installed(GATEWAY):
            raise LocalError("the package agentmail-gateway is not installed beside this program", "Install it there")
        check_port(self._port)
        self._service = service = Service(
            lambda: gateway_program(self._home, self._environ, self._port),
            say=self._say_once_up,
            line=self._on_line,
            changed=self._on_change,
        )
        self._task = asyncio.create_task(service.run())
        with suppress(TimeoutError):
            async with asyncio.timeout(_STARTS_S):
                while not self.url and not service.ends:
                    self._moved.clear()
                    await self._moved.wait()
        if not self.url:
            cause = (
                f": {safe(service.last_line)}" if service.last_line else f" ({service.why_ended or 'no word from it'})"
            )
            await self.stop()
            self._service = None
            raise LocalError(f"the gateway did not start{cause}", f"Its log: {self._home.log('gateway')}")

    def _say_once_up(self, text: str) -> None:
        if self.url:
            self._say(text)

    def _on_line(self, line: str) -> None:
        _, found, url = line.partition(_LISTENING)
        if found and url.strip().startswith("http"):
            self.url = url.split()[0].rstrip("/")
            self._port = urlsplit(self.url).port or self._port
            self._moved.set()

    def _on_change(self) -> None:
        self._moved.set()
        self._tell()

    async def watch(self) -> None:
        """Keep a gateway running at `url`; never returns. Our own is kept by its service, another's is looked after."""
        missed = 0
        while self.is_guest:
            await asyncio.sleep(_LOOK_S)
            missed = 0 if await answers(self._home, self.url) else missed + 1
            if missed >= 2:
                await self._take_over()
        await asyncio.Event().wait()

    async def _take_over(self) -> None:
        url, self.url = self.url, ""
        self._port = urlsplit(url).port or self._port
        self._say(f"gateway: the one at {url} is gone, starting another there")
        failures = 0
        while not self.url:
            try:
                await self._start_own()
            except CliError as error:
                failures += 1
                self._say(f"gateway: {error.line()}")
                await asyncio.sleep(back_off(failures + 2))

    async def stop(self) -> None:
        """Stop our gateway."""
        if self._service is not None and self._task is not None:
            await self._service.stop()
            await asyncio.gather(self._task, return_exceptions=True)

    def kill(self) -> None:
        """End our gateway at once."""
        if self._service is not None:
            self._service.kill()
