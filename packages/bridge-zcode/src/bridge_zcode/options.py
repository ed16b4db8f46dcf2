"""What of the bridge's settings concerns ZCode, read once at start."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .arguments import prompt_limit
from .turn_mode import (
    DISALLOWED_TOOLS_VARIABLE,
    MODE_MAP_VARIABLE,
    Mode,
    TurnMode,
    parse_deny_list,
    parse_mode_map,
    turn_mode,
)
from .vendor.settings import Settings, user_home
from .vendor.wire import Tier

__all__ = ["Options", "options"]


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of one bridge. `denied` None: the setting is unset. `network`: whether web tools may be offered."""

    command: str | None
    environ: Mapping[str, str] = field(repr=False)
    home: Path
    platform: str
    state_dir: Path
    modes: Mapping[Tier, Mode]
    denied: tuple[str, ...] | None
    network: bool
    prompt_bytes: int

    def mode(self, tier: Tier) -> TurnMode:
        """Mode and deny list of a turn in `tier`."""
        return turn_mode(tier, modes=self.modes, denied=self.denied, network=self.network)


def options(settings: Settings, platform: str = sys.platform) -> Options:
    """Read them. Raises SettingsError, naming the variable and the mend."""
    environ = settings.environ
    return Options(
        command=settings.command,
        environ=environ,
        home=user_home(environ),
        platform=platform,
        state_dir=settings.state_dir,
        modes=parse_mode_map(environ.get(MODE_MAP_VARIABLE, "")),
        denied=parse_deny_list(environ.get(DISALLOWED_TOOLS_VARIABLE)),
        network=settings.network == "open",
        prompt_bytes=prompt_limit(environ),
    )
