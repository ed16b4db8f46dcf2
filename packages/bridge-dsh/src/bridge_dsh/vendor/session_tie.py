"""The tie between an AgentMail session and the agent's own, on disk: one small file in the session's folder."""

from pathlib import Path

import msgspec

from .durable_file import replace_file
from .mail_session_id import Tie

__all__ = ["read_tie", "write_tie"]

_NAME = "tie.json"


def read_tie(session_dir: Path, session_id: str) -> Tie | None:
    """The tie kept in `session_dir`, or None when there is none, it can't be read, or it is another session's."""
    try:
        tie = msgspec.json.decode((session_dir / _NAME).read_bytes(), type=Tie)
    except (OSError, ValueError, msgspec.MsgspecError):
        return None
    return tie if tie.session_id == session_id and tie.native_id else None


def write_tie(session_dir: Path, tie: Tie) -> None:
    """Keep `tie` in `session_dir`, in place of an earlier one. Raises `OSError`."""
    replace_file(session_dir / _NAME, msgspec.json.encode(tie))
