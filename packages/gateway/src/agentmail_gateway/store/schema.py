"""The tables, as numbered migrations: entry n brings a store from version n to n + 1 and is never edited afterwards.

Ids are the integers of `ids`; a turn's id lies in the block right after its mail's, so that the turns of a mail are the
range ``mail < id <= mail + mails.turns`` and need no index. Times are milliseconds. A turn is open while `finished` is
null. Large columns stand last, so that reading the others doesn't touch their overflow pages.
"""

from typing import Final

__all__ = ["MIGRATIONS"]

_FIRST: Final = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID",
    """
    CREATE TABLE accounts (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL CHECK (kind IN ('person', 'agent', 'system')),
        display TEXT NOT NULL DEFAULT '',
        admin INTEGER NOT NULL DEFAULT 0,
        trust TEXT,
        max_mode TEXT NOT NULL DEFAULT 'workspace',
        paused INTEGER NOT NULL DEFAULT 0,
        disabled INTEGER NOT NULL DEFAULT 0,
        created INTEGER NOT NULL,
        digest BLOB UNIQUE,
        last_seen INTEGER,
        heartbeat TEXT
    )
    """,
    """
    CREATE TABLE mails (
        id INTEGER PRIMARY KEY,
        thread INTEGER NOT NULL,
        sender INTEGER NOT NULL REFERENCES accounts (id),
        created INTEGER NOT NULL,
        reply_to INTEGER REFERENCES mails (id),
        auto TEXT NOT NULL,
        mode TEXT,
        workspace TEXT,
        trust TEXT NOT NULL,
        taint TEXT NOT NULL,
        hops INTEGER NOT NULL,
        turn INTEGER,
        cap TEXT,
        turns INTEGER NOT NULL,
        to_ids TEXT NOT NULL,
        cc_ids TEXT NOT NULL,
        key BLOB,
        digest BLOB,
        attachments TEXT,
        subject TEXT NOT NULL,
        body TEXT NOT NULL
    )
    """,
    "CREATE INDEX mails_thread ON mails (thread)",
    "CREATE UNIQUE INDEX mails_key ON mails (sender, key) WHERE key IS NOT NULL",
    """
    CREATE TABLE box (
        owner INTEGER NOT NULL REFERENCES accounts (id),
        place INTEGER NOT NULL,
        mail INTEGER NOT NULL REFERENCES mails (id),
        thread INTEGER NOT NULL,
        sender INTEGER NOT NULL,
        auto INTEGER NOT NULL,
        PRIMARY KEY (owner, place, mail)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE turns (
        id INTEGER PRIMARY KEY,
        mail INTEGER NOT NULL REFERENCES mails (id),
        thread INTEGER NOT NULL,
        agent INTEGER NOT NULL REFERENCES accounts (id),
        state TEXT NOT NULL,
        attempt INTEGER NOT NULL DEFAULT 0,
        lease INTEGER NOT NULL DEFAULT 0,
        held INTEGER NOT NULL DEFAULT 0,
        cancel INTEGER NOT NULL DEFAULT 0,
        told INTEGER NOT NULL DEFAULT 0,
        mode TEXT NOT NULL,
        workspace TEXT,
        created INTEGER NOT NULL,
        not_before INTEGER,
        expires INTEGER,
        pushed INTEGER,
        leased INTEGER,
        started INTEGER,
        output INTEGER,
        finished INTEGER,
        reply INTEGER REFERENCES mails (id),
        key_digest BLOB,
        reply_key TEXT,
        reason TEXT,
        usage TEXT,
        failure TEXT
    )
    """,
    "CREATE INDEX turns_open ON turns (agent, id) WHERE finished IS NULL",
    "CREATE INDEX turns_dead ON turns (id) WHERE state = 'dead'",
    """
    CREATE TABLE events (
        id INTEGER PRIMARY KEY,
        account INTEGER NOT NULL,
        type TEXT NOT NULL,
        data TEXT NOT NULL
    )
    """,
    # The writer counts, and costs less than AUTOINCREMENT. The newest id outlives its row, so that none is used twice.
    """
    CREATE TRIGGER events_newest AFTER DELETE ON events WHEN NOT EXISTS (SELECT 1 FROM events WHERE id > OLD.id)
    BEGIN
        INSERT INTO meta (key, value) VALUES ('events_newest', OLD.id)
        ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value);
    END
    """,
    """
    CREATE TABLE attachments (
        id INTEGER PRIMARY KEY,
        owner INTEGER NOT NULL REFERENCES accounts (id),
        turn INTEGER,
        name TEXT NOT NULL,
        type TEXT NOT NULL,
        size INTEGER NOT NULL,
        sha256 BLOB NOT NULL,
        created INTEGER NOT NULL,
        used INTEGER NOT NULL DEFAULT 0
    )
    """,
    "CREATE INDEX attachments_unused ON attachments (id) WHERE used = 0",
    """
    CREATE TABLE attached (
        attachment INTEGER NOT NULL REFERENCES attachments (id),
        mail INTEGER NOT NULL REFERENCES mails (id),
        PRIMARY KEY (attachment, mail)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE sessions (
        thread INTEGER NOT NULL,
        agent INTEGER NOT NULL REFERENCES accounts (id),
        workspace TEXT NOT NULL,
        native TEXT,
        used INTEGER NOT NULL,
        PRIMARY KEY (thread, agent, workspace)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE permissions (
        id INTEGER PRIMARY KEY,
        turn INTEGER NOT NULL,
        thread INTEGER NOT NULL,
        agent INTEGER NOT NULL REFERENCES accounts (id),
        tier TEXT NOT NULL,
        created INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        decision TEXT,
        decided INTEGER,
        decided_by INTEGER REFERENCES accounts (id),
        tool TEXT NOT NULL,
        summary TEXT NOT NULL,
        scope TEXT NOT NULL,
        detail TEXT NOT NULL
    )
    """,
    "CREATE INDEX permissions_turn ON permissions (turn)",
    "CREATE INDEX permissions_open ON permissions (id) WHERE decision IS NULL",
    """
    CREATE TABLE audit (
        id INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        actor TEXT NOT NULL,
        action TEXT NOT NULL,
        target TEXT NOT NULL,
        detail TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE web_sessions (
        digest BLOB PRIMARY KEY,
        account INTEGER NOT NULL REFERENCES accounts (id),
        csrf TEXT NOT NULL,
        created INTEGER NOT NULL,
        expires INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
    # Contentless: the index alone. columnsize is only for ranking, which a list in order of time has no use for.
    "CREATE VIRTUAL TABLE search USING fts5 (seen, text, content = '', columnsize = 0, tokenize = 'unicode61')",
)

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (_FIRST,)
