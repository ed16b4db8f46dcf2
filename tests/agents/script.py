"""What the scripted model is to say: read from the mail itself, so that it travels through every real part.

A mail carries ``[[model: STEPS]]`` with STEPS a JSON array. Each request takes the next step: the number of assistant
messages behind the newest such mark says which. Behind the last step, and without any mark, the model echoes.
"""

import json
from dataclasses import dataclass
from typing import Any

MARK = "[[model:"


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of the model.

    `text` and `tool` (with `arguments`) are what it says; `finish` ``length`` or ``content_filter`` cuts it; `status`
    is an HTTP error instead, with `retry_after` seconds where given; `drop` ends the stream in the middle, `hang` never
    ends it, `slow` waits that many seconds between words; `repeat` multiplies the text.
    """

    text: str = ""
    tool: str | None = None
    arguments: dict[str, Any] | None = None
    finish: str | None = None
    status: int | None = None
    retry_after: str | None = None
    drop: bool = False
    hang: bool = False
    slow: float = 0.0
    repeat: int = 1


def mark(*steps: dict[str, Any]) -> str:
    """The text to put into a mail so that the model takes `steps` one after the other."""
    return f"{MARK} {json.dumps(list(steps))}]]"


def plain(content: object) -> str:
    """The text of a message's content in either API's form."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(plain(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""


def next_step(messages: list[dict[str, Any]]) -> Step:
    """The step that answers `messages` (OpenAI's or Anthropic's form, oldest first)."""
    for back, message in enumerate(reversed(messages)):
        text = plain(message.get("content"))
        if message.get("role") != "user" or MARK not in text:
            continue
        steps = json.JSONDecoder().raw_decode(text[text.rindex(MARK) + len(MARK) :].lstrip())[0]
        behind = messages[len(messages) - back :]
        taken = sum(1 for each in behind if each.get("role") == "assistant")
        return Step(**steps[taken]) if taken < len(steps) else Step(text="That was the script.")
    users = [plain(each.get("content")) for each in messages if each.get("role") == "user"]
    return Step(text=f"echo of {len(messages)} messages, last of {len(users[-1]) if users else 0} characters")
