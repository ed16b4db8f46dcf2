"""When a child's main process ends, independent of its pipes."""

import asyncio
import os
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress

__all__ = ["ExitWatch"]


class ExitWatch:
    """Waits for one child on the event loop.

    On Linux the child stays a zombie until `close`, so that its id, its group and its session can't be given away to
    others while its tree is being ended. Elsewhere a thread waits, and collects it at once.
    """

    def __init__(self, popen: "subprocess.Popen[bytes]"):
        self.returncode: int | None = None
        self._popen = popen
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        self._then: list[Callable[[], None]] = []
        self._descriptor = _descriptor_of(popen.pid)
        if self._descriptor is None:
            threading.Thread(target=self._wait_in_thread, daemon=True, name=f"wait-{popen.pid}").start()
        else:
            self._loop.add_reader(self._descriptor, self._readable)

    def then(self, call: Callable[[], None]) -> None:
        """Call `call` on the loop when the child ended."""
        self._then.append(call)

    async def wait(self) -> int:
        """Return the exit status when the child ended; negative for a signal."""
        await self._event.wait()
        assert self.returncode is not None
        return self.returncode

    def close(self) -> None:
        """Collect the child, which has ended or was killed; `returncode` is set afterwards if it is gone."""
        if self._descriptor is None:
            return
        self._readable()
        if self.returncode is not None:
            self._popen.wait()
        self._release()

    def _readable(self) -> None:
        if self.returncode is not None:
            return
        ended = os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        if ended is not None:
            self._ended(ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status)

    def _wait_in_thread(self) -> None:
        returncode = self._popen.wait()
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._ended, returncode)

    def _ended(self, returncode: int) -> None:
        self.returncode = returncode
        if self._descriptor is not None:
            self._loop.remove_reader(self._descriptor)
        self._event.set()
        for call in self._then:
            call()

    def _release(self) -> None:
        if self._descriptor is not None:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None


def _descriptor_of(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends, where the system has such a thing."""
    if not hasattr(os, "pidfd_open") or not hasattr(os, "waitid"):
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None
