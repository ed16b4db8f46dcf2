"""The argument list of bubblewrap that confines one turn to its tier. Pure: what is on the machine comes in as `Host`.

What each tier may touch: in `plan` the workspace is read-only; in `workspace` the workspace and the turn's own folders
are writable, git's hooks and configuration are not; in `full` the whole file system is as the OS user has it, and only
the process namespace remains, so that nothing outlives the turn.

The order of the arguments matters: later mounts cover earlier ones, and the root is made read-only last.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from .sandbox_git import GitLayout
from .wire import Tier

__all__ = ["HOME", "SYSTEM_FILES", "Bind", "Confinement", "Host", "Network", "arguments"]

Network = Literal["open", "model", "off"]

HOME = "/tmp/home"  # noqa: S108 - a fresh file system of the turn's own, not the machine's /tmp
SYSTEM_FILES = (
    *("passwd", "group", "nsswitch.conf", "hosts", "host.conf", "resolv.conf", "localtime", "ld.so.cache"),
    *("alternatives", "ssl/certs", "ca-certificates.conf", "ca-certificates", "pki", "gitconfig", "mime.types"),
    *("services", "protocols", "ld.so.conf", "ld.so.conf.d"),
)
TOP_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")


@dataclass(frozen=True, slots=True)
class Bind:
    """A file or folder that the turn sees: `source` on the host (a real path), at `target` inside."""

    source: Path
    target: str
    writable: bool = False


@dataclass(frozen=True, slots=True)
class Host:
    """What the argument list needs to know of this machine.

    `links` maps a top folder (``bin``) to its link text (``usr/bin``) where it is a link, `folders` are those that are
    real ones.
    """

    bwrap: Path
    links: tuple[tuple[str, str], ...] = ()
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Confinement:
    """One turn's cage.

    `workspace` is the real path of the turn's directory, mounted at the same path. `binds` are the agent's program, its
    configuration files and its state. `scratch_bytes` bounds the memory that temporary files can take.
    """

    tier: Tier
    workspace: Path
    binds: tuple[Bind, ...] = ()
    git: GitLayout | None = None
    network: Network = "open"
    scratch_bytes: int = 1 << 29
    extra_paths: tuple[Path, ...] = field(default=())


def _namespaces(network: Network) -> list[str]:
    names = ["--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    return [*names, "--unshare-cgroup-try", *([] if network == "open" else ["--unshare-net"])]


def _bind(bind: Bind) -> list[str]:
    return ["--bind" if bind.writable else "--ro-bind", str(bind.source), bind.target]


def _system(host: Host) -> list[str]:
    args = ["--ro-bind", "/usr", "/usr"]
    for name, target in host.links:
        args += ["--symlink", target, f"/{name}"]
    for name in host.folders:
        args += ["--ro-bind", f"/{name}", f"/{name}"]
    for name in SYSTEM_FILES:
        args += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return args


def _git(git: GitLayout) -> list[str]:
    return [argument for path, writable in git.mounts for argument in _bind(Bind(path, str(path), writable))]


def arguments(confinement: Confinement, host: Host, command: Sequence[str]) -> list[str]:
    """The whole command line: bubblewrap, its options, and `command` (an absolute program and its arguments) inside.

    The environment is not set here: the parent passes an allow list to the child, because what bubblewrap sets or
    clears itself stays readable in ``/proc/1/environ`` inside.
    """
    start = [str(host.bwrap), *_namespaces(confinement.network), "--die-with-parent", "--new-session"]
    workspace = str(confinement.workspace)
    if confinement.tier == "full":
        mounts = ["--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc"]
        return [*start, *mounts, "--chdir", workspace, "--", *command]
    kernel = [
        "--cap-drop",
        "ALL",
        *_system(host),
        "--proc",
        "/proc",
        "--ro-bind",
        "/proc/sys",
        "/proc/sys",
        "--dev",
        "/dev",
    ]
    scratch = ["--size", str(confinement.scratch_bytes), "--tmpfs", "/tmp", "--dir", HOME]  # noqa: S108
    binds = _bound(confinement.binds)
    extra = _bound(tuple(Bind(path, str(path)) for path in confinement.extra_paths))
    tree = _bind(Bind(confinement.workspace, workspace, writable=confinement.tier == "workspace"))
    git = _git(confinement.git) if confinement.git is not None and confinement.tier == "workspace" else []
    return [
        *start,
        *kernel,
        *scratch,
        *extra,
        *binds,
        *tree,
        *git,
        "--remount-ro",
        "/",
        "--chdir",
        workspace,
        "--",
        *command,
    ]


def _bound(binds: Sequence[Bind]) -> list[str]:
    """Binds in an order in which a deeper one is never covered by a shallower one."""
    ordered = sorted(binds, key=lambda bind: len(Path(bind.target).parts))
    return [argument for bind in ordered for argument in _bind(bind)]
