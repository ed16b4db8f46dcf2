"""How a runner starts its agent: in the proven sandbox where there is one, with an allow list for an environment.

A runner names the files its agent needs; everything else of the machine stays out of sight in the tiers that the
sandbox enforces. Without a proven sandbox the agent runs as it is, and only its own mechanism stands between it and the
disk.
"""

import os
import stat
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from .network_proxy import serve
from .network_reach import PORT, Reach, Route, proxy_env
from .sandbox import HOME, Bind, Confinement, arguments
from .sandbox_git import GitError, layout, planted
from .sandbox_guard import Proof, prove
from .sandbox_host import environment
from .settings import Settings, user_home
from .turn import Finding, TurnRequest
from .wire import Enforcement, Failure, Tier

__all__ = ["Cage", "CageError", "HomeFile", "Launch", "Needs"]

PASSED = ("LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS")
MAX_SWEPT = 200_000
SOCKET = "network.sock"
SHIM = Path(__file__).with_name("network_shim.py")
MOST_NAMED = 5


class CageError(Exception):
    """The turn can't be confined; `failure` is what the mail is answered with."""

    def __init__(self, failure: Failure):
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class HomeFile:
    """A file of the agent's own configuration or login, shown read-only at `target` below the turn's home."""

    source: Path
    target: str


