"""The parameters that routes take in their address, and the bodies that belong to HTTP alone."""

from collections.abc import Callable
from typing import Annotated, Literal, TypeVar, get_args

from msgspec import Meta, Struct, field

from ..problems import Problem
from ..vendor.wire import ListOrder, Page, TurnState

__all__ = [
    "AttachmentQuery",
    "LeaseBody",
    "MailQuery",
    "PageQuery",
    "PermissionQuery",
    "PersonPatch",
    "SearchQuery",
    "SignIn",
    "SignedIn",
    "Status",
    "TurnQuery",
    "page_of",
    "turn_states",
]

T = TypeVar("T")
STATES: frozenset[str] = frozenset(get_args(TurnState))


class PageQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`after` is the `next` of the page before; `limit` the most items to give."""

    after: str | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class MailQuery(PageQuery, frozen=True):
    """Which mails: of a box, read or not, from a sender, of a thread; in which `order`."""

    box: Literal["inbox", "sent", "all"] = "inbox"
    unread: bool | None = None
    from_: str | None = field(name="from", default=None)
    thread: str | None = None
    order: ListOrder = "oldest"


class SearchQuery(PageQuery, frozen=True, kw_only=True):
    """`q` is what to look for."""

    q: Annotated[str, Meta(min_length=1, max_length=1000)]


class TurnQuery(PageQuery, frozen=True):
    """`state` is one state, or several with commas between them; `order` is that of the list."""

    state: str | None = None
    order: ListOrder = "oldest"


class PermissionQuery(PageQuery, frozen=True):
    state: Literal["open", "decided"] | None = None


class AttachmentQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`name` is the label that the attachment is offered under."""

    name: Annotated[str, Meta(min_length=1, max_length=1000)]


class LeaseBody(Struct, frozen=True):
    """Body of ``POST /turns/{id}/renew``."""

    lease: int


class SignIn(Struct, frozen=True, forbid_unknown_fields=True):
    """Body of ``POST /sign-in``: a code that was made for this."""

    code: Annotated[str, Meta(max_length=200)]

    def __repr__(self) -> str:
        return "SignIn(code=hidden)"


class SignedIn(Struct, frozen=True):
    """Answer of ``POST /sign-in``; `csrf` goes into the header X-CSRF-Token of every change."""

    name: str
    csrf: str


class PersonPatch(Struct, frozen=True, forbid_unknown_fields=True):
    """Body of ``PATCH /admin/people/{name}``; what is absent or null stays as it is."""

    display: str | None = None
    admin: bool | None = None
    disabled: bool | None = None


class Status(Struct, frozen=True):
    """Answer of the health probes."""

    status: Literal["ok"] = "ok"


def turn_states(text: str | None) -> tuple[str, ...]:
    """The states in a ``state=`` parameter. Raises Problem ``invalid`` naming one that doesn't exist."""
    states = tuple(part.strip() for part in (text or "").split(",") if part.strip())
    for state in states:
        if state not in STATES:
            raise Problem("invalid", f"There is no turn state {state!r}; there are {', '.join(sorted(STATES))}.")
    return states


def page_of(items: tuple[T, ...], query: PageQuery, name: Callable[[T], str]) -> Page[T]:
    """One page of a short list that is at hand whole; the cursor is the last item's name."""
    start = 0
    if query.after is not None:
        names = [name(item) for item in items]
        start = names.index(query.after) + 1 if query.after in names else len(items)
    end = start + query.limit
    return Page(items[start:end], name(items[end - 1]) if end < len(items) else None)
