"""Tier -> the echo agent's own options, and what its self-check has to see refused. Pure."""

from pathlib import Path

from .vendor.wire import Tier

__all__ = ["PROBE_NAME", "options", "probe_mail"]

PROBE_NAME = "probe.txt"


def options(tier: Tier, out: Path, memory: Path | None, session: str | None) -> list[str]:
    """The arguments for a turn under `tier`. The session goes into one token: no id can pass for an option."""
    arguments = [f"--tier={tier}", f"--out={out}"]
    if memory is not None:
        arguments.append(f"--memory={memory}")
    if session:
        arguments.append(f"--session={session}")
    return arguments


def probe_mail(tier: Tier) -> str:
    """A mail that asks for what `tier` forbids."""
    return f"echo: write {PROBE_NAME} x" if tier == "plan" else f"echo: write ../{PROBE_NAME} x"
