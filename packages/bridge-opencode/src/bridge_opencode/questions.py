"""opencode's wish for a permission as a question to a person. Pure."""

import re

from .events import Asked
from .fields import word
from .turn_mode import READ_TOOLS
from .vendor.plain_text import one_line
from .vendor.turn import Question
from .vendor.wire import Tier

__all__ = ["question"]

# With one of these in it a command does more than its first word says.
COMPOUND = re.compile(r"[\n\r;&|<>`$(){}\\]")


def question(asked: Asked) -> Question:
    """The question, with what an answer that is remembered will cover.

    That is opencode's own pattern (``npm test *``) for one plain command, and the whole command otherwise: a person who
    allows ``echo hi`` for good did not allow ``echo x > .git/config``.
    """
    command = word(asked.metadata, "command")
    patterns = ", ".join(asked.patterns)
    said = command or word(asked.metadata, "filepath") or patterns
    detail = "\n".join(filter(None, (command or patterns, word(asked.metadata, "diff"))))
    compound = bool(COMPOUND.search(command))
    scope = command if compound else "\n".join(sorted(asked.always or asked.patterns))
    needs: Tier = "plan" if asked.permission in READ_TOOLS else "workspace"
    return Question(asked.permission, f"{asked.permission}: {one_line(said, 400)}", detail, scope, needs)
