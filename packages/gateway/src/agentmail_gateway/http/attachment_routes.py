"""Attachments: streamed in, streamed out, always as a download."""

import re
from urllib.parse import quote

from ..vendor.wire import Attachment
from .exchange import Reply, Send
from .queries import AttachmentQuery
from .route import ANYBODY, Call, route

__all__ = ["ROUTES", "disposition"]

API = "/api/v1"
MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,100}/[A-Za-z0-9!#$&^_.+-]{1,100}")
DEFAULT_TYPE = "application/octet-stream"
RANGE = re.compile(r"bytes=(\d{1,18})-(\d{0,18})")


async def put_attachment(call: Call, query: AttachmentQuery) -> Reply[Attachment]:
    """Store a file; the body is the file, `Content-Type` its media type."""
    gateway = call.services.gateway
    media_type = (call.request.header(b"content-type") or DEFAULT_TYPE).partition(";")[0].strip().lower()
    stored = await gateway.put_attachment(
        call.who,
        name=query.name,
        type=media_type if MEDIA_TYPE.fullmatch(media_type) else DEFAULT_TYPE,
        chunks=call.request.chunks(gateway.attachment_limit),
    )
    return Reply(stored, 201, ((b"location", f"{API}/attachments/{stored.id}".encode()),))


async def get_attachment(call: Call, attachment_id: str, send: Send) -> None:
    """The file, as a download."""
    # Imported here: a start without a download need not pay for it.
    from starlette.responses import FileResponse

    attachment, path = await call.services.gateway.get_attachment(call.who, attachment_id)
    scope = dict(call.request.scope)
    if not _satisfiable(call.request.header(b"range"), attachment.size):
        # RFC 9110 14.2: a range that can't be given may be ignored; the whole file is the answer then.
        scope["headers"] = [header for header in scope["headers"] if header[0] != b"range"]
    response = FileResponse(
        path,
        media_type=attachment.type,
        headers={
            "content-disposition": disposition(attachment.name),
            "cache-control": "private, no-cache",
            "content-security-policy": "sandbox; default-src 'none'",
        },
    )
    # FileResponse adds a charset to text types: what the sender said is kept as it is.
    response.headers["content-type"] = attachment.type
    await response(scope, call.request.receive, send)


def disposition(name: str) -> str:
    """`Content-Disposition` for a label of any characters (RFC 6266 with RFC 8187's encoding)."""
    plain = "".join(char if char.isascii() and char.isprintable() and char not in '"\\%;/' else "_" for char in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def _satisfiable(value: str | None, size: int) -> bool:
    match = RANGE.fullmatch(value or "")
    if match is None:
        return False
    start, end = int(match[1]), int(match[2]) if match[2] else size
    return start < size and start <= end


ROUTES = (
    route(
        "POST",
        f"{API}/attachments",
        put_attachment,
        who=ANYBODY,
        status=201,
        takes="*/*",
        problems=("forbidden", "too_large"),
    ),
    route(
        "GET",
        f"{API}/attachments/{{attachment_id}}",
        get_attachment,
        who=ANYBODY,
        gives="*/*",
        problems=("not_found",),
    ),
)