@dataclass(frozen=True, slots=True)
class Needs:
    """What an agent needs to run: folders of its `programs` (read-only), `home` files, `state` folders (writable).

    `path` are folders of programs for PATH, `env` more variables. A state folder is a pair of its place on the host and
    its place below the turn's home. `reach` is what it needs of the network where that is closed but for its model;
    None: the bridge can't give it that.
    """

    programs: tuple[Path, ...] = ()
    home: tuple[HomeFile, ...] = ()
    state: tuple[tuple[Path, str], ...] = ()
    path: tuple[Path, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    reach: Reach | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """A command line, its whole environment and its directory. `home` is the agent's home as it sees it."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    home: str
    sandboxed: bool


class Cage:
    """Knows what was proven on this machine and starts turns accordingly."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self._proof: Proof | None = None
        self._hooks: dict[str, frozenset[Path]] = {}
        self._refused: dict[str, tuple[str, ...]] = {}

    @property
    def proven(self) -> bool:
        """Whether a sandbox was seen to hold."""
        return self._proof is not None and self._proof.host is not None

    async def prove(self, needs: Needs) -> Mapping[Tier, Enforcement]:
        """Probe the sandbox in the arguments that a turn with `needs` gets; what was seen in each tier."""

        def confine(tier: Tier, workspace: Path) -> Confinement:
            return self._confinement(tier, workspace, needs, ())

        folder = self._settings.state_dir / "probe"
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._proof = await prove(folder, confine)
        return self._proof.seen

    def network_trouble(self, needs: Needs) -> Failure | None:
        """Why the setting for the network can't be kept for an agent with `needs`; None when it can."""
        wanted = self._settings.network
        if wanted == "open":
            return None
        if not self.proven:
            why = self._proof.seen["plan"].why if self._proof is not None else "it was not tried"
            told = f"AGENTMAIL_NETWORK={wanted} needs the sandbox, which does not hold here ({why})."
            return Failure("tier_unenforceable", told, "Mend the sandbox, or set AGENTMAIL_NETWORK=open.")
        if wanted == "off":
            return None
        if needs.reach is None:
            told = f"AGENTMAIL_NETWORK=model can't be kept for {self._settings.agent}: its model would be cut off too."
            return Failure("tier_unenforceable", told, "Set AGENTMAIL_NETWORK to open or off.")
        if not needs.reach.routes and not needs.reach.hosts and not self._settings.network_hosts:
            told = "AGENTMAIL_NETWORK=model, and where the model is was not found in the agent's configuration."
            return Failure("tier_unenforceable", told, "Name its host in AGENTMAIL_NETWORK_HOSTS.")
        return None

    def network_findings(self, needs: Needs) -> tuple[Finding, ...]:
        """A line of the self-check on the network, where it is not open."""
        wanted = self._settings.network
        trouble = self.network_trouble(needs)
        if wanted == "open":
            return ()
        if trouble is not None:
            return (Finding(False, "network", trouble.message, trouble.next_step),)
        if wanted == "off" or needs.reach is None:
            return (Finding(True, "network", "off: a turn reaches nothing, a model elsewhere neither"),)
        routes = [f"{route.base} (its key stays outside)" for route in needs.reach.routes if route.secrets]
        routes += [route.base for route in needs.reach.routes if not route.secrets]
        hosts = dict.fromkeys((*needs.reach.hosts, *self._settings.network_hosts))
        return (Finding(True, "network", f"model: only {', '.join([*routes, *hosts])}"),)

    @asynccontextmanager
    async def network(self, request: TurnRequest, needs: Needs) -> AsyncIterator[None]:
        """The way out for the turn, where it is led through the bridge; the turn's process runs inside of the block.

        Raises:
            CageError: the setting can't be kept.
            OSError: the turn's folder can't be written.
        """
        trouble = self.network_trouble(needs)
        if trouble is not None:
            raise CageError(trouble)
        if self._settings.network != "model" or needs.reach is None:
            yield
            return
        mail = Route("agentmail", f"{request.gateway_url.rstrip('/')}/mcp")
        hosts = tuple(dict.fromkeys((*needs.reach.hosts, *self._settings.network_hosts)))
        async with serve(request.turn_dir / SOCKET, Reach((*needs.reach.routes, mail), hosts)) as proxy:
            try:
                yield
            finally:
                self._refused[request.turn_id] = tuple(proxy.refused)

    def launch(self, request: TurnRequest, command: Sequence[str], needs: Needs) -> Launch:
        """The command line that runs `command` (an absolute program) for `request`, inside of its `network`.

        Raises:
            CageError: the workspace's repository can't be guarded, or the network not be closed.
        """
        trouble = self.network_trouble(needs)
        if trouble is not None:
            raise CageError(trouble)
        host = self._proof.host if self._proof is not None else None
        own = {name: value for name in PASSED if (value := self._settings.environ.get(name))}
        closed = self._settings.network == "model"
        extra = {**own, **needs.env, **(proxy_env() if closed else {}), **request.env}
        as_the_user = host is None or request.tier == "full"
        home = str(user_home(self._settings.environ)) if as_the_user else HOME
        env = environment(extra, home=home, path=needs.path)
        if host is None:
            return Launch(tuple(command), env, request.workspace, home, sandboxed=False)
        folders: tuple[Bind, ...] = (
            Bind(request.turn_dir, str(request.turn_dir), writable=True),
            Bind(request.turn_dir / "in", str(request.turn_dir / "in")),
            Bind(request.session_dir, str(request.session_dir), writable=True),
        )
        if closed:
            way_out = request.turn_dir / SOCKET
            folders = (*folders, Bind(way_out, str(way_out)))
            command = (str(_python()), "-I", "-S", str(SHIM), str(way_out), str(PORT), "--", *command)
        confinement = self._confinement(request.tier, request.workspace, needs, folders)
        self._hooks[request.turn_id] = planted(request.workspace)
        argv = tuple(arguments(confinement, host, command))
        return Launch(argv, env, request.workspace, home, sandboxed=request.tier != "full")

    def after(self, request: TurnRequest) -> tuple[str, ...]:
        """Look at the workspace when the turn's processes are gone; a line on each thing a person should know.

        Set-user-id and set-group-id bits that a turn under root left are cleared.
        """
        lines = _refusals(self._refused.pop(request.turn_id, ()))
        before = self._hooks.pop(request.turn_id, None)
        if before is None or request.tier == "plan":
            return tuple(lines)
        lines += [
            f"It left a git hook that git will run: {hook}" for hook in sorted(planted(request.workspace) - before)
        ]
        if os.geteuid() == 0 and request.tier == "workspace":
            lines += [
                f"It left a set-user-id file, which was made a plain one: {path}"
                for path in _cleared(request.workspace)
            ]
        return tuple(lines[:20])

    def _confinement(self, tier: Tier, workspace: Path, needs: Needs, folders: tuple[Bind, ...]) -> Confinement:
        try:
            git = layout(workspace) if tier == "workspace" else None
        except (GitError, OSError) as error:
            mend = "Mend the repository, or ask for the tier plan."
            raise CageError(
                Failure("tier_unenforceable", f"The workspace can't be confined: {error}.", mend)
            ) from error
        way_out = (SHIM, *_runtime()) if self._settings.network == "model" else ()
        binds = (
            *(Bind(path, str(path)) for path in (*needs.programs, *way_out)),
            *(Bind(file.source, f"{HOME}/{file.target}") for file in needs.home if file.source.is_file()),
            *(Bind(source, f"{HOME}/{target}", writable=True) for source, target in needs.state),
            *folders,
        )
        extra = tuple(
            Path(text) for text in self._settings.environ.get("AGENTMAIL_SANDBOX_PATHS", "").split(";") if text
        )
        return Confinement(
            tier,
            workspace,
            binds,
            git,
            self._settings.network,
            extra_paths=tuple(path for path in extra if path.exists()),
        )


def _python() -> Path:
    """The interpreter behind this one's virtual environment."""
    return Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()


def _runtime() -> tuple[Path, ...]:
    """What the interpreter needs to be seen: its installation, unless it is the system's, which is always there."""
    places = dict.fromkeys((Path(sys.base_prefix).resolve(), _python()))
    return tuple(place for place in places if not place.is_relative_to("/usr"))


def _refusals(places: Sequence[str]) -> list[str]:
    if not places:
        return []
    more = f" and {len(places) - MOST_NAMED} more" if len(places) > MOST_NAMED else ""
    named = ", ".join(places[:MOST_NAMED])
    return [f"The turn was kept from reaching {named}{more} (AGENTMAIL_NETWORK=model)."]


def _cleared(workspace: Path) -> list[Path]:
    """Files below `workspace` that lost their set-user-id or set-group-id bit; links are not followed."""
    found = []
    seen = 0
    for root, _, names in os.walk(workspace, followlinks=False):
        for name in names:
            path = Path(root) / name
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
                path.chmod(stat.S_IMODE(mode) & ~(stat.S_ISUID | stat.S_ISGID), follow_symlinks=True)
                found.append(path)
        seen += len(names)
        if seen > MAX_SWEPT:
            break
    return found
