"""Shows that the sandbox refuses what a tier forbids, by trying it inside the very arguments that turns run in.

A guard proves itself before it is trusted: what was SEEN decides what a bridge reports. Each try is a line of a small
shell script that runs as a turn would; a line that is missing counts as not refused. Two controls show that the script
could have seen a success: it must be able to do what the tier allows.
"""

import asyncio
import contextlib
import secrets
import shutil
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import psutil

from . import process
from .sandbox import HOME, Confinement, Host, arguments
from .sandbox_host import environment
from .wire import Tier

__all__ = ["CHECKS", "ProbeResult", "probe"]

CHECKS: dict[str, str] = {
    "run": "running at all (control)",
    "read-workspace": "reading the workspace (control)",
    "write-workspace": "writing the workspace, in plan only",
    "write-outside": "a write outside the workspace",
    "write-nowhere": "a write that seems to succeed and vanishes",
    "read-secret": "reading a file of the person's",
    "signal-outside": "a signal to a process outside",
    "see-outside": "seeing a process outside",
    "kernel-settings": "opening the kernel's settings for writing",
    "capabilities": "holding a capability",
    "new-privileges": "gaining privileges through a program",
    "own-namespace": "making a namespace of its own",
    "remount": "mounting anew",
    "git-hooks": "writing git's hooks",
    "git-moved": "moving .git aside",
    "own-network": "sharing the machine's network, where it is closed",
    "leave-behind": "leaving a process behind",
}
TIME_LIMIT_S = 20

