"""From the words of a command line to a mail. Pure."""

import re
from collections.abc import Sequence

from .errors import UsageError
from .vendor.wire import Mail

__all__ = ["reply_recipients", "reply_subject", "split_arguments", "wait_option"]

STDIN = "-"


def split_arguments(arguments: Sequence[str]) -> tuple[tuple[str, ...], str | None]:
    """`TO… [BODY]` as (recipients, body): the last of several arguments is the body, a single one is a recipient.

    A recipient argument may hold several, separated by commas. Body None means that it comes from standard input, as
    does the body ``-``. Raises `UsageError` when there is no recipient.
    """
    named, body = (arguments[:-1], arguments[-1]) if len(arguments) > 1 else (arguments, None)
    recipients = tuple(part.strip() for argument in named for part in argument.split(",") if part.strip())
    if not recipients:
        raise UsageError("a mail needs a recipient", 'An example: agentmail send echo "Hello"')
    return recipients, None if body == STDIN else body


def reply_subject(subject: str) -> str:
    """``Re: `` and `subject`, unless it starts so already."""
    return subject if re.match(r"re\s*:", subject, re.IGNORECASE) else f"Re: {subject}".rstrip()


def reply_recipients(mail: Mail, me: str, *, everybody: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(to, cc) of an answer to `mail` by `me`: its sender, or its recipients when `me` wrote it.

    With `everybody` the others who got it are added: `to` stays, `cc` stays. Raises `UsageError` for a notice of the
    system.
    """
    if mail.from_.kind == "system":
        raise UsageError(
            f"{mail.id} is a notice of the mail system, nobody reads an answer", "Write to the agent: agentmail send"
        )
    others = [ref.name for ref in mail.to if ref.name != me]
    to = others if mail.from_.name == me else [mail.from_.name]
    if everybody:
        to = list(dict.fromkeys([*to, *others]))
    cc = [ref.name for ref in mail.cc if ref.name != me and ref.name not in to] if everybody else []
    return tuple(to or [me]), tuple(cc)


def wait_option(arguments: Sequence[str]) -> list[str]:
    """`arguments` with each ``--wait`` made explicit: ``--wait=N`` if a number follows, else ``--wait=0`` (no limit).

    So ``--wait "text"`` never takes the text of the mail for a time.
    """
    out: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*out, word, *rest]
        if word == "--wait":
            number = bool(rest) and re.fullmatch(r"\d+(\.\d+)?s?", rest[0]) is not None
            word = f"--wait={rest.pop(0).rstrip('s') if number else 0}"
        out.append(word)
    return out
