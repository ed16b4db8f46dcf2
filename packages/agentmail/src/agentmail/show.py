"""Mail, threads, turns and agents as text for a terminal. Pure: values in, lines out."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from .terminal import Column, Screen, safe, safe_block, table
from .times import span, when
from .vendor.wire import AddressRef, Agent, Mail, Receipt, Thread, ThreadSummary, Turn, TurnState

__all__ = [
    "address",
    "agent_table",
    "mail_table",
    "mail_text",
    "outcome_line",
    "receipt_line",
    "state_style",
    "thread_table",
    "thread_text",
    "turn_table",
    "turn_text",
]


def address(ref: AddressRef) -> str:
    """A name, with its display name where that says more: ``Ada <ada>``."""
    return f"{safe(ref.display)} <{safe(ref.name)}>" if ref.display and ref.display != ref.name else safe(ref.name)


def _addresses(refs: Iterable[AddressRef]) -> str:
    return ", ".join(address(ref) for ref in refs)


def state_style(state: TurnState) -> str:
    """The colour of a turn's state."""
    match state:
        case "answered" | "answered_by_agent" | "no_reply":
            return "green"
        case "failed" | "dead":
            return "red"
        case "cancelled":
            return "yellow"
        case "queued" | "leased" | "running":
            return "cyan"


def mail_table(mails: Sequence[Mail], now: datetime, screen: Screen) -> list[str]:
    """One line per mail; ``*`` marks what is unread, ``+`` what has attachments."""
    columns = [
        Column("", style=lambda text: screen.paint(text, "bold")),
        Column("MAIL", style=lambda text: screen.paint(text, "dim")),
        Column("WHEN"),
        Column("FROM"),
        Column("SUBJECT", flexible=True),
    ]
    rows = [
        [
            ("*" if mail.unread else "") + ("+" if mail.attachments else ""),
            mail.id,
            when(mail.created_at, now),
            mail.from_.name,
            mail.subject or f"({first_words(mail.body)})",
        ]
        for mail in mails
    ]
    return table(columns, rows, screen.columns)


def first_words(body: str) -> str:
    """The start of `body` as one line."""
    return " ".join(body[:200].split())[:60]


def receipt_line(receipt: Receipt, screen: Screen) -> str:
    """What became of a mail at one agent."""
    parts = [screen.paint(receipt.state, state_style(receipt.state))]
    if receipt.attempt > 1:
        parts.append(f"attempt {receipt.attempt}")
    if took := span(receipt.started_at, receipt.finished_at):
        parts.append(took)
    line = f"{safe(receipt.to)}: {', '.join(parts)}  {screen.paint(receipt.turn_id, 'dim')}"
    if receipt.failure:
        line += f"\n  {safe(receipt.failure.message)}"
        if receipt.failure.next_step:
            line += f"\n  {safe(receipt.failure.next_step)}"
    return line


def _facts(facts: Iterable[tuple[str, str]], columns: int, screen: Screen) -> list[str]:
    return [screen.paint(f"{name}:".ljust(columns), "dim") + value for name, value in facts if value]


def mail_text(mail: Mail, now: datetime, screen: Screen) -> list[str]:
    """A whole mail: head, text, attachments, what became of it."""
    head = [
        ("Mail", mail.id),
        ("From", address(mail.from_) + (f"  ({mail.auto_submitted})" if mail.auto_submitted != "no" else "")),
        ("To", _addresses(mail.to)),
        ("Cc", _addresses(mail.cc)),
        ("Date", when(mail.created_at, now)),
        ("Subject", safe(mail.subject)),
        ("Thread", mail.thread_id),
    ]
    if any(ref.kind == "agent" for ref in mail.to):
        head.append(("Mode", mail.permission_mode + (f" in {safe(mail.workspace)}" if mail.workspace else "")))
    lines = _facts(head, 9, screen)
    lines += ["", safe_block(mail.body.rstrip("\n"))]
    if mail.attachments:
        lines += ["", *(f"+ {safe(a.name)}  {size(a.size)}  {safe(a.type)}  {a.id}" for a in mail.attachments)]
    if mail.receipts:
        lines += ["", *(receipt_line(receipt, screen) for receipt in mail.receipts)]
    return lines


def size(count: int) -> str:
    """A number of bytes: ``512 B``, ``1.2 KiB``, ``3.4 MiB``."""
    if count < 1024:
        return f"{count} B"
    return f"{count / 1024:.1f} KiB" if count < 1024 * 1024 else f"{count / 1024 / 1024:.1f} MiB"


