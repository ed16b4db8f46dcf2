"""The idempotency key of what a bridge sends about a turn: the same thing always has the same key.

The reply has ONE key per turn, whatever the attempt. The ledger takes one reply per turn, so this is what the key has
to say: an outcome that is sent again because its acknowledgement was lost (openclaw#29106), and one that a later
attempt made in the meantime, are both the reply of that turn, and the gateway answers either with the mail it stored.
`finish` and `release` are fenced by the lease and carry no key over the wire; theirs, with the lease in it, tells
entries of the spool apart.
"""

import hashlib
from typing import Literal

__all__ = ["Kind", "reply_key", "spool_key"]

Kind = Literal["reply", "finish", "release"]


def reply_key(turn_id: str) -> str:
    """The ``Idempotency-Key`` of the reply to `turn_id`: ``rk_`` and 40 hex digits."""
    return _key("reply", turn_id)


def spool_key(kind: Kind, turn_id: str, lease: int) -> str:
    """The key of one thing a bridge has to say; for a reply it is `reply_key`, whatever the lease."""
    return reply_key(turn_id) if kind == "reply" else _key(kind, turn_id, str(lease))


def _key(*parts: str) -> str:
    digest = hashlib.sha256(b"agentmail relay 1")
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return f"rk_{digest.hexdigest()[:40]}"
