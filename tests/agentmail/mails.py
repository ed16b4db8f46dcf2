"""Mails, turns and agents for tests of what is shown."""

from datetime import UTC, datetime

import msgspec

from agentmail.vendor.wire import AddressRef, Agent, Attachment, Enforcement, Failure, Mail, Receipt, Turn

__all__ = ["HOSTILE", "NOW", "agent", "hostile_mail", "mail", "turn"]

NOW = datetime(2026, 11, 30, 15, 0, tzinfo=UTC)
HOSTILE = "\x1b]0;pwn\x07\x1b[2J\u202egnp.exe\x9b31m\r\x00\u2066x\x08"


def mail(**changes: object) -> Mail:
    """A mail of `ada` to `zcode`, answered, with `changes`."""
    plain = Mail(
        id="mail_" + "1" * 32,
        thread_id="thr_" + "2" * 32,
        from_=AddressRef("ada", "person", "Ada"),
        to=(AddressRef("zcode", "agent"),),
        cc=(),
        subject="Tests",
        body="Why?\n",
        created_at="2026-11-30T14:03:00.000Z",
        in_reply_to=None,
        auto_submitted="no",
        permission_mode="plan",
        workspace=None,
    )
    return msgspec.structs.replace(plain, **changes)


def turn(**changes: object) -> Turn:
    """A running turn of `zcode`, with `changes`."""
    plain = Turn(
        id="turn_" + "3" * 32,
        mail_id="mail_" + "1" * 32,
        thread_id="thr_" + "2" * 32,
        agent="zcode",
        state="running",
        attempt=1,
        lease=1,
        created_at="2026-11-30T14:03:00.000Z",
        started_at="2026-11-30T14:03:01.000Z",
        subject="Tests",
        sender="ada",
    )
    return msgspec.structs.replace(plain, **changes)


def agent(**changes: object) -> Agent:
    """A ready agent, with `changes`."""
    plain = Agent(
        name="zcode",
        kind="agent",
        online=True,
        last_seen="2026-11-30T14:59:59.000Z",
        agent_version="0.16.9",
        mode_enforcement={"plan": Enforcement("sandbox", "seen"), "workspace": Enforcement("native", "seen")},
    )
    return msgspec.structs.replace(plain, **changes)


def hostile_mail() -> Mail:
    """A mail whose every text tries to steer the terminal."""
    return mail(
        from_=AddressRef(HOSTILE, "person", HOSTILE),
        to=(AddressRef(HOSTILE, "agent", HOSTILE),),
        cc=(AddressRef(HOSTILE, "person", HOSTILE),),
        subject=HOSTILE,
        body=f"one\n{HOSTILE}\ntwo",
        workspace=HOSTILE,
        attachments=(Attachment("att_" + "4" * 32, HOSTILE, HOSTILE, 5),),
        receipts=(
            Receipt(
                to=HOSTILE,
                turn_id="turn_" + "3" * 32,
                state="failed",
                failure=Failure("crashed", HOSTILE, HOSTILE),
            ),
        ),
    )
