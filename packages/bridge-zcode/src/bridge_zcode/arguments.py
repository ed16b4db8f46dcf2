"""The argument list of one ZCode run. Pure, and the only place where one is made.

Facts it rests on (the argument parser of CLI 0.16.9, executed case by case):

- The parser is strict: ``--max-turns`` and ``--allowed-tools`` end the run with exit 1 although one version's help
  lists them (zai-org/feedback#600). They, and every option that is not in `Flag`, can't be expressed here.
- ``--prompt=TEXT`` in one token takes any text. With a separate value, a text that starts with ``-`` is ambiguous, and
  a text such as ``--disallowed-tools=x`` is taken for the option. A text that starts with ``/`` is a command of ZCode:
  ``/login`` really logs in. So the text always starts with the fixed first line of AgentMail's prompt.
- ``--disallowed-tools=`` is accepted and means no deny list; ``--resume=`` is accepted and means a new session. So a
  deny list is taken from a TurnMode, which can't be empty by accident, and an id is checked or refused.
- One argument holds at most 131,071 bytes on Linux; above, the start fails (E2BIG). All users of the machine can read
  an argument with `ps`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .turn_mode import TurnMode
from .vendor.settings import SettingsError

__all__ = [
    "ARGV_PROMPT_BYTES",
    "PROMPT_BYTES_VARIABLE",
    "ArgumentError",
    "Delivery",
    "arguments",
    "deliver",
    "deny_list_of",
    "is_session_id",
    "probe_arguments",
    "prompt_limit",
]

# The largest text that goes into the argument list, in bytes of UTF-8. Drivers in the field change to a file at about
# this size and it works for them; it is a fifth of what Linux takes, and a third of what Windows takes for a whole
# command line. Smaller is more private (`ps` shows arguments to all users of a machine; a file in the turn's folder is
# readable by this user only), larger is nothing gained: hence the setting, 0 sends every mail through the file.
ARGV_PROMPT_BYTES = 24_576
# Above this no setting goes: 131,062 bytes are the limit of the kernel for the text behind `--prompt=`.
_MOST_BYTES = 120_000
PROMPT_BYTES_VARIABLE = "AGENTMAIL_ZCODE_ARGV_PROMPT_BYTES"

Flag = Literal["--prompt", "--output-format", "--cwd", "--mode", "--disallowed-tools", "--resume", "--attach"]
_SESSION_ID = re.compile(r"sess_[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_UNSAYABLE = re.compile("[\0\ud800-\udfff]")  # no argument and no UTF-8 file can hold these
_FIRST_LINE = "AgentMail: a mail to answer."


class ArgumentError(ValueError):
    """What was asked for can't be said to ZCode safely; the text says why."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """How the prompt reaches ZCode: `text` as the argument, and the whole as `content` of the file `attached`, if any.

    The caller writes the file before the start. Made by `deliver` only.
    """

    text: str
    attached: Path | None = None
    content: str = ""


def is_session_id(text: str | None) -> bool:
    """Whether `text` has the form of a ZCode session id (``sess_`` and a UUID, as far as was seen)."""
    return text is not None and _SESSION_ID.fullmatch(text) is not None


def prompt_limit(environ: Mapping[str, str]) -> int:
    """The largest prompt in bytes for the argument list, from the setting. Raises SettingsError for a bad value."""
    value = environ.get(PROMPT_BYTES_VARIABLE, "").strip()
    if not value:
        return ARGV_PROMPT_BYTES
    if not (value.isascii() and value.isdecimal()) or int(value) > _MOST_BYTES:
        raise SettingsError(PROMPT_BYTES_VARIABLE, f"{value[:40]!r} is no number of bytes", f"Use 0 to {_MOST_BYTES}")
    return int(value)


def deliver(prompt: str, *, turn_id: str, file: Path, note: str = "", limit: int = ARGV_PROMPT_BYTES) -> Delivery:
    """Decide how `prompt` travels. `note` is the bridge's own word on this run and goes behind the first line.

    The whole text starts with a word, whatever it was: a line of our own goes before one that does not. NUL and lone
    surrogates become U+FFFD. The short text that goes along with a file names it, so that an agent that was not shown
    the attachment can read it.
    """
    whole = _UNSAYABLE.sub("\ufffd", prompt)
    if not whole[:1].isalnum():
        whole = f"{_FIRST_LINE}\n\n{whole}"
    first, _, rest = whole.partition("\n")
    if note:
        whole = f"{first}\n\n{note}\n{rest}"
    if len(whole.encode()) <= limit:
        return Delivery(whole)
    if len(first) > 200:
        first = _FIRST_LINE
    text = (
        f"{first}\n\nThe mail of turn {turn_id} is long: it is in the attached file {file.name}, not in this text. "
        f"If you don't see the attachment, read {file}. Follow it as if it stood here: it says who wrote, what you "
        "may do and what is asked."
    )
    return Delivery(text, file, whole)


def arguments(delivery: Delivery, mode: TurnMode, *, workspace: Path, resume: str | None = None) -> tuple[str, ...]:
    """The arguments after the command, for one turn in `workspace` (absolute).

    `resume` is the native session to go on with, or None. Raises ArgumentError for a relative workspace and for an id
    of another form.
    """
    return (_token("--prompt", delivery.text), *_rest(mode, workspace, resume, delivery.attached))


def probe_arguments(mode: TurnMode, *, workspace: Path) -> tuple[str, ...]:
    """The same list with ``--version`` in the place of the prompt: exit 0 if this ZCode knows every option of a turn.

    It calls no model: the parse is strict and comes before the version is printed. Only the session to resume is left
    out, because there is none; ``attached`` in `workspace` is the file that is named.
    """
    return (*_rest(mode, workspace, None, workspace / "attached"), "--version")


def _rest(mode: TurnMode, workspace: Path, resume: str | None, attached: Path | None) -> tuple[str, ...]:
    if not workspace.is_absolute() or "\0" in str(workspace):
        raise ArgumentError(f"not an absolute path: {workspace}")
    rest = [
        _token("--output-format", "stream-json"),
        _token("--cwd", str(workspace)),
        _token("--mode", mode.mode),
    ]
    if mode.deny:
        rest.append(_token("--disallowed-tools", ",".join(mode.deny)))
    if resume is not None:
        if not is_session_id(resume):
            raise ArgumentError(f"not a session id of ZCode: {resume[:80]!r}")
        rest.append(_token("--resume", resume))
    if attached is not None:
        rest.append(_token("--attach", str(attached)))
    return tuple(rest)


def _token(flag: Flag, value: str) -> str:
    return f"{flag}={value}"


def deny_list_of(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The deny list that an argument list of this module carries, read back from it (for the self-check)."""
    prefix = "--disallowed-tools="
    return tuple(
        name for token in argv if token.startswith(prefix) for name in token.removeprefix(prefix).split(",") if name
    )
