"""The data folder: where everything of this installation lies."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .errors import LocalError

__all__ = ["Home", "make_private", "write_private"]


@dataclass(frozen=True, slots=True)
class Home:
    """Paths below the data folder `root`. Nothing is made by asking for a path."""

    root: Path

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "Home":
        """``AGENTMAIL_HOME``, else the platform's folder for a user's application data."""
        from .vendor.settings import data_home

        return cls(data_home(environ))

    @property
    def gateway(self) -> Path:
        """The gateway's own data folder (its ``--data``)."""
        return self.root / "gateway"

    @property
    def address_file(self) -> Path:
        """Where a running gateway says its URL."""
        return self.gateway / "address"

    @property
    def token_file(self) -> Path:
        """The person's token, mode 0600."""
        return self.gateway / "person.token"

    @property
    def up_state(self) -> Path:
        """Which processes the last `agentmail up` started."""
        return self.root / "up.json"

    @property
    def greeted(self) -> Path:
        """Exists once the greeting of the first run was answered."""
        return self.root / "greeted"

    def key_file(self, agent: str) -> Path:
        """The key of `agent`, mode 0600."""
        return self.root / "keys" / f"{agent}.key"

    def bridge(self, agent: str) -> Path:
        """State folder of `agent`'s bridge."""
        return self.root / "bridges" / agent

    def log(self, name: str) -> Path:
        """Log of a process that `agentmail up` started."""
        return self.root / "logs" / f"{name}.log"

    def url(self) -> str | None:
        """The URL in the address file, or None. The gateway may have gone away since."""
        try:
            text = self.address_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return None
        return text.splitlines()[0].strip() if text else None

    def token(self) -> str | None:
        """The person's token from its file, or None."""
        try:
            return self.token_file.read_text(encoding="utf-8").strip() or None
        except (OSError, UnicodeDecodeError):
            return None


def make_private(folder: Path) -> None:
    """Make `folder` (and what is above it) with mode 0700. Raises `LocalError` when the system refuses."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise LocalError(f"can't make the folder {folder}: {error.strerror or error}", _ELSEWHERE) from error


_ELSEWHERE = "Set AGENTMAIL_HOME to a folder you may write"


def write_private(path: Path, text: str) -> None:
    """Write `text` to `path` with mode 0600, whole or not at all. Raises `LocalError` when the system refuses."""
    make_private(path.parent)
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        new.unlink(missing_ok=True)
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        raise LocalError(f"can't write {path}: {error.strerror or error}", _ELSEWHERE) from error
