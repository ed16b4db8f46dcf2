"""Mail, threads and search."""

from ..vendor.wire import Mail, Page, SendMail, Thread, ThreadSummary
from .exchange import Reply
from .queries import MailQuery, PageQuery, SearchQuery
from .route import ANYBODY, Call, route

__all__ = ["ROUTES"]

API = "/api/v1"


async def send_mail(call: Call, body: SendMail, key: str | None) -> Reply[Mail]:
    """Send a mail; the same Idempotency-Key with the same body gives the same mail again, with status 200."""
    mail, created = await call.services.gateway.send_mail(call.who, body, key)
    if not created:
        return Reply(mail, 200)
    return Reply(mail, 201, ((b"location", f"{API}/mails/{mail.id}".encode()),))


async def list_mails(call: Call, query: MailQuery) -> Page[Mail]:
    """List mails, oldest first unless told. Listing marks nothing read."""
    return await call.services.gateway.list_mails(
        call.who,
        box=query.box,
        unread=query.unread,
        sender=query.from_,
        thread=query.thread,
        order=query.order,
        after=query.after,
        limit=query.limit,
    )


async def get_mail(call: Call, mail_id: str) -> Mail:
    """One mail with its receipts. Reading it here does not mark it read."""
    return await call.services.gateway.get_mail(call.who, mail_id)


async def mark_read(call: Call, mail_id: str) -> None:
    """Mark a mail read; again does nothing."""
    await call.services.gateway.set_read(call.who, mail_id, True)


async def mark_unread(call: Call, mail_id: str) -> None:
    """Mark a mail unread; again does nothing."""
    await call.services.gateway.set_read(call.who, mail_id, False)


async def list_threads(call: Call, query: PageQuery) -> Page[ThreadSummary]:
    """List threads, newest activity first."""
    return await call.services.gateway.list_threads(call.who, after=query.after, limit=query.limit)


async def get_thread(call: Call, thread_id: str) -> Thread:
    """A thread with its mails and turns, oldest first."""
    return await call.services.gateway.get_thread(call.who, thread_id)


async def search(call: Call, query: SearchQuery) -> Page[Mail]:
    """Full-text search over what the caller may see."""
    return await call.services.gateway.search(call.who, q=query.q, after=query.after, limit=query.limit)


ROUTES = (
    route(
        "POST",
        f"{API}/mails",
        send_mail,
        who=ANYBODY,
        status=201,
        also=(200,),
        problems=(
            "cool_down",
            "hop_limit",
            "idempotency_mismatch",
            "not_found",
            "queue_full",
            "quota_mails",
            "too_large",
            "unknown_recipient",
        ),
    ),
    route("GET", f"{API}/mails", list_mails, who=ANYBODY),
    route("GET", f"{API}/mails/{{mail_id}}", get_mail, who=ANYBODY, problems=("not_found",)),
    route("PUT", f"{API}/mails/{{mail_id}}/read", mark_read, who=ANYBODY, problems=("not_found",)),
    route("DELETE", f"{API}/mails/{{mail_id}}/read", mark_unread, who=ANYBODY, problems=("not_found",)),
    route("GET", f"{API}/threads", list_threads, who=ANYBODY),
    route("GET", f"{API}/threads/{{thread_id}}", get_thread, who=ANYBODY, problems=("not_found",)),
    route("GET", f"{API}/search", search, who=ANYBODY),
)
