"""Which attachments a caller may see and attach."""

from typing import Final

from .core import Caller, Core
from .problems import Problem
from .store.interface import Reader, Tx
from .vendor.wire import Attachment
from .visibility import SEEN, seen_parameters

__all__ = ["attachable", "find_attachment"]

_OWN: Final = "(a.owner = ? AND a.turn IS coalesce(?, a.turn))"
_FIND: Final = (
    f"SELECT a.name, a.type, a.size FROM attachments a WHERE a.id = ? AND ({_OWN} OR EXISTS "  # noqa: S608 - constants
    f"(SELECT 1 FROM attached x JOIN mails m ON m.id = x.mail WHERE x.attachment = a.id AND {SEEN}))"
)


def find_attachment(core: Core, reader: Reader, caller: Caller, number: int) -> Attachment | None:
    """The attachment, when the caller uploaded it or sees a mail that has it.

    A turn key opens the turn's own uploads, not those of the agent's other turns.
    """
    turn = None if caller.turn is None else caller.turn.id
    row = reader.execute(_FIND, (number, caller.account.id, turn, *seen_parameters(caller))).fetchone()
    return None if row is None else Attachment(core.ids.text("att", number), *row)


def attachable(core: Core, tx: Tx, caller: Caller, ids: tuple[str, ...]) -> tuple[tuple[int, Attachment], ...]:
    """The attachments of a request by number, doubled ones once. Raises Problem ``not_found`` naming the id."""
    found: dict[int, Attachment] = {}
    for text in ids:
        number = core.ids.head("att", text)
        attachment = None if number is None else find_attachment(core, tx, caller, number)
        if number is None or attachment is None:
            raise Problem("not_found", f"There is no attachment {text[:60]!r} that you may attach. Nothing was sent.")
        found[number] = attachment
    return tuple(found.items())
