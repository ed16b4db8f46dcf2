"""The self-check: what is there, what is missing and how to mend it, and what enforces each tier.

A level is reported from what was seen: the real argument builder made the list, the argument list was read back, and
ZCode's own parser took it. What ZCode then does with the list can't be seen without a model; that it takes the tools
away in every mode is read in its source.
"""

from dataclasses import dataclass
from pathlib import Path

from .arguments import arguments, deliver, deny_list_of
from .failure_texts import failure
from .locate import COMMAND_VARIABLE, Cli, NotFound, find_cli, node_candidates, provider_files
from .options import Options
from .person_files import PersonFiles, look_at_person
from .plugin_files import PLUGIN_DIR, PLUGIN_NAME
from .probes import Launch, Node, Version, find_node, lists_plugin, probe_version
from .turn_mode import DISALLOWED_TOOLS_VARIABLE, weaknesses
from .vendor.turn import Finding, Readiness
from .vendor.wire import Enforcement, Failure, Tier

__all__ = ["Checked", "check", "enforcement"]

_NODE_MEND = f"Install Node.js 22.13 or newer (ZCode is built with 24), or set {COMMAND_VARIABLE} to a whole command"
_SHOWN_NAMES = 6


@dataclass(frozen=True, slots=True)
class Checked:
    """What was seen, how to start ZCode (None: it can't be), and the person's own MCP servers."""

    readiness: Readiness
    launch: Launch | None = None
    servers: tuple[str, ...] = ()


async def check(options: Options) -> Checked:
    """Look at everything. Never raises for what is missing; starts Node and ZCode for moments, calls no model."""
    folder = _probe_folder(options)
    cli = find_cli(options.command, environ=options.environ, home=options.home, platform=options.platform)
    if isinstance(cli, NotFound):
        missing = Finding(False, "ZCode's command line", cli.why, cli.mend)
        return _not_ready((missing,), failure("cli_missing", happened=f"{cli.why}.", next_step=f"{cli.mend}."), options)
    findings = [Finding(True, "ZCode's command line", f"{cli.where} ({cli.source})")]
    node: Node | None = None
    if cli.script is not None:
        node, node_finding = await _node(cli, options, folder)
        findings.append(node_finding)
        if node is None:
            return _not_ready(tuple(findings), failure("runtime_too_old", node_finding.found), options)
    launch = _launch(cli, node, options)
    version = await probe_version(launch, options.mode("plan"), options.environ, folder)
    findings += _providers(launch, version)
    findings.append(_fit(version))
    if version.version is None:
        return _not_ready(tuple(findings), failure(version.failure or "crashed", version.text), options)
    person = look_at_person(options.home, options.environ)
    findings.append(_model(person))
    findings.append(await _plugin(launch, options, folder))
    seen = enforcement(options, accepted=version.version, servers=person.servers)
    return Checked(Readiness(True, tuple(findings), seen, version.version), launch, person.servers)


def _probe_folder(options: Options) -> Path:
    """A folder of the bridge's own: an empty ``.env`` ends ZCode's search for one, the probe names ``attached``."""
    folder = options.state_dir / "probe"
    folder.mkdir(parents=True, exist_ok=True)
    for name in (".env", "attached"):
        (folder / name).touch()
    return folder


async def _node(cli: Cli, options: Options, folder: Path) -> tuple[Node | None, Finding]:
    candidates = node_candidates(cli, environ=options.environ, home=options.home, platform=options.platform)
    node, passed = await find_node(candidates, options.environ, folder)
    if node is not None:
        kind = " (the desktop app's Electron)" if node.electron else ""
        return node, Finding(True, "Node.js", f"{node.version} at {node.path}{kind}")
    why = "; ".join(passed) or "none was found"
    return None, Finding(False, "Node.js with node:sqlite", why, _NODE_MEND)


def _launch(cli: Cli, node: Node | None, options: Options) -> Launch:
    providers = provider_files(cli, environ=options.environ, home=options.home, platform=options.platform)
    if cli.script is None or node is None:
        return Launch(cli.command, False, providers)
    return Launch((str(node.path), str(cli.script)), node.electron, providers)


