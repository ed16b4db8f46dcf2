"""dsh's own folder of one session: what stays from turn to turn, and what must not."""

import shutil
from pathlib import Path

__all__ = ["prepare"]

KEPT = "sessions"


def prepare(session_dir: Path) -> Path:
    """The folder for ``DSH_HOME`` below `session_dir`: with the session's log and nothing else. Raises OSError.

    A turn can write there. What dsh would run at its next start (patches, profiles, an environment file) could be a
    lower tier's work in a higher tier's turn, so it goes; dsh makes what it needs anew.
    """
    home = session_dir / "dsh"
    if home.is_symlink():
        home.unlink()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    for entry in home.iterdir():
        if entry.is_symlink() or not entry.is_dir():
            entry.unlink()
        elif entry.name != KEPT:
            shutil.rmtree(entry)
    return home
