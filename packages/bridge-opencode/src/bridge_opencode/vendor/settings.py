"""A bridge's settings, from the environment: the same names for every agent.

The environment comes in as an argument. Secrets never show in a `repr`, an error or a log line (AgentChatBus#8).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

from . import permission_mode
from .addressing import AddressError, normal_name
from .host_port import host_and_port
from .wire import Tier

__all__ = ["DEFAULT_URL", "Settings", "SettingsError", "data_home", "key_file", "load", "user_home"]

DEFAULT_URL = "http://127.0.0.1:8180"
LONGEST_TURN_S = 7 * 24 * 3600.0
MOST_PARALLEL = 64
LARGEST_KEY_FILE = 4096
Network = Literal["open", "model", "off"]
T = TypeVar("T")


class SettingsError(ValueError):
    """A setting that can't be used. `variable` is its name; the message says what is wrong and how to mend it."""

    def __init__(self, variable: str, problem: str, mend: str):
        super().__init__(f"{variable}: {problem}. {mend}")
        self.variable = variable


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment says, checked.

    `workspaces` is never empty, its first entry is the default. Times are seconds unless the name says milliseconds.
    `parallel_turns` None: the runner's own default. `disallowed_tools` None: unset, which is not the same as empty.
    `environ` is the environment all of it came from, for what an agent's own settings add. `network_hosts` are
    ``name:port``.
    """

    agent: str
    gateway_url: str
    agent_name: str
    agent_key: str | None = field(repr=False)
    agent_secret: str | None = field(repr=False)
    workspaces: tuple[tuple[str, Path], ...]
    max_mode: Tier
    turn_timeout_s: float
    parallel_turns: int | None
    state_dir: Path
    permission_wait_ms: int
    ask_tools: tuple[str, ...]
    command: str | None
    disallowed_tools: tuple[str, ...] | None
    network: Network
    allow_root: bool
    environ: Mapping[str, str] = field(repr=False)
    network_hosts: tuple[str, ...] = ()

    @property
    def credential(self) -> str | tuple[str, str] | None:
        """The key, or (agent name, secret), or None when neither is set."""
        if self.agent_key is not None:
            return self.agent_key
        return None if self.agent_secret is None else (self.agent_name, self.agent_secret)


def data_home(environ: Mapping[str, str]) -> Path:
    """The data folder of this installation: ``AGENTMAIL_HOME``, else the platform's place for a user's data."""
    named = environ.get("AGENTMAIL_HOME", "").strip()
    if named:
        return _path(named, environ)
    import platformdirs

    return platformdirs.user_data_path("agentmail", appauthor=False)


def user_home(environ: Mapping[str, str]) -> Path:
    """The home directory of the user, by the environment where it says."""
    named = environ.get("HOME", "")
    return Path(named).absolute() if named else Path.home()


def key_file(environ: Mapping[str, str], agent_name: str) -> Path:
    """Where `agentmail up` and `agentmail agent add` leave the key of an agent on this machine."""
    return data_home(environ) / "keys" / f"{agent_name}.key"


def load(environ: Mapping[str, str], agent: str) -> Settings:
    """The settings of the bridge for `agent` (``zcode``). Raises `SettingsError`; touches no file but key files."""
    prefix = f"AGENTMAIL_{agent.upper().replace('-', '_')}"
    name = _text(environ, "AGENTMAIL_AGENT_NAME") or agent
    try:
        name = normal_name(name)
    except AddressError as error:
        mend = "Use letters, digits, '.', '_' and '-'"
        raise SettingsError("AGENTMAIL_AGENT_NAME", str(error).rstrip("."), mend) from None
    state_text = _text(environ, "AGENTMAIL_STATE_DIR")
    state_dir = _path(state_text, environ) if state_text else data_home(environ) / "bridges" / name
    denied = environ.get(f"{prefix}_DISALLOWED_TOOLS")
    return Settings(
        agent=agent,
        gateway_url=_text(environ, "AGENTMAIL_GATEWAY_URL") or DEFAULT_URL,
        agent_name=name,
        agent_key=_key(environ, name),
        agent_secret=_text(environ, "AGENTMAIL_AGENT_SECRET") or None,
        workspaces=_workspaces(environ, state_dir),
        max_mode=_read(environ, "AGENTMAIL_MAX_MODE", "workspace", permission_mode.parse),
        turn_timeout_s=_read(environ, "AGENTMAIL_TURN_TIMEOUT_S", "3600", _seconds),
        parallel_turns=_read(environ, "AGENTMAIL_PARALLEL_TURNS", "", lambda text: _count(text) if text else None),
        state_dir=state_dir,
        permission_wait_ms=_read(environ, "AGENTMAIL_PERMISSION_WAIT_MS", "540000", _milliseconds),
        ask_tools=_words(environ.get("AGENTMAIL_ASK_TOOLS", "")),
        command=_text(environ, f"{prefix}_COMMAND") or None,
        disallowed_tools=None if denied is None else _words(denied),
        network=_read(environ, "AGENTMAIL_NETWORK", "open", _network),
        allow_root=_read(environ, "AGENTMAIL_ALLOW_ROOT", "0", _switch),
        environ=environ,
        network_hosts=_read(environ, "AGENTMAIL_NETWORK_HOSTS", "", _hosts),
    )


def _text(environ: Mapping[str, str], variable: str) -> str:
    return environ.get(variable, "").strip()


def _path(text: str, environ: Mapping[str, str]) -> Path:
    """`text` as an absolute path; a leading ``~`` is the environment's own home."""
    home = environ.get("HOME", "")
    if home and (text == "~" or text.startswith("~/")):
        return Path(home + text[1:]).absolute()
    return Path(text).expanduser().absolute()