def _providers(launch: Launch, version: Version) -> list[Finding]:
    """Both files, of which only CLI 0.16.9 needs the first; older ones work without."""
    needed = version.failure == "provider_missing"
    builtin, personal = launch.providers.builtin, launch.providers.personal
    mend = "Update or reinstall the ZCode desktop app, or set ZCODE_BUILTIN_PROVIDER_CONFIG_FILE to zcode-builtin.json"
    return [
        Finding(not needed or builtin is not None, "built-in provider file", str(builtin or "not found"), mend),
        Finding(True, "personal provider file", str(personal or "not found (older versions have none)")),
    ]


def _fit(version: Version) -> Finding:
    what = "the options of a turn"
    if version.version is not None:
        return Finding(True, what, f"ZCode {version.version} knows them all")
    mend = failure(version.failure or "crashed").next_step
    if version.failure == "bad_option":
        mend = "Update the ZCode desktop app: the bridge needs a command line of 0.16.5 or newer (app 3.11)"
    return Finding(False, what, version.text, mend)


def _model(person: PersonFiles) -> Finding:
    what = "a model"
    if person.model:
        return Finding(True, what, f"configured in {person.model}")
    mend = "Open the ZCode desktop app and add a provider with an API key and a default model"
    return Finding(False, what, "none was seen in ZCode's configuration; a mail will tell", mend)


async def _plugin(launch: Launch, options: Options, folder: Path) -> Finding:
    what = "the AgentMail plugin (optional)"
    listed = await lists_plugin(launch, PLUGIN_NAME, options.environ, folder)
    if listed:
        return Finding(True, what, "ZCode lists it")
    seen = "ZCode does not list it" if listed is False else "ZCode's list of plugins can't be read"
    add = f'to have it, add "plugins": {{"dirs": ["{PLUGIN_DIR}"]}} to ~/.zcode/cli/config.json'
    return Finding(True, what, f"{seen}; {add}")


def _not_ready(findings: tuple[Finding, ...], why: Failure, options: Options) -> Checked:
    return Checked(Readiness(False, findings, enforcement(options, accepted=None), None, why))


def enforcement(options: Options, *, accepted: str | None, servers: tuple[str, ...] = ()) -> dict[Tier, Enforcement]:
    """What was seen to enforce each tier. `accepted` is the version of the ZCode that took the argument list."""
    seen: dict[Tier, Enforcement] = {"full": Enforcement("advisory", "nothing is forbidden in this tier")}
    tiers: tuple[Tier, ...] = ("plan", "workspace")
    for tier in tiers:
        seen[tier] = _tier(tier, options, accepted, servers)
    return seen


def _tier(tier: Tier, options: Options, accepted: str | None, servers: tuple[str, ...]) -> Enforcement:
    mode = options.mode(tier)
    argv = arguments(deliver("probe", turn_id="probe", file=Path("probe")), mode, workspace=Path("/").absolute())
    sent = deny_list_of(argv)
    missing = weaknesses(tier, sent, network=options.network)
    if missing:
        more = f" and {len(missing) - _SHOWN_NAMES} more" if len(missing) > _SHOWN_NAMES else ""
        names = ", ".join(missing[:_SHOWN_NAMES]) + more
        return Enforcement("advisory", f"{DISALLOWED_TOOLS_VARIABLE} leaves {names}")
    if accepted is None:
        return Enforcement("advisory", "no ZCode was seen to take the deny list")
    if servers:
        shown = ", ".join(servers[:_SHOWN_NAMES])
        return Enforcement("advisory", f"no deny list names the tools of the MCP servers in ZCode's settings: {shown}")
    return Enforcement(
        "native",
        f"ZCode {accepted} took --mode {mode.mode} and a deny list of all {len(sent)} tools that execute, write, "
        "spawn, persist or leak; no sandbox",
    )