def thread_text(thread: Thread, now: datetime, screen: Screen) -> list[str]:
    """All mails of a thread, oldest first, and the turns that are not done."""
    lines = [screen.paint(safe(thread.subject) or "(no subject)", "bold")]
    for mail in thread.mails:
        mark = " *" if mail.unread else ""
        to = _addresses(mail.to)
        lines += ["", f"{screen.paint(f'── {address(mail.from_)} → {to}', 'bold')}  {when(mail.created_at, now)}  "
                  f"{screen.paint(mail.id, 'dim')}{mark}"]  # fmt: skip
        lines += [safe_block(mail.body.rstrip("\n"))]
        lines += [f"+ {safe(a.name)}  {size(a.size)}" for a in mail.attachments]
    waiting = [turn for turn in thread.turns if turn.state in {"queued", "leased", "running", "dead"}]
    if waiting:
        lines += ["", *(outcome_line(turn, screen) for turn in waiting)]
    return lines


def thread_table(threads: Sequence[ThreadSummary], now: datetime, screen: Screen) -> list[str]:
    """One line per thread."""
    columns = [
        Column("THREAD", style=lambda text: screen.paint(text, "dim")),
        Column("WHEN"),
        Column("MAILS"),
        Column("UNREAD"),
        Column("WHO", flexible=True),
        Column("SUBJECT", flexible=True),
    ]
    rows = [
        [t.id, when(t.last_mail_at, now), str(t.mails), str(t.unread or ""), ", ".join(t.participants), t.subject]
        for t in threads
    ]
    return table(columns, rows, screen.columns)


def turn_table(turns: Sequence[Turn], now: datetime, screen: Screen) -> list[str]:
    """One line per turn."""
    columns = [
        Column("TURN", style=lambda text: screen.paint(text, "dim")),
        Column("WHEN"),
        Column("AGENT"),
        Column("STATE"),
        Column("TIER"),
        Column("TOOK"),
        Column("SUBJECT", flexible=True),
    ]
    rows = [
        [
            turn.id,
            when(turn.created_at, now),
            turn.agent,
            turn.state + (" (cancelling)" if turn.cancel_requested and turn.finished_at is None else ""),
            turn.effective_mode,
            span(turn.started_at, turn.finished_at),
            turn.subject,
        ]
        for turn in turns
    ]
    return table(columns, rows, screen.columns)


def outcome_line(turn: Turn, screen: Screen) -> str:
    """How a turn stands or ended, on one line, with its cause."""
    line = f"{safe(turn.agent)}: {screen.paint(turn.state, state_style(turn.state))}"
    if took := span(turn.started_at, turn.finished_at):
        line += f" ({took})"
    if turn.failure:
        line += f": {safe(turn.failure.message)}"
        if turn.failure.next_step:
            line += f" {safe(turn.failure.next_step)}"
    elif turn.reason:
        line += f": {safe(turn.reason)}"
    return line


def turn_text(turn: Turn, now: datetime, screen: Screen) -> list[str]:
    """Everything about one turn."""
    facts = [
        ("Turn", turn.id),
        ("Agent", safe(turn.agent)),
        ("State", screen.paint(turn.state, state_style(turn.state))),
        ("Mail", turn.mail_id),
        ("Thread", turn.thread_id),
        ("From", safe(turn.sender)),
        ("Subject", safe(turn.subject)),
        ("Tier", turn.effective_mode + (f" in {safe(turn.workspace)}" if turn.workspace else "")),
        ("Attempt", str(turn.attempt)),
        ("Queued", when(turn.created_at, now)),
        ("Not before", when(turn.not_before, now) if turn.state == "queued" else ""),
        ("Started", when(turn.started_at, now)),
        ("Finished", when(turn.finished_at, now)),
        ("Answer", turn.reply_id or ""),
        ("Cause", safe(turn.failure.message) if turn.failure else safe(turn.reason or "")),
        ("Next step", safe(turn.failure.next_step) if turn.failure else ""),
    ]
    return _facts(facts, 12, screen)


def agent_state(agent: Agent) -> str:
    """How an agent stands, for the directory."""
    if agent.disabled:
        return "removed"
    if not agent.online:
        return "offline"
    if agent.paused:
        return "paused"
    return "ready" if agent.ready else "not ready"


def agent_table(agents: Sequence[Agent], now: datetime, screen: Screen) -> list[str]:
    """One line per agent: can it work, under which tiers and what enforces them, what it lacks."""
    columns = [
        Column("AGENT"),
        Column("STATE"),
        Column("BUSY"),
        Column("QUEUE"),
        Column("TIERS", flexible=True),
        Column("VERSION", flexible=True),
        Column("SEEN"),
        Column("NOTE", flexible=True),
    ]
    rows = [
        [
            agent.name,
            agent_state(agent),
            str(agent.busy or ""),
            str(agent.queue or ""),
            _tiers(agent),
            agent.agent_version or "",
            when(agent.last_seen, now),
            "; ".join(agent.lacks),
        ]
        for agent in agents
    ]
    return table(columns, rows, screen.columns)


def _tiers(agent: Agent) -> str:
    order = ("plan", "workspace", "full")
    allowed = order[: order.index(agent.max_mode) + 1]
    levels = {tier: agent.mode_enforcement[tier].level for tier in allowed if tier in agent.mode_enforcement}
    return " ".join(f"{tier}:{levels[tier]}" if tier in levels else tier for tier in allowed)
