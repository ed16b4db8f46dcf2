"""Claiming a turn: the lease, the turn's own key, and all that the bridge needs to run it."""

from typing import Final

from . import ledger
from .core import Caller, Core
from .keys import digest_of, new_secret
from .mail_reads import mails_of, visible_in_thread
from .principal import Principal
from .sessions import last_workspace, session_for
from .store.interface import Reader, Tx
from .times import text
from .trust import effective, least
from .turn_changes import change_turn, own_turn
from .turn_rows import TurnRow
from .vendor import wire

__all__ = ["claim"]

_RECENT_MAILS: Final = 30
_RECENT_CHARACTERS: Final = 256 * 1024


async def claim(core: Core, who: Principal, turn_id: str) -> wire.Claim:
    """Give the agent's bridge the turn, under a new lease. Raises Problem ``not_found``, ``not_claimable``."""
    agent = core.bridge(who)
    number = core.head("turn", turn_id, "turn")
    key = new_secret("amt")

    def take(tx: Tx) -> tuple[TurnRow, str, wire.Tier]:
        row = own_turn(core, tx, agent.id, number)
        earlier = tx.execute(
            "SELECT 1 FROM turns WHERE agent = ? AND finished IS NULL AND id < ? AND thread = ? LIMIT 1",
            (agent.id, number, row.thread),
        ).fetchone()
        mode, why, trust = _tier(core, tx, row)
        event = ledger.Claim(tx.now, paused=core.accounts.by_id[agent.id].paused, earlier_open=earlier is not None)
        changed = change_turn(
            core,
            tx,
            row,
            event,
            leased=tx.now,
            started=None,
            output=None,
            key_digest=digest_of(key),
            mode=mode,
            workspace=row.workspace or last_workspace(tx, row.thread, row.agent),
            reason=None,
            failure=None,
        )
        return changed, why, trust

    row, why, trust = await core.store.write(take)
    assert row.expires is not None

    def context(reader: Reader) -> tuple[tuple[wire.Mail, ...], wire.Session]:
        caller = Caller(agent)
        asked = reader.execute("SELECT workspace FROM mails WHERE id = ?", (row.mail,)).fetchone()[0]
        session = session_for(core, reader, row.thread, row.agent, asked)
        return _recent(core, reader, caller, row), session

    recent, session = core.store.read(context)
    return wire.Claim(
        turn_id=turn_id,
        lease=row.lease,
        expires_at=text(row.expires),
        attempt=row.attempt,
        turn_key=key,
        mail=recent[-1],
        thread=wire.ClaimThread(core.ids.text("thr", row.thread), recent),
        session=session,
        effective_mode=row.mode,
        why_mode=why,
        reply_owed=core.accounts.by_id[row.sender].kind == "person",
        sender_trust=trust,
    )


def _tier(core: Core, tx: Tx, row: TurnRow) -> tuple[wire.Tier, str, wire.Tier]:
    """The turn's tier now, the limit that made it so, and the trust of its mail."""
    asked, trust, cap = tx.execute("SELECT mode, trust, cap FROM mails WHERE id = ?", (row.mail,)).fetchone()
    taint = tx.execute("SELECT taint FROM mails WHERE thread = ? ORDER BY id DESC LIMIT 1", (row.thread,)).fetchone()[0]
    # Trust that was taken away since the mail was sent is gone; trust that was given since is not the mail's.
    now_trusted = least(trust, core.accounts.by_id[row.sender].trust)
    mode, why = effective(asked, core.accounts.by_id[row.agent].max_mode, now_trusted, taint, cap)
    return mode, why, now_trusted


def _recent(core: Core, reader: Reader, caller: Caller, row: TurnRow) -> tuple[wire.Mail, ...]:
    """The mails of the thread up to the turn's, newest kept, bounded in number and size; the turn's own is the last."""
    numbers = visible_in_thread(reader, caller, row.thread, _RECENT_MAILS, row.mail)
    return mails_of(core, reader, caller, numbers[::-1], _RECENT_CHARACTERS)[::-1]
