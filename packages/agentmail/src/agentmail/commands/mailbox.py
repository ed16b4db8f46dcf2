"""`inbox`, `read`, `thread` and `search`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import LocalError
from ..options import Common, common

if TYPE_CHECKING:
    from ..vendor.gateway_client import GatewayClient
    from ..vendor.wire import Attachment, Mail, Page, Thread, ThreadSummary

__all__ = ["inbox", "read", "search", "thread"]

_LIMIT = click.IntRange(min=1, max=100_000)


@click.command(short_help="List the mail that came for you.")
@click.option("--unread", is_flag=True, help="Only what is not read yet.")
@click.option("--from", "sender", metavar="NAME", help="Only mail of this sender.")
@click.option("--sent", is_flag=True, help="What you sent instead.")
@click.option("-n", "--limit", type=_LIMIT, default=50, show_default=True, help="How many, counted from the newest.")
@common
def inbox(options: Common, unread: bool, sender: str | None, sent: bool, limit: int) -> None:
    """List the mail that came for you, the newest last. Listing marks nothing read."""
    box = "sent" if sent else "inbox"

    async def work(client: "GatewayClient") -> "tuple[Mail, ...]":
        from ..listing import newest

        return await newest(
            lambda after: client.list_mails(
                box=box, unread=unread or None, sender=sender, order="newest", after=after, limit=min(limit, 200)
            ),
            limit,
        )

    mails = options.talk(work)

    def text() -> str:
        from ..show import mail_table

        if not mails:
            return "no mail" if not (unread or sender) else "no such mail"
        return "\n".join(mail_table(mails, options.now, options.screen))

    options.show({"items": mails}, text)


@click.command(short_help="Show a mail and mark it read.")
@click.argument("mail", metavar="MAIL")
@click.option("--keep-unread", is_flag=True, help="Don't mark it read.")
@click.option(
    "--save",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Save its attachments in this folder.",
)
@common
def read(options: Common, mail: str, keep_unread: bool, save: Path | None) -> None:
    """Show a mail, with its attachments and what became of it, and mark it read."""

    async def work(client: "GatewayClient") -> "tuple[Mail, list[Path]]":
        from ..ids import full_id

        found = await client.get_mail(await full_id(client, mail, "mail"))
        saved = await _save(client, found.attachments, save) if save else []
        if found.unread and not keep_unread:
            await client.set_read(found.id, True)
        return found, saved

    found, saved = options.talk(work)

    def text() -> str:
        from ..show import mail_text
        from ..terminal import safe

        return "\n".join(
            [*mail_text(found, options.now, options.screen), *(f"saved {safe(str(path))}" for path in saved)]
        )

    options.show(found, text)


async def _save(client: "GatewayClient", attachments: "tuple[Attachment, ...]", folder: Path) -> list[Path]:
    from ..vendor.attachment_ids import distinct_names

    names = distinct_names([attachment.name for attachment in attachments])
    paths = [folder / name for name in names]
    for path in paths:
        if path.exists() or path.is_symlink():
            raise LocalError(f"{path} is there already", "Name another folder, or move the file away")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for attachment, path in zip(attachments, paths, strict=True):
            await client.get_attachment(attachment.id, path, size=attachment.size)
    except OSError as error:
        raise LocalError(f"can't save in {folder}: {error.strerror or error}") from error
    return paths


@click.command(short_help="Show a whole thread, or list the threads.")
@click.argument("thread", required=False, metavar="[THREAD]")
@click.option("-n", "--limit", type=_LIMIT, default=30, show_default=True, help="How many threads to list.")
@common
def thread(options: Common, thread: str | None, limit: int) -> None:
    """Show a whole thread, oldest mail first; THREAD may be the id of one of its mails.

    Without THREAD: list the threads, newest activity first. Neither marks anything read.
    """
    if thread is None:
        _threads(options, limit)
        return

    async def work(client: "GatewayClient") -> "Thread":
        from ..ids import full_id

        assert thread is not None
        if thread.startswith("mail_"):
            found = await client.get_mail(await full_id(client, thread, "mail"))
            return await client.get_thread(found.thread_id)
        return await client.get_thread(await full_id(client, thread, "thr"))

    whole = options.talk(work)

    def text() -> str:
        from ..show import thread_text

        return "\n".join(thread_text(whole, options.now, options.screen))

    options.show(whole, text)


def _threads(options: Common, limit: int) -> None:
    async def work(client: "GatewayClient") -> "list[ThreadSummary]":
        from ..vendor.gateway_client import every

        found: list[ThreadSummary] = []
        async for summary in every(lambda after: client.list_threads(after=after, limit=min(limit, 200))):
            found.append(summary)
            if len(found) == limit:
                break
        return found

    threads = options.talk(work)

    def text() -> str:
        from ..show import thread_table

        return "\n".join(thread_table(threads, options.now, options.screen)) if threads else "no mail"

    options.show({"items": threads}, text)


@click.command(short_help="Find mail by its words.")
@click.argument("words", nargs=-1, required=True, metavar="WORDS...")
@click.option("-n", "--limit", type=click.IntRange(1, 200), default=50, show_default=True, help="How many at most.")
@common
def search(options: Common, words: tuple[str, ...], limit: int) -> None:
    """Find mail that holds all the words, in any language, in subject or text."""

    async def work(client: "GatewayClient") -> "Page[Mail]":
        return await client.search(" ".join(words), limit=limit)

    page = options.talk(work)

    def text() -> str:
        from ..show import mail_table

        if not page.items:
            return "nothing found"
        more = ["(there is more: -n, or more words)"] if page.next else []
        return "\n".join([*mail_table(page.items, options.now, options.screen), *more])

    options.show(page, text)
