"""Everything that was written, as JSON lines, for an administrator: one object a line with its ``type``. No keys."""

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, Final

import msgspec

from .core import Core
from .principal import Principal
from .store.interface import Reader
from .times import text
from .trust import asked_mode
from .turn_rows import TURN_COLUMNS, row_of, shown_turn
from .vendor import wire

__all__ = ["export"]

_STEP: Final = 200
Row = tuple[Any, ...]
Show = Callable[[Core, Row], dict[str, Any]]


def export(core: Core, who: Principal) -> AsyncIterator[bytes]:
    """The lines: people, agents, mails, turns, attachments (not their content), permissions, audit.

    Read page by page, so that it may take its time. Raises Problem ``forbidden`` at once.
    """
    core.administrator(who)
    return _lines(core)


async def _lines(core: Core) -> AsyncIterator[bytes]:
    for kind, sql, show in _PARTS:
        position = -1
        while True:
            start = position

            def page(reader: Reader, sql: str = sql, start: int = start) -> list[Row]:
                return reader.execute(f"{sql} LIMIT ?", (start, _STEP)).fetchall()

            rows = await core.store.read_aside(page)
            if not rows:
                break
            position = rows[-1][0]
            yield _encode({"type": kind, **show(core, row)} for row in rows)


def _encode(lines: Iterable[dict[str, Any]]) -> bytes:
    return b"".join([msgspec.json.encode(line) + b"\n" for line in lines])


def _name(core: Core, number: int) -> str:
    return core.accounts.by_id[number].name


def _names(core: Core, numbers: str) -> list[str]:
    return [_name(core, int(number)) for number in numbers.split(",") if number]


def _account(_core: Core, row: Row) -> dict[str, Any]:
    _, name, kind, display, admin, trust, max_mode, paused, disabled, created = row
    shown = {"name": name, "kind": kind, "display": display, "trust": trust, "disabled": bool(disabled)}
    if kind == "agent":
        shown.update(max_mode=max_mode, paused=bool(paused))
    else:
        shown.update(admin=bool(admin))
    return {**shown, "created_at": text(created)}


def _mail(core: Core, row: Row) -> dict[str, Any]:
    (
        number,
        thread,
        sender,
        created,
        reply_to,
        auto,
        mode,
        cap,
        workspace,
        trust,
        to_ids,
        cc_ids,
        files,
        subject,
        body,
    ) = row
    return {
        "id": core.ids.text("mail", number),
        "thread_id": core.ids.text("thr", thread),
        "from": _name(core, sender),
        "to": _names(core, to_ids),
        "cc": _names(core, cc_ids),
        "subject": subject,
        "body": body,
        "created_at": text(created),
        "in_reply_to": None if reply_to is None else core.ids.text("mail", reply_to),
        "auto_submitted": auto,
        "permission_mode": asked_mode(mode, cap),
        "trust": trust,
        "workspace": workspace,
        "attachments": [] if files is None else msgspec.json.decode(files),
    }


def _turn(core: Core, row: Row) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.to_builtins(shown_turn(core, row_of(row)))
    return shown


def _attachment(core: Core, row: Row) -> dict[str, Any]:
    number, owner, name, kind, size, sha256, created = row
    return {
        "id": core.ids.text("att", number),
        "owner": _name(core, owner),
        "name": name,
        "media_type": kind,
        "size": size,
        "sha256": sha256.hex(),
        "created_at": text(created),
    }


def _permission(core: Core, row: Row) -> dict[str, Any]:
    number, turn, agent, tier, created, decision, decided, decided_by, tool, summary = row
    return {
        "id": core.ids.text("perm", number),
        "turn_id": core.ids.text("turn", turn),
        "agent": _name(core, agent),
        "tier": tier,
        "tool": tool,
        "summary": summary,
        "created_at": text(created),
        "decision": decision,
        "decided_at": text(decided),
        "decided_by": None if decided_by is None else _name(core, decided_by),
    }


def _audit(core: Core, row: Row) -> dict[str, Any]:
    number, at, actor, action, target, detail = row
    entry = wire.AuditEntry(core.ids.text("aud", number), text(at), actor, action, target, detail)
    shown: dict[str, Any] = msgspec.to_builtins(entry)
    return shown


_PARTS: Final[tuple[tuple[str, str, Show], ...]] = (
    (
        "account",
        "SELECT id, name, kind, display, admin, trust, max_mode, paused, disabled, created FROM accounts "
        "WHERE id > ? AND kind != 'system' ORDER BY id",
        _account,
    ),
    (
        "mail",
        "SELECT id, thread, sender, created, reply_to, auto, mode, cap, workspace, trust, to_ids, cc_ids, attachments, "
        "subject, body FROM mails WHERE id > ? ORDER BY id",
        _mail,
    ),
    (
        "turn",
        f"SELECT {TURN_COLUMNS} FROM turns t JOIN mails m ON m.id = t.mail WHERE t.id > ? ORDER BY t.id",  # noqa: S608
        _turn,
    ),
    (
        "attachment",
        "SELECT id, owner, name, type, size, sha256, created FROM attachments WHERE id > ? ORDER BY id",
        _attachment,
    ),
    (
        "permission",
        "SELECT id, turn, agent, tier, created, decision, decided, decided_by, tool, summary FROM permissions "
        "WHERE id > ? ORDER BY id",
        _permission,
    ),
    ("audit", "SELECT id, at, actor, action, target, detail FROM audit WHERE id > ? ORDER BY id", _audit),
)
