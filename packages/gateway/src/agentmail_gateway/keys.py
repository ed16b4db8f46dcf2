"""Secrets that prove who is asking: made here, shown once, kept as SHA-256 only.

They are 32 random bytes, so a plain hash is as good as a slow one. The prefix tells a person (and a secret scanner)
what was found in a log or a repository.
"""

import hashlib
import hmac
import secrets
from typing import Literal

__all__ = ["Kind", "digest_of", "equal", "new_secret"]

Kind = Literal["amp", "ama", "amt", "ams", "amc"]


def new_secret(kind: Kind) -> str:
    """A new secret of a person (`amp_`), an agent (`ama_`), a turn (`amt_`), a session (`ams_`), or a code (`amc_`)."""
    return f"{kind}_{secrets.token_urlsafe(32)}"


def digest_of(secret: str) -> bytes:
    """What is stored of `secret`."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def equal(one: bytes, other: bytes) -> bool:
    """Whether two digests are the same, in a time that doesn't tell how much of them is."""
    return hmac.compare_digest(one, other)
