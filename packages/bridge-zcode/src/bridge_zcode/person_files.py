"""What the person's own ZCode configuration says, for the self-check. Reads files below HOME, never raises."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .fields import Json, mapping, parse_object, string

__all__ = ["PersonFiles", "look_at_person"]

_LARGEST = 4 << 20
_TRIPLE = ("ZCODE_MODEL", "ZCODE_API_KEY", "ZCODE_BASE_URL")


@dataclass(frozen=True, slots=True)
class PersonFiles:
    """`model`: where a model is configured, empty when nowhere was seen. `servers`: names of other MCP servers."""

    model: str
    servers: tuple[str, ...]


def look_at_person(home: Path, environ: Mapping[str, str]) -> PersonFiles:
    """Read the configuration of both generations (a string at `model.main`, a provider file with a selection)."""
    path = home / ".zcode" / "cli" / "config.json"
    configuration = _object(path)
    servers = mapping(mapping(configuration.get("mcp")).get("servers"))
    foreign = tuple(sorted(name for name, entry in servers.items() if name != "agentmail" and _enabled(entry)))
    return PersonFiles(_model(home, environ, path, configuration), foreign)


def _model(home: Path, environ: Mapping[str, str], path: Path, configuration: Json) -> str:
    if all(environ.get(name) for name in _TRIPLE):
        return ", ".join(_TRIPLE)
    named = environ.get("ZCODE_PERSONAL_PROVIDER_CONFIG_FILE")
    personal = Path(named) if named else home / ".zcode" / "v2" / "provider_config.json"
    if mapping(mapping(_object(personal).get("config")).get("defaultModelSelection")):
        return str(personal)
    # An object in this place is dropped by ZCode without a word (ouroboros#2148).
    return str(path) if string(mapping(configuration.get("model")).get("main")) else ""


def _enabled(entry: object) -> bool:
    return isinstance(entry, dict) and entry.get("enabled") is not False and entry.get("enable") is not False


def _object(path: Path) -> Json:
    try:
        with path.open("rb") as file:
            return parse_object(file.read(_LARGEST).decode("utf-8", "replace")) or {}
    except OSError:
        return {}
