"""What a caller may see: mail that lies in its box, and what hangs on that."""

from typing import Final

from .core import Caller
from .store.interface import Reader

__all__ = ["SEEN", "seen_parameters", "thread_of"]

SEEN: Final = (
    "(EXISTS (SELECT 1 FROM box WHERE owner = ? AND place IN (0, 1) AND mail = m.id) "
    "OR (EXISTS (SELECT 1 FROM box WHERE owner = ? AND place = 2 AND mail = m.id) "
    "AND m.thread = coalesce(?, m.thread)))"
)
"""A condition on ``mails m``; its three parameters come from `seen_parameters`."""


def seen_parameters(caller: Caller) -> tuple[int, int, int | None]:
    """The caller's number twice, and the one thread whose sent mails it sees (None: of all)."""
    return caller.account.id, caller.account.id, None if caller.turn is None else caller.turn.thread


def thread_of(reader: Reader, caller: Caller, mail: int) -> int | None:
    """The thread of a mail that the caller may see, None for every other."""
    row = reader.execute(
        f"SELECT thread FROM mails m WHERE id = ? AND {SEEN}",  # noqa: S608 - constant
        (mail, *seen_parameters(caller)),
    ).fetchone()
    return None if row is None else row[0]
