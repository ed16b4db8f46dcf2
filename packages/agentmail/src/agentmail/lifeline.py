"""Run a module as a program that ends when `agentmail up` ends, however that ends.

``python -P -m agentmail.lifeline LOG GRACE MODULE [ARGUMENT]…``: standard input is a pipe whose other end only the
process of `agentmail up` holds. When that is gone, even by SIGKILL, the pipe ends; this process then asks itself to
stop (SIGTERM), and after GRACE seconds it kills itself. One mechanism for every system, unlike the parent-death signal
of Linux, which also follows the parent's thread and not its process. From then on output goes to LOG, for its reader
is gone too.

The module gets an empty standard input, so that neither it nor its children ever hold the pipe.
"""

import os
import runpy
import signal
import sys
import threading
import time

__all__ = ["main"]


def _watch(pipe: int, log: str, grace_s: float) -> None:
    while True:
        try:
            if not os.read(pipe, 4096):
                break
        except OSError:
            break
    try:
        file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.dup2(file, 1)
        os.dup2(file, 2)
    except OSError:
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(grace_s)
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


def main() -> None:
    """Watch the pipe in a thread and run the module as ``__main__``."""
    log, grace_s, module, *arguments = sys.argv[1:]
    pipe = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    threading.Thread(target=_watch, args=(pipe, log, float(grace_s)), name="lifeline", daemon=True).start()
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
