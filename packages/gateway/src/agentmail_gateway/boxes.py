"""Whose box a mail lies in, and where: unread, read, or sent.

The place is part of the key, so that each place is one range in order of mails: a page of it costs the same in a box of
ten as in one of ten thousand. Reading a mail moves its row.
"""

from collections.abc import Sequence
from typing import Any, Final

from .core import Caller
from .store.interface import Reader

__all__ = ["INBOX", "LAST", "READ", "SENT", "UNREAD", "box_rows"]

UNREAD: Final = 0
READ: Final = 1
SENT: Final = 2
INBOX: Final = (UNREAD, READ)
LAST: Final = (1 << 63) - 1
"""As `before`: from the very newest on."""


def box_rows(
    reader: Reader,
    caller: Caller,
    places: Sequence[int],
    *,
    columns: str = "mail",
    after: int = 0,
    before: int | None = None,
    narrow: Sequence[tuple[str, int]] = (),
    limit: int,
) -> list[Any]:
    """The first `limit` rows of the caller's box in `places`, in order of mails; with `before`, from the newest down.

    `columns` and the names in `narrow` (columns that must have these values) are the callers' own texts. Of what a turn
    key's agent sent, only the turn's thread is there.
    """
    condition, start, order = ("mail > ?", after, "mail") if before is None else ("mail < ?", before, "mail DESC")
    parts: list[str] = []
    parameters: list[int] = []
    for place in places:
        wanted = list(narrow)
        if place == SENT and caller.turn is not None:
            wanted.append(("thread", caller.turn.thread))
        also = "".join(f" AND {name} = ?" for name, _ in wanted)
        parts.append(f"SELECT {columns} FROM box WHERE owner = ? AND place = ? AND {condition}{also}")  # noqa: S608
        parameters += (caller.account.id, place, start, *(value for _, value in wanted))
    return reader.execute(f"{' UNION '.join(parts)} ORDER BY {order} LIMIT ?", (*parameters, limit)).fetchall()
