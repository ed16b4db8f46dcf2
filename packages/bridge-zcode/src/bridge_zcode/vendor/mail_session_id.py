"""The session id of (thread, agent, workspace), its tie to the agent's own session, and when that may be resumed.

Pure; `session_tie` keeps the tie on disk.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Resume", "Tie", "resume", "session_id"]


@dataclass(frozen=True, slots=True)
class Tie:
    """Which native session of the agent belongs to an AgentMail session, and the real directory it was started in."""

    session_id: str
    native_id: str
    directory: str


@dataclass(frozen=True, slots=True)
class Resume:
    """What a turn does about an earlier session.

    `native_session_id` is the session to resume, or None for a fresh one. `context_lost` says that there was one which
    can't be resumed, and `reason` why, as half a sentence for the mail and the prompt.
    """

    native_session_id: str | None = None
    context_lost: bool = False
    reason: str = ""


def session_id(thread_id: str, agent: str, workspace: str) -> str:
    """``ses_`` and 32 hex digits, always the same for the same (thread, agent, workspace).

    The digits are a UUIDv8 (RFC 9562, section 5.8) made of a SHA-256, so that they don't tell what they were made of.
    """
    digest = hashlib.sha256(b"agentmail session 1")
    for part in (thread_id, agent, workspace):
        data = part.encode("utf-8", "surrogatepass")
        # With its length in front, no part can pass for the end of another.
        digest.update(len(data).to_bytes(8, "big") + data)
    octets = bytearray(digest.digest()[:16])
    octets[6] = octets[6] & 0x0F | 0x80
    octets[8] = octets[8] & 0x3F | 0x80
    return f"ses_{octets.hex()}"


def resume(native_id: str | None, tie: Tie | None, directory: Path) -> Resume:
    """Whether the agent's earlier session may be resumed in `directory` (the workspace's real path now).

    `native_id` is what the gateway remembers, `tie` what this bridge wrote down. The tie is the newer of the two: it is
    written when the agent starts, the gateway learns of it with the answer. A session goes on only in the directory it
    was started in: agents pin it there, or worse, go on in the old place (claude-code#62406). Without a tie nothing is
    known against it, and an agent that can't resume starts afresh by itself.
    """
    if tie is not None and tie.directory != str(directory):
        return Resume(None, context_lost=True, reason="the workspace is another directory than before")
    return Resume(tie.native_id if tie is not None else native_id)