def _read(environ: Mapping[str, str], variable: str, default: str, parse: Callable[[str], T]) -> T:
    try:
        return parse(_text(environ, variable) or default)
    except ValueError as error:
        raise SettingsError(variable, str(error), "Correct the value or unset the variable") from None


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= LONGEST_TURN_S:
        raise ValueError(f"{text[:40]!r} is no number of seconds between 1 and {LONGEST_TURN_S:.0f}")
    return seconds


def _milliseconds(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:12]) <= LONGEST_TURN_S * 1000):
        raise ValueError(f"{text[:40]!r} is no number of milliseconds")
    return int(text)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= MOST_PARALLEL):
        raise ValueError(f"{text[:40]!r} is no whole number between 1 and {MOST_PARALLEL}")
    return int(text)


def _network(text: str) -> Network:
    match text.lower():
        case "open":
            return "open"
        case "model":
            return "model"
        case "off":
            return "off"
    raise ValueError(f"{text[:40]!r} is none of open, model, off")


def _hosts(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(host_and_port(word) for word in _words(text)))


def _switch(text: str) -> bool:
    match text.lower():
        case "1" | "true" | "yes" | "on":
            return True
        case "0" | "false" | "no" | "off":
            return False
    raise ValueError(f"{text[:40]!r} is neither 1 nor 0")


def _words(text: str) -> tuple[str, ...]:
    """Names separated by blanks or commas, each once, in order."""
    return tuple(dict.fromkeys(word for word in re.split(r"[\s,]+", text) if word))


def _workspaces(environ: Mapping[str, str], state_dir: Path) -> tuple[tuple[str, Path], ...]:
    """``name=path`` entries separated by ``;``. Whether the directories are fit is `workspace`'s business."""
    variable = "AGENTMAIL_WORKSPACES"
    entries: list[tuple[str, Path]] = []
    for entry in filter(None, (part.strip() for part in environ.get(variable, "").split(";"))):
        name, equals, path = (part.strip() for part in entry.partition("="))
        if not (name and equals and path):
            raise SettingsError(variable, f"{entry[:120]!r} is not name=path", "Separate entries with ';'")
        if not (Path(path).is_absolute() or path == "~" or path.startswith("~/")):
            raise SettingsError(variable, f"the path of {name[:80]!r} is relative", "Give an absolute path")
        entries.append((name, _path(path, environ)))
    return tuple(entries) or (("default", state_dir / "workspaces" / "default"),)


def _key(environ: Mapping[str, str], name: str) -> str | None:
    """The agent key: the variable, the file named by ``_FILE``, or the file that `agentmail up` leaves."""
    key = _text(environ, "AGENTMAIL_AGENT_KEY")
    named = _text(environ, "AGENTMAIL_AGENT_KEY_FILE")
    if key and named:
        raise SettingsError(
            "AGENTMAIL_AGENT_KEY", "is set together with AGENTMAIL_AGENT_KEY_FILE", "Unset one of the two"
        )
    if key:
        return _checked("AGENTMAIL_AGENT_KEY", key)
    if named:
        return _key_in(_path(named, environ), required=True)
    if _text(environ, "AGENTMAIL_AGENT_SECRET"):
        return None
    return _key_in(key_file(environ, name), required=False)


def _key_in(path: Path, *, required: bool) -> str | None:
    variable = "AGENTMAIL_AGENT_KEY_FILE"
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_KEY_FILE).decode("utf-8", "replace").strip()
    except FileNotFoundError:
        if not required:
            return None
        raise SettingsError(
            variable, f"there is no file {path}", "`agentmail agent add NAME` prints a key to put there"
        ) from None
    except OSError as error:
        raise SettingsError(
            variable, f"{path} can't be read ({error.strerror or error})", "It must belong to this user, mode 0600"
        ) from None
    return _checked(variable, text)


def _checked(variable: str, key: str) -> str:
    if not key or not all("!" <= character <= "~" for character in key):
        raise SettingsError(variable, "it is empty or holds characters that no key has", "Copy the key again")
    return key
