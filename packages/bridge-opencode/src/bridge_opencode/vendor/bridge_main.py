"""The command that every bridge is: arguments, settings, lock, signals, exit codes around a driver.

0  ended as asked (also by SIGTERM or SIGINT); with --check: a turn can run
1  --check: something is missing; --once: something is left; a fault of the bridge
2  arguments or settings that can't be used
3  refused: another bridge owns the state folder, the gateway does not take the key, or the user is root
"""

import argparse
import asyncio
import contextlib
import os
import random
import secrets
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .bridge_check import report
from .bridge_log import Log
from .bridge_parts import Outside, StateFolder
from .driver import Driver
from .durable_file import replace_file
from .gateway_client import GatewayClient
from .process import become_subreaper, sweep, sweep_orphans
from .settings import Settings, SettingsError, key_file, load
from .state_lock import StateLock, StateLocked
from .turn import Runner
from .workspace import WorkspaceSettingsError

__all__ = ["run"]


def run(
    agent: str,
    make_runner: Callable[[Settings], Runner],
    argv: Sequence[str] | None = None,
    *,
    foreign_code: bool = True,
) -> int:
    """Run the bridge for `agent` and return its exit code; `argv` None: the process's own arguments.

    `foreign_code` false: its turns run nothing but the bridge's own code, so that being root is no danger.
    """
    installed = _version(agent)
    options = _parser(agent, installed).parse_args(argv)
    try:
        settings = load(os.environ, agent)
        if options.allow_root:
            settings = replace(settings, allow_root=True)
        if options.check:
            return asyncio.run(report(settings, make_runner(settings), installed, foreign_code=foreign_code))
    except SettingsError as error:
        return _complain(agent, str(error), 2)
    if foreign_code and not settings.allow_root and _is_root():
        told = (
            "it does not run as root, because the agent would. Start it as another user, or with --allow-root"
            " (AGENTMAIL_ALLOW_ROOT=1)"
        )
        return _complain(agent, told, 3)
    if settings.credential is None:
        told = (
            f"there is no key. Set AGENTMAIL_AGENT_KEY or AGENTMAIL_AGENT_KEY_FILE, or put the key into"
            f" {key_file(os.environ, settings.agent_name)}: `agentmail agent add {settings.agent_name}` prints one"
        )
        return _complain(agent, told, 2)
    try:
        StateFolder(settings.state_dir).make()
        lock = StateLock.acquire(settings.state_dir, f"bridge-{agent}, process {os.getpid()}")
    except StateLocked as error:
        return _complain(agent, str(error), 3)
    except OSError as error:
        return _complain(agent, str(_unusable(settings, error)), 2)
    with lock:
        try:
            return asyncio.run(_work(settings, make_runner(settings), installed, once=options.once))
        except (SettingsError, WorkspaceSettingsError) as error:
            return _complain(agent, str(error), 2)


def _parser(agent: str, installed: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"bridge-{agent}",
        description=f"Connects {agent} to an AgentMail gateway: mail to it is worked on and answered.",
        epilog="Settings come from the environment (AGENTMAIL_…); see the README.",
    )
    parser.add_argument("--check", action="store_true", help="look for everything a turn needs, say what is missing")
    parser.add_argument("--once", action="store_true", help="work off what is queued, then end")
    parser.add_argument("--allow-root", action="store_true", help="run although the user is root")
    parser.add_argument("--version", action="version", version=f"bridge-{agent} {installed}")
    return parser


def _version(agent: str) -> str:
    try:
        return version(f"bridge-{agent}")
    except PackageNotFoundError:
        return "0"


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _complain(agent: str, told: str, code: int) -> int:
    print(f"bridge-{agent}: {told}", file=sys.stderr)
    return code


def _unusable(settings: Settings, error: OSError) -> SettingsError:
    told = f"the state folder {settings.state_dir} can't be used ({error.strerror or error})"
    return SettingsError("AGENTMAIL_STATE_DIR", told, "Name a folder that this user may write")


async def _work(settings: Settings, runner: Runner, installed: str, *, once: bool) -> int:
    log = Log(
        sys.stderr,
        as_json=settings.environ.get("AGENTMAIL_LOG", "").strip().lower() == "json",
        now=time.time,
        secrets=(settings.agent_key or "", settings.agent_secret or ""),
    )
    become_subreaper()
    for _, path in settings.workspaces:
        if path.is_relative_to(settings.state_dir / "workspaces"):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
    outside = Outside(
        epoch=time.time,
        clock=time.monotonic,
        nonce=lambda: secrets.token_hex(8),
        jitter=random.random,
        sweep=sweep,
        sweep_bridge=sweep_orphans,
    )
    try:
        client = GatewayClient(settings.gateway_url, settings.credential)
    except ValueError as error:
        raise SettingsError("AGENTMAIL_GATEWAY_URL", str(error), "Correct the address or the key") from None
    async with client as gateway:
        try:
            driver = Driver(
                settings,
                runner,
                gateway,
                bridge_id=_bridge_id(StateFolder(settings.state_dir).bridge_id),
                version=installed,
                log=log,
                outside=outside,
            )
        except OSError as error:
            raise _unusable(settings, error) from None
        _on_signals(driver.stop)
        code = await driver.run(once=once)
    log.step("ended", exit_code=code)
    return code


def _on_signals(stop: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, stop)
        except NotImplementedError:
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))


def _bridge_id(path: Path) -> str:
    """The mark of this state folder, made once: what still carries it after a kill belonged to this bridge."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        known = path.read_text(encoding="ascii").strip()
        if known.isalnum():
            return known
    made = secrets.token_hex(16)
    replace_file(path, made.encode())
    return made
