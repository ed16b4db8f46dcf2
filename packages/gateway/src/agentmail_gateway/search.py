"""Full-text search over what the caller may see.

Indexing is the costly part of a mail, so it is not done while it is sent: a cursor in the store says up to which mail
the index reaches, and the rest is added when it is quiet, and always before a search is answered.
"""

from typing import Final

from .core import Core
from .mail_reads import mails_of
from .principal import Principal
from .search_text import index_text, match_query
from .store.interface import Reader, Tx
from .vendor import wire
from .visibility import SEEN, seen_parameters

__all__ = ["index_some", "indexed_up_to", "search"]

_CHUNK: Final = 100
_CHUNK_CHARACTERS: Final = 512 * 1024


async def search(core: Core, who: Principal, q: str, after: str | None, limit: int) -> wire.Page[wire.Mail]:
    """A page of mails in which all words of `q` occur, oldest first; without a word in it nothing is found.

    Mail that was stored before the call is found. Raises Problem ``invalid`` for a wrong cursor or limit only.
    """
    caller = core.caller(who)
    size = core.page_size(limit)
    start = core.cursor("mail", after)
    expression = match_query(q, caller.account.id)
    if expression is None:
        return wire.Page(())
    newest = core.store.read(lambda reader: reader.execute("SELECT max(id) FROM mails").fetchone()[0]) or 0
    while core.store.read(indexed_up_to) < newest:
        await core.store.write(index_some)

    def page(reader: Reader) -> wire.Page[wire.Mail]:
        rows = reader.execute(
            "SELECT m.id FROM search s CROSS JOIN mails m ON m.id = s.rowid "  # noqa: S608 - constant
            f"WHERE s.search MATCH ? AND s.rowid > ? AND {SEEN} ORDER BY s.rowid LIMIT ?",
            (expression, start, *seen_parameters(caller), size + 1),
        ).fetchall()
        mails = mails_of(core, reader, caller, [row[0] for row in rows[:size]])
        return wire.Page(mails, mails[-1].id if len(rows) > len(mails) else None)

    return await core.store.read_aside(page)


def index_some(tx: Tx) -> bool:
    """Index the next mails; whether there may be more."""
    rows = tx.execute(
        "SELECT id, sender, to_ids, cc_ids, subject, body FROM mails WHERE id > ? ORDER BY id LIMIT ?",
        (indexed_up_to(tx), _CHUNK),
    )
    last = size = 0
    while size < _CHUNK_CHARACTERS and (row := rows.fetchone()) is not None:
        last, sender, to_ids, cc_ids, subject, body = row
        size += len(body)
        seen = {f"u{owner}" for owner in f"{sender},{to_ids},{cc_ids}".split(",") if owner}
        tx.execute(
            "INSERT INTO search (rowid, seen, text) VALUES (?, ?, ?)",
            (last, " ".join(sorted(seen)), index_text(subject, body)),
        )
    if last:
        tx.execute(
            "INSERT INTO meta (key, value) VALUES ('search_cursor', ?) "
            "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (last,),
        )
    return last > 0


def indexed_up_to(reader: Reader) -> int:
    """The newest mail in the index, 0 when it is empty."""
    row = reader.execute("SELECT value FROM meta WHERE key = 'search_cursor'").fetchone()
    return row[0] if row else 0
