"""Opening a store: the folder, the file, its own number, and on the first day its first administrator."""

import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from .accounts import SYSTEM
from .administration import load_limits
from .attachments import remove_leftovers
from .core import Core
from .identities import insert_account
from .ids import Ids
from .keys import digest_of, new_secret
from .problems import invalid
from .store.faults import is_fault, unavailable
from .store.interface import Tx
from .store.private_file import private_folder, write_private
from .store.sqlite_store import SqliteStore
from .times import clock
from .vendor import addressing
from .vendor.wire import Limits

__all__ = ["open_core"]

_FILE: Final = "agentmail.db"
_TOKEN_FILE: Final = "person.token"  # noqa: S105 - a file's name


async def open_core(
    data: Path, admin: str, now: Callable[[], float] = time.time, limits: Limits | None = None
) -> tuple[Core, Path]:
    """The core on the store in `data`, and where the first administrator's token is; see `Gateway.open`."""
    try:
        name = addressing.normal_name(admin)
    except addressing.AddressError as error:
        raise invalid(f"The administrator's name can't be used: {error}.") from None
    token_path = data / _TOKEN_FILE
    time_ms = clock(now)
    try:
        private_folder(data)
        remove_leftovers(data / "attachments")
        store = SqliteStore(data / _FILE, time_ms)
    except Exception as error:
        if is_fault(error):
            raise unavailable(error) from error
        raise
    try:
        number = await store.write(lambda tx: _prepare(tx, name, token_path))
        core = Core(store=store, ids=Ids(number), mint=store.mint, clock=time_ms, data=data)
        store.read(core.accounts.load)
        core.limits = limits or store.read(load_limits)
    except BaseException:
        await store.close()
        raise
    return core, token_path


def _prepare(tx: Tx, admin: str, token_path: Path) -> bytes:
    """The store's own number; in a new store, make it, the gateway's own account, and the first administrator."""
    row = tx.execute("SELECT value FROM meta WHERE key = 'store'").fetchone()
    if row is not None:
        return bytes(row[0])
    store = secrets.token_bytes(16)
    tx.execute("INSERT INTO meta (key, value) VALUES ('store', ?)", (store,))
    insert_account(tx, name=SYSTEM, kind="system", display="AgentMail")
    token = new_secret("amp")
    insert_account(tx, name=admin, kind="person", admin=True, digest=digest_of(token))
    # Before the commit: without the file nobody could ever sign in; without the commit the file is written anew.
    write_private(token_path, f"{token}\n")
    return store
