"""The agent's own session of (thread, agent, workspace), so that the next mail of a thread goes on where it was."""

from .core import Core
from .store.interface import Reader, Tx
from .vendor.mail_session_id import session_id
from .vendor.wire import Session

__all__ = ["last_workspace", "remember_session", "session_for"]


def last_workspace(reader: Reader, thread: int, agent: int) -> str | None:
    """The workspace in which the agent last worked on the thread; None when it has not, or named none."""
    row = reader.execute(
        "SELECT workspace FROM sessions WHERE thread = ? AND agent = ? ORDER BY used DESC LIMIT 1", (thread, agent)
    ).fetchone()
    return row[0] or None if row else None


def session_for(core: Core, reader: Reader, thread: int, agent: int, workspace: str | None) -> Session:
    """The session to go on with in `workspace`, or where the thread was last, or one without an id."""
    row = reader.execute(
        "SELECT workspace, native FROM sessions WHERE thread = ? AND agent = ? AND workspace = coalesce(?, workspace) "
        "ORDER BY used DESC LIMIT 1",
        (thread, agent, workspace),
    ).fetchone()
    if row is None and workspace is None:
        return Session(None)
    place, native = row or (workspace or "", None)
    name = core.accounts.by_id[agent].name
    return Session(session_id(core.ids.text("thr", thread), name, place), native, place or None)


def remember_session(
    tx: Tx, thread: int, agent: int, workspace: str | None, native: str | None, *, lost: bool = False
) -> None:
    """Note where the agent works on the thread and what it calls its session; `lost`: the earlier one is no more."""
    if workspace is None and native is None:
        return
    tx.execute(
        "INSERT INTO sessions (thread, agent, workspace, native, used) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (thread, agent, workspace) DO UPDATE SET used = excluded.used, native = "
        "CASE WHEN ? THEN excluded.native ELSE coalesce(excluded.native, native) END",
        (thread, agent, workspace or "", native, tx.now, int(lost)),
    )
