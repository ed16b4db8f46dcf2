"""Which people see a turn, and which of them may answer its permission questions."""

from .core import Core
from .store.interface import Reader
from .vendor.permission_mode import allows
from .vendor.wire import Tier

__all__ = ["deciders_of", "watchers_of"]


def watchers_of(core: Core, reader: Reader, mail: int) -> tuple[int, ...]:
    """The numbers of the people who sent or got the mail, and so see its turns."""
    sender, to_ids, cc_ids = reader.execute("SELECT sender, to_ids, cc_ids FROM mails WHERE id = ?", (mail,)).fetchone()
    numbers = [sender, *map(int, to_ids.split(",")), *(map(int, cc_ids.split(",")) if cc_ids else ())]
    return tuple(dict.fromkeys(number for number in numbers if core.accounts.by_id[number].kind == "person"))


def deciders_of(core: Core, reader: Reader, turn: int, tier: Tier) -> tuple[int, ...]:
    """The numbers of the administrators, and of the people who see the turn and are trusted with `tier`."""
    row = reader.execute("SELECT mail FROM turns WHERE id = ?", (turn,)).fetchone()
    watchers = watchers_of(core, reader, row[0]) if row else ()
    return tuple(
        person.id
        for person in core.accounts.people()
        if not person.disabled and (person.admin or (person.id in watchers and allows(person.trust, tier)))
    )
