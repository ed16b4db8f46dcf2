"""Entry point of ``agentmail``: runs a command and turns whatever happens into an exit code and one line."""

import json
import os
import sys
from collections.abc import Sequence
from typing import TextIO

import click

from .cli import cli
from .errors import CliError, Exit, StoppedError, UsageError
from .spelling import spelled
from .terminal import json_safe, safe

__all__ = ["main"]


def _wants_json(argv: Sequence[str]) -> bool:
    return "--json" in (argv[: argv.index("--")] if "--" in argv else argv)


def _from_click(error: click.ClickException) -> CliError:
    context = error.ctx if isinstance(error, click.UsageError) else None
    step = f"See: {context.command_path} --help" if context else ""
    return UsageError(error.format_message(), step)


def _complain(error: CliError, *, as_json: bool, stream: TextIO) -> int:
    if as_json:
        document = {
            "code": error.code,
            "message": error.message,
            "next_step": error.next_step,
            "status": error.status,
            "exit": int(error.exit),
        }
        stream.write(json_safe(json.dumps({"error": document}, ensure_ascii=False)) + "\n")
    else:
        stream.write(f"agentmail: {safe(spelled(error.line(), os.environ))}\n")
    return int(error.exit)


def run(argv: Sequence[str]) -> int:
    """Run the command in `argv` (without the program's name) and return the exit code. Never raises."""
    as_json = _wants_json(argv)
    try:
        with cli.make_context("agentmail", list(argv)) as context:
            cli.invoke(context)
        sys.stdout.flush()
    except CliError as error:
        return _complain(error, as_json=as_json, stream=sys.stderr)
    except click.exceptions.Exit as asked:
        return asked.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return Exit.USAGE
    except click.ClickException as error:
        return _complain(_from_click(error), as_json=as_json, stream=sys.stderr)
    except (KeyboardInterrupt, click.Abort):
        return _complain(StoppedError("stopped"), as_json=as_json, stream=sys.stderr)
    except BrokenPipeError:
        # What is still buffered would fail again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OUTPUT_CLOSED
    except Exception as error:
        if os.environ.get("AGENTMAIL_DEBUG"):
            raise
        return _complain(
            CliError(
                f"a fault of this program: {type(error).__name__}: {error}",
                "AGENTMAIL_DEBUG=1 shows where; please report it",
            ),
            as_json=as_json,
            stream=sys.stderr,
        )
    return Exit.OK


def main() -> int:
    """Console script."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if "_AGENTMAIL_COMPLETE" in os.environ:
        cli.main(prog_name="agentmail")
    return int(run(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
