"""How a runner starts its agent: in the proven sandbox where there is one, with an allow list for an environment.

A runner names the files its agent needs; everything else of the machine stays out of sight in the tiers that the
sandbox enforces. Without a proven sandbox the agent runs as it is, and only its own mechanism stands between it and the
disk.
"""

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .sandbox import HOME, Bind, Confinement, arguments
from .sandbox_git import GitError, layout, planted
from .sandbox_guard import Proof, prove
from .sandbox_host import environment
from .settings import Settings, user_home
from .turn import TurnRequest
from .wire import Enforcement, Failure, Tier

__all__ = ["Cage", "CageError", "HomeFile", "Launch", "Needs"]

PASSED = ("LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS")
MAX_SWEPT = 200_000


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
    its place below the turn's home.
    """

    programs: tuple[Path, ...] = ()
    home: tuple[HomeFile, ...] = ()
    state: tuple[tuple[Path, str], ...] = ()
    path: tuple[Path, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


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

    def launch(self, request: TurnRequest, command: Sequence[str], needs: Needs) -> Launch:
        """The command line that runs `command` (an absolute program) for `request`.

        Raises:
            CageError: the workspace's repository can't be guarded.
        """
        host = self._proof.host if self._proof is not None else None
        own = {name: value for name in PASSED if (value := self._settings.environ.get(name))}
        extra = {**own, **needs.env, **request.env}
        as_the_user = host is None or request.tier == "full"
        home = str(user_home(self._settings.environ)) if as_the_user else HOME
        env = environment(extra, home=home, path=needs.path)
        if host is None:
            return Launch(tuple(command), env, request.workspace, home, sandboxed=False)
        folders = (
            Bind(request.turn_dir, str(request.turn_dir), writable=True),
            Bind(request.turn_dir / "in", str(request.turn_dir / "in")),
            Bind(request.session_dir, str(request.session_dir), writable=True),
        )
        confinement = self._confinement(request.tier, request.workspace, needs, folders)
        self._hooks[request.turn_id] = planted(request.workspace)
        argv = tuple(arguments(confinement, host, command))
        return Launch(argv, env, request.workspace, home, sandboxed=request.tier != "full")

    def after(self, request: TurnRequest) -> tuple[str, ...]:
        """Look at the workspace when the turn's processes are gone; a line on each thing a person should know.

        Set-user-id and set-group-id bits that a turn under root left are cleared.
        """
        before = self._hooks.pop(request.turn_id, None)
        if before is None or request.tier == "plan":
            return ()
        lines = [
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
        binds = (
            *(Bind(path, str(path)) for path in needs.programs),
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
