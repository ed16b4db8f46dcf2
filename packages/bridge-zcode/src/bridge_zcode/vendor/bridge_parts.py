"""What every turn of a bridge shares, put together once at start."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from .bridge_log import Log
from .delivery import Delivery
from .gateway_errors import GatewayProblem
from .pace import Pace
from .permission_desk import PermissionDesk
from .permission_grants import GrantStore
from .readiness import ReadinessWatch
from .relay_dedup import RelayDedup
from .settings import Settings, data_home, user_home
from .spool import Spool
from .turn import Runner
from .turn_gateway import TurnGateway
from .workspace import BusyDirectories, Workspaces, workspaces

__all__ = ["BridgeParts", "Outside", "StateFolder", "assemble"]


@dataclass(frozen=True, slots=True)
class StateFolder:
    """The places in a bridge's state folder `path`."""

    path: Path

    @property
    def turns(self) -> Path:
        """A folder per turn under way, or with an outcome that waits."""
        return self.path / "turns"

    @property
    def sessions(self) -> Path:
        """A folder per (thread, agent, workspace), for the runner; stays."""
        return self.path / "sessions"

    @property
    def attempts(self) -> Path:
        """What the attempts at unfinished turns were seen to do."""
        return self.path / "attempts"

    @property
    def spool(self) -> Path:
        return self.path / "spool"

    @property
    def taken(self) -> Path:
        """Which leases were taken up."""
        return self.path / "taken"

    @property
    def grants(self) -> Path:
        """What people allowed for longer than once."""
        return self.path / "grants.json"

    @property
    def bridge_id(self) -> Path:
        """The mark that every process of this bridge's turns carries."""
        return self.path / "bridge-id"

    def make(self) -> None:
        """Make the folders, for this user only. Raises `OSError`."""
        for folder in (self.path, self.turns, self.sessions, self.attempts, self.spool):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)


@dataclass(frozen=True, slots=True)
class Outside:
    """What comes from outside: `epoch` and `clock` in seconds (wall clock and monotonic), `nonce` a random hex word,
    `jitter` a random number in [0, 1). `sweep` ends whatever still runs of the turn with an id, `sweep_bridge` whatever
    still runs of any turn of the bridge with an id."""

    epoch: Callable[[], float]
    clock: Callable[[], float]
    nonce: Callable[[], str]
    jitter: Callable[[], float]
    sweep: Callable[[str], Awaitable[object]]
    sweep_bridge: Callable[[str], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class BridgeParts:
    """The collaborators of a turn. `agent_name` is the address the gateway knows this bridge by."""

    settings: Settings
    agent_name: str
    bridge_id: str
    runner: Runner
    gateway: TurnGateway
    pace: Pace
    log: Log
    outside: Outside
    state: StateFolder
    spool: Spool
    taken: RelayDedup
    workspaces: Workspaces
    busy: BusyDirectories
    readiness: ReadinessWatch
    delivery: Delivery
    desk: PermissionDesk


def assemble(
    settings: Settings,
    runner: Runner,
    gateway: TurnGateway,
    *,
    bridge_id: str,
    log: Log,
    outside: Outside,
    pace: Pace,
    changed: Callable[[], None],
    refused: Callable[[GatewayProblem], None],
) -> BridgeParts:
    """The collaborators for `settings`. `changed` is told when the self-check's answer changes, `refused` when the
    gateway doesn't let the bridge in. Raises `WorkspaceSettingsError`, and `OSError` of the state folder.
    """
    state = StateFolder(settings.state_dir)
    spool = Spool.open(state.spool)
    grants = GrantStore.open(state.grants)
    if grants.bad is not None:
        log.warn("the remembered permissions can't be read, they were moved aside", file=grants.bad)
    return BridgeParts(
        settings=settings,
        agent_name=settings.agent_name,
        bridge_id=bridge_id,
        runner=runner,
        gateway=gateway,
        pace=pace,
        log=log,
        outside=outside,
        state=state,
        spool=spool,
        taken=RelayDedup.open(state.taken),
        workspaces=workspaces(
            settings.workspaces,
            home=user_home(settings.environ),
            state_dir=state.path,
            private=(data_home(settings.environ),),
        ),
        busy=BusyDirectories(),
        readiness=ReadinessWatch(runner, pace, log, clock=outside.clock, changed=changed),
        delivery=Delivery(gateway, spool, pace, log, turns=state.turns, attempts=state.attempts, refused=refused),
        desk=PermissionDesk(
            gateway,
            grants,
            agent=settings.agent_name,
            wait_s=settings.permission_wait_ms / 1000,
            look_s=pace.look_for_answer,
            epoch=outside.epoch,
            log=log,
        ),
    )
