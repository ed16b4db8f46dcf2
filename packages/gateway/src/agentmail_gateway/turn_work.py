"""What a bridge says while it works on a turn: started, still there, progress, given back."""

import msgspec

from . import ledger
from .checks import clean_failure, clean_native, clean_workspace
from .core import Core
from .events import LiveEvent
from .live import LiveTurn, length_of
from .notices import tell_waiting
from .principal import Principal
from .problems import Problem, invalid
from .sessions import remember_session
from .store.interface import Reader, Tx
from .times import milliseconds, text
from .turn_changes import change_turn, own_turn
from .vendor import wire
from .vendor.plain_text import one_line

__all__ = ["progress", "recent_progress", "release", "renew", "start"]

_OUTPUT_MS = 5_000
_MAX_EVENTS = 500
_MAX_TEXT = 64 * 1024


async def start(core: Core, who: Principal, turn_id: str, body: wire.StartBody) -> None:
    """The agent's process starts. Raises Problem ``lease_stale``, ``not_found``."""
    agent, number = core.bridge(who), core.head("turn", turn_id, "turn")
    named, native = clean_workspace(body.workspace), clean_native(body.native_session_id)

    def job(tx: Tx) -> None:
        row = own_turn(core, tx, agent.id, number)
        workspace = named or row.workspace
        event = ledger.Start(body.lease, tx.now)
        started = row.started or tx.now
        change_turn(core, tx, row, event, started=started, output=row.output or tx.now, workspace=workspace)
        remember_session(tx, row.thread, row.agent, workspace, native)

    await core.store.write(job)


async def renew(core: Core, who: Principal, turn_id: str, lease: int) -> wire.RenewAnswer:
    """The bridge still works on it. Raises Problem ``lease_stale`` once a newer lease or an end exists."""
    agent, number = core.bridge(who), core.head("turn", turn_id, "turn")

    def job(tx: Tx) -> wire.RenewAnswer:
        row = change_turn(core, tx, own_turn(core, tx, agent.id, number), ledger.Renew(lease, tx.now))
        assert row.expires is not None
        return wire.RenewAnswer(bool(row.cancel), text(row.expires))

    return await core.store.write(job)


async def release(core: Core, who: Principal, turn_id: str, body: wire.ReleaseBody) -> None:
    """Give the turn back, to be claimed from ``not_before`` on; this try is not counted.

    A failure of class ``quota`` is told to the sender once per turn. Raises Problem ``lease_stale``, ``invalid``.
    """
    agent, number = core.bridge(who), core.head("turn", turn_id, "turn")
    failure, not_before = clean_failure(body.failure), None
    if body.not_before is not None:
        try:
            not_before = milliseconds(body.not_before)
        except (ValueError, OverflowError):
            raise invalid("`not_before` is no time; write it like 2026-11-30T23:59:15.000Z.") from None

    def job(tx: Tx) -> None:
        row = own_turn(core, tx, agent.id, number)
        wait = not_before if not_before is not None and not_before > tx.now else None
        told = failure is not None and failure.class_ == "quota"
        columns: dict[str, object] = {
            "reason": one_line(body.reason, 500),
            "failure": None if failure is None else msgspec.json.encode(failure).decode(),
            "key_digest": None,
        }
        event = ledger.Release(body.lease, wait)
        if row.ledger == ledger.decide(row.ledger, event):
            return
        changed = change_turn(core, tx, row, event, **columns, told=int(row.told or told))
        if failure is not None and told and not row.told and changed.state == "queued":
            tell_waiting(core, tx, changed, failure, wait)

    await core.store.write(job)


async def progress(core: Core, who: Principal, turn_id: str, body: wire.ProgressBody) -> None:
    """Show what the agent does to the people who see the turn. Kept bounded in memory, never stored, never mail."""
    agent, number = core.bridge(who), core.head("turn", turn_id, "turn")
    if len(body.events) > _MAX_EVENTS:
        raise invalid(f"{len(body.events)} events are too many for one request; at most {_MAX_EVENTS} are taken.")
    if any(length_of(event) > _MAX_TEXT for event in body.events):
        raise Problem("too_large", f"The texts of an event have at most {_MAX_TEXT} characters together.")
    live = core.live.get(number)
    if live is None or live.agent != agent.id or live.lease != body.lease:
        core.store.read(lambda reader: _may_report(core, reader, agent.id, number, body.lease))
        return
    if not body.events:
        return
    now = core.clock()
    live.keep(body.events)
    live.output = now
    data = {"turn_id": turn_id, "events": msgspec.to_builtins(body.events)}
    for person in live.watchers:
        core.tell_live(LiveEvent(core.accounts.by_id[person].name, "turn_progress", data))
    if now - live.output_stored >= _OUTPUT_MS:
        live.output_stored = now
        await core.store.write(
            lambda tx: (
                tx.execute("UPDATE turns SET output = ? WHERE id = ? AND finished IS NULL", (now, number)) and None
            )
        )


def recent_progress(live: LiveTurn | None) -> tuple[wire.ProgressEvent, ...]:
    """What is kept of a turn's progress, oldest first."""
    return () if live is None else tuple(event for _, event in live.progress)


def _may_report(core: Core, reader: Reader, agent: int, number: int, lease: int) -> None:
    """Raise Problem ``lease_stale`` unless the lease only ran out: then its bridge may still say what it does."""
    refusal = ledger.decide(own_turn(core, reader, agent, number).ledger, ledger.Renew(lease, 0))
    if isinstance(refusal, ledger.Refusal):
        raise Problem(refusal.code, refusal.detail)
