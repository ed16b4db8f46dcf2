"""The life of the process: lock, socket, store, server, and an orderly end."""

import asyncio
import gc
import signal
import socket
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

import structlog
import uvicorn

from ..gateway import Gateway
from .app import App
from .connection import HttpConnection
from .data_lock import write_address
from .options import Options
from .origins import AllowList
from .settings import HttpSettings

__all__ = ["Server", "bind", "run", "serve", "url_of"]

GRACE_S = 3
BACKLOG = 2048
SPARE_FILES = 256
log = structlog.get_logger("agentmail.gateway")


class Server(uvicorn.Server):
    """uvicorn's server with two moments added, and an exit status of its own choice after a signal."""

    def __init__(self, config: uvicorn.Config, *, ready: Callable[[], None], stopping: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
        self._stopping = stopping

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stopping()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Stop on SIGINT and SIGTERM; unlike uvicorn's, not raised again: a stop that was asked for is a success."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def bind(host: str, port: int) -> socket.socket:
    """A listening socket's address taken. Raises OSError when it is in use, not allowed or not of this machine."""
    family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[
        0
    ]
    sock = socket.socket(family, kind, proto)
    try:
        if sys.platform != "win32":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        # Listening at once makes a second start fail here, before it touches anything.
        sock.listen(BACKLOG)
    except OSError:
        sock.close()
        raise
    sock.setblocking(False)
    return sock


def url_of(sock: socket.socket) -> str:
    """The URL that clients on this machine use for a bound socket."""
    host, port = sock.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 -- read, not bound
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _raise_file_limit() -> int:
    """As many open files as the system lets this user have; each stream is one. Returns how many streams that is."""
    if sys.platform == "win32":
        return 10_000
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    if soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return max(16, min(soft - SPARE_FILES, 20_000))


async def serve(options: Options, allowed: AllowList, sock: socket.socket) -> None:
    """Serve the store in `options.data` on `sock` until a signal comes. Raises what opening the store raises."""
    streams = _raise_file_limit()
    gateway = await Gateway.open(options.data, admin=options.admin)
    try:
        app = App(gateway, HttpSettings(allowed=allowed, streams=streams))
        config = uvicorn.Config(
            app,
            http=HttpConnection,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=bool(options.trusted_proxies),
            forwarded_allow_ips=list(options.trusted_proxies),
            timeout_keep_alive=75,
            timeout_graceful_shutdown=GRACE_S,
            backlog=BACKLOG,
        )
        server = Server(config, ready=lambda: _ready(app, options, sock), stopping=app.close)
        await server.serve(sockets=[sock])
        await app.closed()
    finally:
        await gateway.close()


def _ready(app: App, options: Options, sock: socket.socket) -> None:
    app.start()
    url = url_of(sock)
    write_address(options.data, url)
    # What lives now lives until the end: the collector need not look at it again.
    gc.collect()
    gc.freeze()
    if not _is_loopback(sock):
        log.warning(
            "reachable from other machines",
            address=sock.getsockname()[0],
            advice="keys travel in clear text: put a proxy with TLS in front, or use --host 127.0.0.1",
        )
    print(f"listening on {url}", flush=True)


def _is_loopback(sock: socket.socket) -> bool:
    host = str(sock.getsockname()[0])
    return host.startswith("127.") or host == "::1"


def run(options: Options, allowed: AllowList, sock: socket.socket) -> None:
    """`serve` on a loop of its own, uvloop's where it is installed."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(serve(options, allowed, sock))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
