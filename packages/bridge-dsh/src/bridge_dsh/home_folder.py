"""dsh's own folder of one session: what stays from turn to turn, and what must not."""

import os
import shutil
import stat
from pathlib import Path

__all__ = ["prepare"]

KEPT = "sessions"


def prepare(session_dir: Path) -> Path:
    """The folder for ``DSH_HOME`` below `session_dir`: with the session's log and nothing else. Raises OSError.

    A turn can write there. What dsh would run at its next start (patches, profiles, an environment file) could be a
    lower tier's work in a higher tier's turn, so it goes; dsh makes what it needs anew. Of the sessions plain files and
    folders stay: through a link dsh would write what the mail says into a file of the person's.
    """
    home = session_dir / "dsh"
    if home.is_symlink() or not home.is_dir():
        home.unlink(missing_ok=True)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    for entry in home.iterdir():
        if entry.is_symlink() or not entry.is_dir():
            entry.unlink()
        elif entry.name != KEPT:
            shutil.rmtree(entry)
    for root, folders, files in os.walk(home):
        for name in (*folders, *files):
            path = Path(root, name)
            mode = path.lstat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                path.unlink()
    return home
