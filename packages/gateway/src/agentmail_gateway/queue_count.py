"""How many turns wait for an agent: counted once, then kept in the writer's memo."""

from .store.interface import Tx

__all__ = ["change_queue", "queued"]


def queued(tx: Tx, agent: int) -> int:
    """The number of queued turns of the agent."""
    key = ("queued", agent)
    known: int | None = tx.memo.get(key)
    if known is None:
        known = tx.execute(
            "SELECT count(*) FROM turns WHERE agent = ? AND finished IS NULL AND state = 'queued'", (agent,)
        ).fetchone()[0]
        tx.memo[key] = known
    return known


def change_queue(tx: Tx, agent: int, by: int) -> None:
    """Note that the job put `by` turns into the agent's queue (negative: took out)."""
    key = ("queued", agent)
    if key in tx.memo:
        tx.memo[key] += by
