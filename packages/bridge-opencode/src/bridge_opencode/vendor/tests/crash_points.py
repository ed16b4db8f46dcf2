"""Kills a process at every file operation of an action, one after the other, and shows what is left on disk."""

import os
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# What a module calls to change a file; each is looked up in `os` at the time of the call.
OPERATIONS = ("write", "fsync", "ftruncate", "replace", "unlink")


def crash_points(base: Path, prepare: Callable[[Path], None], action: Callable[[Path], None]) -> Iterator[Path]:
    """A folder per crash: prepared, then `action` in a process that is killed (SIGKILL) just before its nth operation.

    A write is killed in its middle as well as before it. The last folder is that of an action that came to its end.
    """
    number = 0
    for half in (False, True):
        finished = False
        point = 0
        while not finished:
            folder = base / str(number)
            folder.mkdir()
            prepare(folder)
            finished = _run(folder, action, point, half=half)
            yield folder
            point += 1
            number += 1
        assert point > 1, "the action changes no file"


def _run(folder: Path, action: Callable[[Path], None], point: int, *, half: bool) -> bool:
    """Whether the action came to its end before operation `point`."""
    with warnings.catch_warnings():
        # Threads of other tests don't matter here: the child only writes files and ends.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process == 0:
        try:
            _arm(point, half=half)
            action(folder)
        except BaseException:  # noqa: BLE001 - a forked copy of the test run must end here, whatever happens
            traceback.print_exc()
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(process, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False
    assert os.WEXITSTATUS(status) == 0, "the action failed; its traceback is above"
    return True


def _arm(point: int, *, half: bool) -> None:
    left = point

    def armed(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*args: Any, **options: Any) -> Any:
            nonlocal left
            if left == 0:
                if name == "write" and half:
                    real(args[0], args[1][: len(args[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
            return real(*args, **options)

        return operation

    for name in OPERATIONS:
        setattr(os, name, armed(name, getattr(os, name)))