# $1 workspace, $2 folder outside, $3 process outside, $4 nonce, $5 tier, $6 network outside or none.
# A line `name ok` says: as it must be.
SCRIPT = r"""
ok() { echo "$1 ok"; }
echo "run ok"
[ "$(cat "$1/readme" 2>/dev/null)" = "$4" ] && ok read-workspace
if [ "$5" = plan ]; then ( : > "$1/written" ) 2>/dev/null || ok write-workspace
else ( : > "$1/written" ) 2>/dev/null && ok write-workspace; fi
if ( : > "$2/written" ) 2>/dev/null || ( : > "/usr/agentmail-$4" ) 2>/dev/null; then :; else ok write-outside; fi
mkdir "/agentmail-$4" 2>/dev/null || ok write-nowhere
grep -q "$4" "$2/secret" 2>/dev/null || ok read-secret
grep -q "$4" "/proc/$3/cmdline" 2>/dev/null || ok see-outside
kill -TERM "$3" 2>/dev/null
( : >> /proc/sys/kernel/core_pattern ) 2>/dev/null || ok kernel-settings
grep -Eq '^CapEff:[[:space:]]*0+$' /proc/self/status && ok capabilities
grep -Eq '^NoNewPrivs:[[:space:]]*1$' /proc/self/status && ok new-privileges
if command -v unshare >/dev/null; then unshare -U true 2>/dev/null || ok own-namespace
elif [ "$(cat /proc/sys/user/max_user_namespaces)" -le 1 ]; then ok own-namespace; fi
if mount -o remount,bind,rw "$1" 2>/dev/null || mount -o remount,rw / 2>/dev/null; then :; else ok remount; fi
( : > "$1/.git/hooks/post-commit" ) 2>/dev/null || ok git-hooks
[ "$6" = none ] || [ "$(readlink /proc/self/ns/net)" = "$6" ] || ok own-network
mv "$1/.git" "$1/.git-moved" 2>/dev/null || ok git-moved
setsid sh -c "trap '' TERM HUP; sleep 60; : $4" >/dev/null 2>&1 </dev/null &
echo "end $4"
"""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What was seen in one tier: the checks that did NOT hold, by name, or why nothing could be seen at all."""

    tier: Tier
    failed: tuple[str, ...]
    trouble: str = ""

    @property
    def holds(self) -> bool:
        """Whether every forbidden thing was seen to be refused."""
        return not self.failed and not self.trouble

    @property
    def why(self) -> str:
        """One line for a person."""
        if self.trouble:
            return f"the sandbox could not be tried: {self.trouble}"
        if self.failed:
            return "the sandbox did not stand its test: " + ", ".join(CHECKS[name] for name in self.failed)
        return f"bubblewrap: all {len(CHECKS)} tries ended as they must"


def _prepare(folder: Path, nonce: str) -> tuple[Path, Path]:
    shutil.rmtree(folder, ignore_errors=True)
    workspace, outside = folder / "workspace", folder / "outside"
    (workspace / ".git" / "hooks").mkdir(parents=True)
    (workspace / ".git" / "config").touch()
    (workspace / "readme").write_text(nonce)
    outside.mkdir()
    (outside / "secret").write_text(nonce)
    return workspace.resolve(), outside.resolve()


def _alive_with(nonce: str) -> list[psutil.Process]:
    found = []
    for candidate in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(nonce in word for word in candidate.cmdline()):
                found.append(candidate)
    return found


async def _only(nonce: str, pid: int) -> bool:
    """Whether `pid` is soon the only process left with `nonce`: a namespace empties just after its bubblewrap."""
    for _ in range(10):
        if {alive.pid for alive in _alive_with(nonce)} <= {pid}:
            return True
        await asyncio.sleep(0.05)
    return False


async def probe(
    folder: Path,
    host: Host,
    confine: Callable[[Path], Confinement],
    edit: Callable[[list[str]], list[str]] = lambda line: line,
) -> ProbeResult:
    """Try what is forbidden, in a workspace made for it below `folder` (which is emptied first).

    `confine` gives the confinement of a turn in the workspace it is handed; `edit` lets a test take a protection away.
    """
    nonce = f"probe{secrets.token_hex(8)}"
    workspace, outside = _prepare(folder, nonce)
    confinement = confine(workspace)
    victim = await process.start(["/bin/sh", "-c", f"read line; : {nonce}"], cwd=workspace, env={}, stdin="pipe")
    shared = "none" if confinement.network == "open" else str(Path("/proc/self/ns/net").readlink())
    given = (str(workspace), str(outside), str(victim.pid), nonce, confinement.tier, shared)
    line = edit(arguments(confinement, host, ("/bin/sh", "-c", SCRIPT, "probe", *given)))
    try:
        async with victim, await process.start(line, cwd=workspace, env=environment({}, home=HOME)) as child:
            lines = await _lines(child)
            if lines is None:
                return ProbeResult(confinement.tier, (), f"no end within {TIME_LIMIT_S} s")
            if f"end {nonce}" not in lines:
                said = child.stderr_tail().strip().splitlines()
                why = said[-1] if said else f"exit {child.returncode} without a word"
                return ProbeResult(confinement.tier, (), why)
            seen = {line.removesuffix(" ok") for line in lines if line.endswith(" ok")}
            if shared == "none":
                seen.add("own-network")
            if await _only(nonce, victim.pid):
                seen.add("leave-behind")
            if victim.pid in {alive.pid for alive in _alive_with(nonce)}:
                seen.add("signal-outside")
            if (outside / "written").exists():
                seen.discard("write-outside")
            return ProbeResult(confinement.tier, tuple(name for name in CHECKS if name not in seen))
    except process.ProcessError as error:
        await victim.kill_tree(None)
        return ProbeResult(confinement.tier, (), str(error))
    finally:
        for left in _alive_with(nonce):
            with contextlib.suppress(psutil.Error):
                left.kill()
        shutil.rmtree(folder, ignore_errors=True)


async def _lines(child: process.Child) -> list[str] | None:
    """What the script printed, when it ended in time."""
    try:
        async with asyncio.timeout(TIME_LIMIT_S), aclosing(child.stdout_lines()) as lines:
            words = [line.text async for line in lines]
            await child.wait()
    except TimeoutError:
        return None
    return words
