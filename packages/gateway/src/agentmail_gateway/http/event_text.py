"""Events as the bytes of an event stream (WHATWG HTML, section "Server-sent events"). Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

__all__ = ["Frame", "comment", "frame", "reset"]

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Frame:
    """One event ready to be written; every subscriber shares the same bytes.

    `id` is 0 for what is not stored. `turn_id` is set when writing it to an agent means that a turn was pushed.
    """

    data: bytes
    id: int = 0
    turn_id: str | None = None


def frame(event_id: int, kind: str, data: Mapping[str, object]) -> Frame:
    """Encode one event; `event_id` 0 means that it is not stored and so carries no ``id:``."""
    head = f"id: {event_id}\nevent: {kind}\ndata: " if event_id else f"event: {kind}\ndata: "
    turn_id = data.get("turn_id") if kind == "new_mail" else None
    # JSON text holds no raw line break, so one data line is enough.
    text = head.encode() + _encode(data) + b"\n\n"
    return Frame(text, event_id, turn_id if isinstance(turn_id, str) else None)


def comment(text: str, cursor: int) -> bytes:
    """A comment, followed by the cursor up to which everything was sent.

    A block without data sets the client's last event id and dispatches nothing: an idle client's cursor stays young
    enough to be resumed from.
    """
    return f": {text}\nid: {cursor}\n\n".encode()


def reset(reason: str, cursor: int) -> bytes:
    """The event that tells a client to catch up from the inbox, and to resume from `cursor` afterwards."""
    return f"id: {cursor}\nevent: reset\ndata: ".encode() + _encode({"reason": reason}) + b"\n\n"
