"""Whether the store can be written, and the numbers that say how the gateway does."""

from .core import Core
from .store.interface import Tx

__all__ = ["numbers", "try_to_write"]


def numbers(core: Core) -> dict[str, float]:
    """Numbers for the metrics page, by name."""
    rows = core.store.read(
        lambda reader: reader.execute(
            "SELECT state, count(*) FROM turns WHERE finished IS NULL GROUP BY state"
        ).fetchall()
    )
    open_turns: dict[str, int] = dict(rows)
    return {
        "agents": len(core.accounts.agents()),
        "last_event_id": core.store.last_event,
        "people": len(core.accounts.people()),
        "turns_leased": open_turns.get("leased", 0),
        "turns_queued": open_turns.get("queued", 0),
        "turns_running": open_turns.get("running", 0),
        "writes_waiting": core.store.waiting,
    }


async def try_to_write(core: Core) -> None:
    """Return when something was written durably. Raises Problem ``unavailable`` that says why it can't."""

    def job(tx: Tx) -> None:
        # A new value each time: SQLite writes nothing when nothing would change.
        tx.execute(
            "INSERT INTO meta (key, value) VALUES ('ready', 1) ON CONFLICT (key) DO UPDATE SET value = value + 1"
        )

    await core.store.write(job)
