"""Is a port free, and who has it if not."""

import errno
import os
import socket
from contextlib import suppress

import psutil

from ..errors import LocalError

__all__ = ["check_port", "next_free", "port_is_free"]

_HOST = "127.0.0.1"


def port_is_free(port: int) -> bool:
    """Whether a server can listen on `port` of the loopback address now. Raises `LocalError` when it may not."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        if os.name == "posix":
            # On other systems this option would let two servers share a port.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            raise LocalError(f"can't listen on port {port}: {error.strerror or error}", _another(port)) from error
    return True


def next_free(port: int) -> int:
    """The first free port above `port`, or 0 (any) when there is none near."""
    return next((near for near in range(port + 1, min(port + 50, 65536)) if port_is_free(near)), 0)


def _another(port: int) -> str:
    return f"Choose another: agentmail up --port {next_free(max(port, 8179))}"


def check_port(port: int) -> None:
    """Raises `LocalError` naming the holder and the next step when `port` (0: any) is taken."""
    if port and not port_is_free(port):
        raise LocalError(f"port {port} is taken{_holder(port)}", _another(port))


def _holder(port: int) -> str:
    with suppress(psutil.Error, OSError):
        for connection in psutil.net_connections(kind="tcp"):
            local = connection.laddr
            if connection.status == psutil.CONN_LISTEN and local and local.port == port and connection.pid:
                return f" by {psutil.Process(connection.pid).name()} (process {connection.pid})"
    return " by another program"
