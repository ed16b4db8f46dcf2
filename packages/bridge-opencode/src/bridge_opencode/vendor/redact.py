"""Taking secrets out of text that leaves the bridge (AgentChatBus#8, mcp-memory-service#1117).

Pure. What is recognised: this project's own keys, bearer tokens, keys of well-known providers, passwords in URLs, and
``NAME_KEY=value`` assignments. It is a net under care taken elsewhere, not a proof.
"""

import re
from collections.abc import Iterable

__all__ = ["redact"]

HIDDEN = "[hidden]"
_OWN = re.compile(r"\bam[apt]_[A-Za-z0-9_-]{6,}")
_BEARER = re.compile(r"(?i)\b(bearer|basic)(\s+)[A-Za-z0-9._~+/=-]{8,}")
_PROVIDER = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{8,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|xox[abposr]-[A-Za-z0-9-]{8,}"
    r"|AKIA[0-9A-Z]{16}|AIza[A-Za-z0-9_-]{30,}|eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)"
)
_URL = re.compile(r"(?i)\b([a-z][a-z0-9+.-]{1,20}://)[^\s/@:]{0,200}:[^\s/@]{1,200}@")
_ASSIGNED = re.compile(
    r"(?i)(\b[\w-]{0,40}(?:api[_-]?key|secret|password|passwd|access[_-]?token|auth[_-]?token|[_-]key|[_-]token)"
    r"[\"']?\s{0,3}[=:]\s{0,3}[\"']?)[^\s\"',;&]{4,}"
)
SHORTEST_KNOWN = 6


def redact(text: str, known: Iterable[str] = ()) -> str:
    """`text` with what looks like a secret, and every one of the `known` secrets, replaced by ``[hidden]``."""
    for secret in known:
        if len(secret) >= SHORTEST_KNOWN:
            text = text.replace(secret, HIDDEN)
    text = _OWN.sub(HIDDEN, text)
    text = _BEARER.sub(rf"\1\2{HIDDEN}", text)
    text = _PROVIDER.sub(HIDDEN, text)
    text = _URL.sub(rf"\1{HIDDEN}@", text)
    return _ASSIGNED.sub(rf"\1{HIDDEN}", text)
