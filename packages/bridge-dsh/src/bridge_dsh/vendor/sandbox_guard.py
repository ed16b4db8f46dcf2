"""Finds a bubblewrap that stands the probe, and says for each tier what was seen to enforce it."""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from .sandbox import Confinement, Host
from .sandbox_host import find_bwraps, host
from .sandbox_probe import ProbeResult, probe
from .wire import Enforcement, Tier

__all__ = ["FULL", "Proof", "prove"]

FULL = Enforcement("advisory", "nothing is forbidden in this tier")
PROBED: tuple[Tier, ...] = ("plan", "workspace")


@dataclass(frozen=True, slots=True)
class Proof:
    """The sandbox that was proven (`host` is None when none was) and what was seen in each tier."""

    host: Host | None
    seen: Mapping[Tier, Enforcement]
    results: tuple[ProbeResult, ...] = ()


async def prove(
    folder: Path, confine: Callable[[Tier, Path], Confinement], programs: Iterable[Path] | None = None
) -> Proof:
    """Probe each bubblewrap of `programs` (default: those of this machine) until one holds in every probed tier.

    `confine` gives the confinement of a real turn for a tier and a workspace; `folder` is emptied and used for it.
    There is no fall-back to running unconfined here: without a proof `host` is None.
    """
    troubles = []
    for bwrap in find_bwraps() if programs is None else programs:
        found = host(bwrap)
        results = [await probe(folder, found, partial(confine, tier)) for tier in PROBED]
        if all(result.holds for result in results):
            seen = {result.tier: Enforcement("sandbox", result.why) for result in results}
            return Proof(found, {**seen, "full": FULL}, tuple(results))
        troubles += [f"{bwrap} ({result.tier}): {result.why}" for result in results if not result.holds]
    if not troubles:
        reason = "bubblewrap is missing: install it" if sys.platform == "linux" else "namespaces exist on Linux only"
        troubles = [reason]
    why = Enforcement("advisory", "no sandbox: " + "; ".join(troubles))
    return Proof(None, {"plan": why, "workspace": why, "full": FULL})
