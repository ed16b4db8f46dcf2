"""The folder of one session's files, which a turn can write: what an earlier turn may have done to it is undone."""

import os
import stat
from pathlib import Path

__all__ = ["prepare"]


def prepare(session_dir: Path) -> Path:
    """pi's folder below `session_dir`, with plain files and folders only. Raises OSError.

    pi appends to the session's file. Had a turn put a link in its place, a later turn of a higher tier would write
    what the mail says into a file of the person's; at a pipe it would wait for ever.
    """
    folder = session_dir / "pi"
    if folder.is_symlink() or not folder.is_dir():
        folder.unlink(missing_ok=True)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(root, name)
            mode = path.lstat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                path.unlink()
    return folder
