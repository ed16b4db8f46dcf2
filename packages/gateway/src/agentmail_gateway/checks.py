"""What the texts of a request may be. Each function gives the text back as it is stored, or raises Problem."""

from typing import Final

from .problems import Problem, invalid
from .vendor.bounded import clip
from .vendor.plain_text import one_line, printable
from .vendor.wire import Failure

__all__ = ["MAX_BODY", "clean_body", "clean_failure", "clean_key", "clean_native", "clean_subject", "clean_workspace"]

MAX_BODY: Final = 1024 * 1024
MAX_FAILURE: Final = 4_000
MAX_KEY: Final = 200
MAX_NATIVE: Final = 500
MAX_SUBJECT: Final = 500
MAX_WORKSPACE: Final = 500


def clean_subject(subject: str) -> str:
    """`subject` as one printable line. Raises ``invalid`` when it is too long."""
    if len(subject) > MAX_SUBJECT:
        raise invalid(f"The subject has {len(subject)} characters; at most {MAX_SUBJECT} are taken.")
    return subject if subject.isprintable() else one_line(subject, MAX_SUBJECT)


def clean_body(body: str) -> str:
    """`body`, unless it is too large (``too_large``) or holds half characters (``invalid``)."""
    size = len(body)
    if not body.isascii():
        try:
            size = len(body.encode())
        except UnicodeEncodeError:
            raise invalid("The body holds half of a surrogate pair, which is no text in UTF-8.") from None
    if size > MAX_BODY:
        raise Problem("too_large", f"The body has {size} bytes; at most {MAX_BODY} are taken. Attach it as a file.")
    return body


def clean_workspace(workspace: str | None) -> str | None:
    """A workspace's name, or none. Raises ``invalid``; whether there is one of that name only the bridge knows."""
    if workspace is not None and (len(workspace) > MAX_WORKSPACE or not workspace.isprintable()):
        raise invalid(f"`workspace` is one printable line of at most {MAX_WORKSPACE} characters.")
    return workspace or None


def clean_failure(failure: Failure | None) -> Failure | None:
    """A failure with texts of a bounded length: each list of mails and turns holds them."""
    if failure is None:
        return None
    message, next_step = (printable(clip(text, MAX_FAILURE)) for text in (failure.message, failure.next_step))
    return Failure(failure.class_, message, next_step)


def clean_native(native_session_id: str | None) -> str | None:
    """What an agent calls its session, or none. Raises ``invalid``."""
    if native_session_id is not None and (len(native_session_id) > MAX_NATIVE or not native_session_id.isprintable()):
        raise invalid(f"`native_session_id` is one printable line of at most {MAX_NATIVE} characters.")
    return native_session_id or None


def clean_key(key: str) -> str:
    """An idempotency key. Raises ``invalid``."""
    if not key or len(key) > MAX_KEY or not key.isprintable():
        raise invalid(f"Idempotency-Key is 1 to {MAX_KEY} printable characters.")
    return key
