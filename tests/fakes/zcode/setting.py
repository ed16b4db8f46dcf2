"""How a test sets the stand-in up: files in the home folder, because a bridge passes it few variables on.

``~/.zcode/stand-in.json``: {"face": "0.16.9" or "0.16.5", "do": ["directive", …], "node_too_old": false}.
``~/.zcode/stand-in-runs.jsonl`` gets a line per process: argv, cwd, environment as started and after ``.env``, pid.
``~/.zcode/stand-in-sessions.json`` keeps sessions; ``~/.zcode/stand-in-once.json`` what was done once.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["Home"]


class Home:
    """The stand-in's files below HOME."""

    def __init__(self) -> None:
        self.folder = Path(os.environ.get("HOME", "/nonexistent")) / ".zcode"
        setting = self._read("stand-in.json")
        self.face = str(setting.get("face", "0.16.9"))
        do = setting.get("do", [])
        self.do = [str(line) for line in do] if isinstance(do, list) else []
        self.node_too_old = bool(setting.get("node_too_old", False))

    def record(self, **run: object) -> None:
        """Append a line on this process."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "stand-in-runs.jsonl").open("a", encoding="utf-8", errors="surrogateescape") as file:
            file.write(json.dumps(run) + "\n")

    def first_time(self, what: str) -> bool:
        """Whether `what` was never done before by any process with this home."""
        with self._changing("stand-in-once.json") as done:
            new = what not in done
            done[what] = True
        return new

    def session(self, session_id: str) -> dict[str, object] | None:
        """A session that an earlier run made."""
        found = self._read("stand-in-sessions.json").get(session_id)
        return found if isinstance(found, dict) else None

    def save_session(self, session_id: str, session: dict[str, object]) -> None:
        """Keep a session."""
        with self._changing("stand-in-sessions.json") as sessions:
            sessions[session_id] = session

    def has_model_config(self) -> bool:
        """0.16.5: an explicit configuration with `model.main` as a string (ouroboros#2148), or the three variables."""
        if all(os.environ.get(name) for name in ("ZCODE_MODEL", "ZCODE_API_KEY", "ZCODE_BASE_URL")):
            return True
        model = self._read("cli/config.json").get("model")
        return isinstance(model, dict) and isinstance(model.get("main"), str)

    def has_default_model(self) -> bool:
        """0.16.9: a provider file that names one [shape R]."""
        path = os.environ.get("ZCODE_PERSONAL_PROVIDER_CONFIG_FILE")
        config = _object(Path(path)).get("config") if path else None
        return isinstance(config, dict) and bool(config.get("defaultModelSelection"))

    def plugins(self) -> list[dict[str, object]]:
        """The plugins of the folders that the configuration names; the manifest's rules are public documentation."""
        plugins = self._read("cli/config.json").get("plugins")
        folders = plugins.get("dirs", []) if isinstance(plugins, dict) else []
        found: list[dict[str, object]] = []
        for folder in folders if isinstance(folders, list) else []:
            manifest = _object(Path(str(folder)) / ".zcode-plugin" / "plugin.json")
            if isinstance(manifest.get("name"), str):
                found.append({"id": f"{manifest['name']}@local", "name": manifest["name"], "enabled": True})
        return found

    def _read(self, name: str) -> dict[str, object]:
        return _object(self.folder / name)

    @contextmanager
    def _changing(self, name: str) -> Iterator[dict[str, object]]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "stand-in.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            content = self._read(name)
            yield content
            temporary = self.folder / f"{name}.new"
            temporary.write_text(json.dumps(content))
            temporary.replace(self.folder / name)


def _object(path: Path) -> dict[str, object]:
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
