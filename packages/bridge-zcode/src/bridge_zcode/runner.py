"""The runner of the bridge for ZCode: what the driver knows of this agent."""

import asyncio
import sys

from .agent_turn import AgentTurn, Times, endangered
from .check import Checked, check
from .failure_texts import failure
from .options import options
from .vendor.process import ProcessError
from .vendor.settings import Settings
from .vendor.turn import Emit, Outcome, Readiness, StopSignal, TurnRequest
from .workspace_files import look

__all__ = ["ZcodeRunner"]


class ZcodeRunner:
    """The runner of `bridge-zcode`. Raises SettingsError for settings of ZCode's own that can't be used."""

    name = "zcode"
    can_ask = False
    # What ZCode shares between runs (one database, one log) is not known to bear more.
    parallel_turns = 1

    def __init__(self, settings: Settings, *, platform: str = sys.platform, times: Times | None = None):
        self._options = options(settings, platform)
        self._times = times or Times()
        self._checked: Checked | None = None

    async def check(self) -> Readiness:
        """See check.py. What was found is kept: a turn starts at once, without looking again."""
        self._checked = await check(self._options)
        return self._checked.readiness

    async def run(self, request: TurnRequest, emit: Emit, stop: StopSignal) -> Outcome:
        """Run one turn. A session that can't be resumed is replaced once by a fresh one."""
        checked = self._checked
        if checked is None or checked.launch is None or not checked.launch.is_there():
            self._checked = checked = await check(self._options)
        if checked.launch is None:
            return Outcome(failure=checked.readiness.failure)
        obeyed = await asyncio.to_thread(look, request.workspace, self._options.home)
        if obeyed.dangers and request.tier != "full":
            return Outcome(failure=endangered(obeyed))
        turn = AgentTurn(self._options, checked, checked.launch, request, obeyed, emit, stop, self._times)
        try:
            return await turn.outcome()
        except ProcessError as error:
            return Outcome(failure=error.failure)
        except OSError as error:
            return Outcome(failure=failure("bridge_error", f"the turn's folder can't be written: {error.strerror}"))
