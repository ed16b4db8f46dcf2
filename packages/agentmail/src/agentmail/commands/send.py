"""`send` and `reply`."""

import mimetypes
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..compose import reply_recipients, reply_subject, split_arguments, wait_option
from ..errors import Exit, LocalError, NotFinishedError, StoppedError, UsageError
from ..options import TIERS, Common, common

if TYPE_CHECKING:
    from ..outcome import Answers
    from ..vendor.gateway_client import GatewayClient
    from ..vendor.wire import SendMail

__all__ = ["reply", "send"]


class _WaitCommand(click.Command):
    """A command whose ``--wait`` takes a number of seconds or nothing."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, wait_option(args))


def _mail_options(command: Any) -> Any:
    options = (
        click.option(
            "--wait", type=click.FloatRange(min=0), metavar="[SECONDS]", help="Wait for the answers and show them."
        ),
        click.option(
            "--attach",
            "files",
            multiple=True,
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Attach a file; may be repeated.",
        ),
        click.option(
            "--mode",
            type=TIERS,
            help="What the agent may do: plan reads only (default), workspace edits there, full everything.",
        ),
        click.option(
            "--workspace", metavar="NAME", help="Where the agent works: one of its workspaces, or NAME/sub/folder."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _body(given: str | None, *, empty_is_fine: bool) -> str:
    if given is not None:
        return given
    if sys.stdin is None:
        return ""
    if sys.stdin.isatty():
        click.echo("Write the mail; Ctrl-D on a line of its own sends it, Ctrl-C drops it.", err=True)
    try:
        text = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError("the text on standard input is not UTF-8", "Send such a file with --attach") from error
    if not text.strip() and not empty_is_fine:
        raise UsageError("the mail has no text", 'Give it as the last argument: agentmail send echo "Hello"')
    return text


def _check(files: Sequence[Path]) -> None:
    for file in files:
        if not file.is_file():
            raise LocalError(f"can't attach {file}: " + ("it is a folder" if file.is_dir() else "no such file"))


async def _upload(client: "GatewayClient", files: Sequence[Path]) -> tuple[str, ...]:
    ids = []
    for file in files:
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        try:
            ids.append((await client.put_attachment(file.name, kind, file)).id)
        except OSError as error:
            raise LocalError(f"can't read {file}: {error.strerror or error}") from error
    return tuple(ids)


def _deliver(options: Common, make: Any, files: Sequence[Path], wait: float | None) -> None:
    """Send what `make(client, attachment ids)` gives, wait if asked, print, and exit by the outcome."""
    from ..outcome import Answers, answers_to, exit_for
    from ..progress import Quiet, TerminalProgress
    from ..show import mail_text, outcome_line
    from ..terminal import Screen
    from ..waiting import Follower

    _check(files)
    sending, sent = False, list[str]()
    error_screen = Screen.of(sys.stderr, options.environ)
    shower = TerminalProgress(sys.stderr, error_screen) if sys.stderr.isatty() and wait is not None else Quiet()

    async def work(client: "GatewayClient") -> "Answers":
        nonlocal sending
        ids = await _upload(client, files)
        body: SendMail = await make(client, ids)
        sending = True
        if wait is None:
            return Answers(await client.send_mail(body), (), ())
        async with Follower(client, shower) as follower:
            mail = await client.send_mail(body)
            turn_ids = [receipt.turn_id for receipt in mail.receipts]
            sent.extend([mail.id, *turn_ids])
            turns = await follower.until_done(turn_ids, wait or None)
            return await answers_to(client, mail.id, turns)

    try:
        answers = options.talk(work)
    except KeyboardInterrupt:
        if not sending:
            raise
        raise _left_alone(sent) from None
    finally:
        shower.close()

    def text() -> str:
        screen = options.screen
        if wait is None:
            return answers.mail.id
        lines = []
        for reply in answers.replies:
            lines += [*mail_text(reply, options.now, screen), ""]
        answered = {reply.from_.name for reply in answers.replies}
        lines += [outcome_line(turn, screen) for turn in answers.turns if turn.agent not in answered]
        if not answers.turns:
            lines.append(f"{answers.mail.id}: no agent has to answer this mail")
        return "\n".join(lines).rstrip("\n")

    options.show({"mail": answers.mail, "turns": answers.turns, "replies": answers.replies}, text)
    code = exit_for(answers.turns)
    if code is Exit.TIMED_OUT:
        open_turns = [turn.id for turn in answers.turns if turn.finished_at is None]
        raise NotFinishedError(
            f"no answer within {wait:g} s, the turn goes on", f"Follow it: agentmail watch {open_turns[0]}"
        )
    if code:
        raise click.exceptions.Exit(code)


def _left_alone(sent: Sequence[str]) -> StoppedError:
    if not sent:
        return StoppedError("stopped while the mail was on its way; it may be sent", "Look: agentmail inbox --sent")
    if len(sent) < 2:
        return StoppedError(f"stopped waiting; the mail {sent[0]} is sent")
    return StoppedError(
        "stopped waiting; the mail is sent and its turn goes on",
        f"Follow it: agentmail watch {sent[1]} -- end it: agentmail cancel {sent[1]}",
    )


@click.command(cls=_WaitCommand, short_help="Send a mail.")
@click.argument("arguments", nargs=-1, required=True, metavar="TO... [BODY]")
@click.option("-s", "--subject", default="", metavar="TEXT", help="Subject.")
@click.option("--cc", multiple=True, metavar="NAME", help="Gets a copy, has nothing to do; may be repeated.")
@click.option("--reply-to", metavar="MAIL", help="The mail that this one answers: it joins that thread.")
@_mail_options
@common
def send(
    options: Common,
    arguments: tuple[str, ...],
    subject: str,
    cc: tuple[str, ...],
    reply_to: str | None,
    wait: float | None,
    files: tuple[Path, ...],
    mode: str | None,
    workspace: str | None,
) -> None:
    """Send a mail.

    The last of several arguments is the text. With one argument, or the text "-", it comes from standard input.
    TO may be several names, apart or with commas.

    \b
    agentmail send zcode -s "Tests" "Why does test_login fail?" --wait
    git diff | agentmail send zcode,pi -s "Please review"
    """
    to, given = split_arguments(arguments)
    body = _body(given, empty_is_fine=bool(subject or files))

    async def make(client: "GatewayClient", attachments: tuple[str, ...]) -> "SendMail":
        from ..ids import full_id
        from ..vendor.wire import SendMail

        answered = await full_id(client, reply_to, "mail") if reply_to else None
        return SendMail(
            to=to,
            subject=subject,
            body=body,
            cc=tuple(name.strip() for part in cc for name in part.split(",") if name.strip()),
            in_reply_to=answered,
            workspace=workspace,
            permission_mode=mode,  # type: ignore[arg-type]
            attachments=attachments,
        )

    _deliver(options, make, files, wait)


@click.command(cls=_WaitCommand, short_help="Answer a mail.")
@click.argument("mail", metavar="MAIL")
@click.argument("body", required=False, metavar="[BODY]")
@click.option("-s", "--subject", metavar="TEXT", help="Another subject; the thread stays the same.")
@click.option("--all", "everybody", is_flag=True, help="Answer everybody who got the mail.")
@_mail_options
@common
def reply(
    options: Common,
    mail: str,
    body: str | None,
    subject: str | None,
    everybody: bool,
    wait: float | None,
    files: tuple[Path, ...],
    mode: str | None,
    workspace: str | None,
) -> None:
    """Answer a mail; the answer joins its thread.

    Without BODY, or with "-", the text comes from standard input.
    """
    text = _body(None if body == "-" else body, empty_is_fine=bool(files))

    async def make(client: "GatewayClient", attachments: tuple[str, ...]) -> "SendMail":
        from ..ids import full_id
        from ..vendor.wire import SendMail

        answered = await client.get_mail(await full_id(client, mail, "mail"))
        me = (await client.whoami()).name
        to, cc = reply_recipients(answered, me, everybody=everybody)
        return SendMail(
            to=to,
            subject=reply_subject(answered.subject) if subject is None else subject,
            body=text,
            cc=cc,
            in_reply_to=answered.id,
            workspace=workspace,
            permission_mode=mode,  # type: ignore[arg-type]
            attachments=attachments,
        )

    _deliver(options, make, files, wait)
