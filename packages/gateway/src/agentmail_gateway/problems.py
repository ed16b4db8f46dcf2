"""What the gateway refuses, as a closed table of stable codes (RFC 9457 problem documents).

Every refusal of the core is a `Problem`; nothing else is raised for what a caller did or for what the machine lacks.
"""

from typing import Final

__all__ = ["CODES", "Problem", "invalid", "not_found"]

CODES: Final[dict[str, tuple[int, str]]] = {
    "unauthorized": (401, "Not signed in"),
    "forbidden": (403, "Not allowed"),
    "foreign_host": (403, "Foreign host"),
    "foreign_origin": (403, "Foreign origin"),
    "not_found": (404, "Not found"),
    "conflict": (409, "Conflict"),
    "idempotency_mismatch": (409, "Idempotency key was used for another request"),
    "lease_stale": (409, "Lease is stale"),
    "not_claimable": (409, "Turn can't be claimed"),
    "turn_final": (409, "Turn has ended"),
    "too_large": (413, "Too large"),
    "unsupported_media_type": (415, "Unsupported media type"),
    "invalid": (422, "Invalid request"),
    "unknown_recipient": (422, "Unknown recipient"),
    "cool_down": (429, "Cool-down between two agents"),
    "hop_limit": (429, "Too many hops without a person"),
    "queue_full": (429, "The agent's queue is full"),
    "quota_mails": (429, "Too many mails in this hour"),
    "rate_limited": (429, "Too many requests"),
    "internal": (500, "Internal error"),
    "unavailable": (503, "The store can't be used now"),
}


class Problem(Exception):  # noqa: N818 - the name of RFC 9457
    """A refusal with its HTTP `status`, stable `code`, `title`, and a `detail` that says what happened and what to do.

    `code` is a key of `CODES`. `retry_after_s` says, in seconds, when trying again makes sense; None when waiting does
    not help.
    """

    def __init__(self, code: str, detail: str, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.status, self.title = CODES[code]
        self.code = code
        self.detail = detail
        self.retry_after_s = retry_after_s

    def __repr__(self) -> str:
        return f"Problem({self.code!r}, {self.detail!r}, {self.retry_after_s!r})"


def not_found(what: str) -> Problem:
    """The refusal for what is not there or belongs to somebody else: the two are never told apart."""
    return Problem("not_found", f"There is no {what} of this id that you may see.")


def invalid(detail: str) -> Problem:
    """The refusal for a request whose content can't be taken."""
    return Problem("invalid", detail)
