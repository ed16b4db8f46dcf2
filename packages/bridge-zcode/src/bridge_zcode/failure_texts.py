"""What a failure mail says, per class: one sentence on what happened, and the next step. Pure."""

from .vendor.bounded import clip
from .vendor.plain_text import printable
from .vendor.wire import Failure, FailureClass

__all__ = ["failure"]

_QUOTED_BYTES = 1_500

# Each class that a run of ZCode can end with: (what happened, what to do next).
_TEXTS: dict[FailureClass, tuple[str, str]] = {
    "cli_missing": (
        "ZCode was not found on the machine of this bridge.",
        "Install the ZCode desktop app there, or set AGENTMAIL_ZCODE_COMMAND to the path of zcode.cjs.",
    ),
    "provider_missing": (
        "ZCode found no model provider.",
        "Open the ZCode desktop app once and set up a model with an API key; `bridge-zcode --check` says which files "
        "are looked for.",
    ),
    "not_signed_in": (
        "ZCode's model provider did not accept the account or the key.",
        "Add a provider with an API key in ZCode, or renew the account, then send the mail again. (The desktop's own "
        "sign-in does not reach ZCode's command line, and `zcode login` is reported to fail.)",
    ),
    "no_model": ("ZCode has no model to work with.", "Choose a default model in ZCode, then send the mail again."),
    "runtime_too_old": (
        "The Node.js that ran ZCode is too old for it.",
        "Install Node.js 22.13 or newer, or set AGENTMAIL_ZCODE_COMMAND to a command that uses one.",
    ),
    "quota": (
        "ZCode's quota is used up.",
        "Nothing: the mail is kept, and worked on when the quota is back.",
    ),
    "rate_limited": (
        "ZCode's model provider turned the request away because there were too many.",
        "Wait a few minutes, then send the mail again.",
    ),
    "overloaded": (
        "ZCode's model provider is overloaded.",
        "Wait a few minutes, then send the mail again.",
    ),
    "context_too_long": (
        "The conversation is longer than the model can take.",
        "Start a new thread, or send a shorter mail.",
    ),
    "content_filtered": ("The model provider refused the content.", "Say it differently, in a new thread."),
    "tool_denied": (
        "ZCode wrote no answer, because tools that it wanted are denied in this tier.",
        "Ask for something that can be done without them, or send the mail with a higher tier.",
    ),
    "empty_answer": (
        "ZCode finished without writing an answer.",
        "Send the mail again, and say in one sentence what you want to get back.",
    ),
    "cancelled": ("ZCode ended the turn as cancelled.", "Send the mail again if you still want an answer."),
    "crashed": (
        "ZCode ended before it was done.",
        "Send the mail again; if it stays so, run `bridge-zcode --check` on that machine.",
    ),
    "bad_option": (
        "ZCode did not accept the way the bridge calls it.",
        "The two don't fit each other: update both, then run `bridge-zcode --check`.",
    ),
    "tier_unenforceable": (
        "The turn was not run to its end, because its tier could not be kept.",
        "Mend the cause, or have the mail sent with a tier that allows it.",
    ),
    "agent_error": ("ZCode reported an error.", "Read the cause; if it says nothing, send the mail again."),
    "bridge_error": (
        "The bridge could not run ZCode.",
        "Run `bridge-zcode --check` on the machine of the bridge.",
    ),
}


def failure(class_: FailureClass, cause: str = "", *, happened: str = "", next_step: str = "") -> Failure:
    """The failure of `class_` with the agent's own `cause` (its end is kept, 1,500 bytes).

    `happened` and `next_step` take the place of the class's own sentences.
    """
    said, step = _TEXTS.get(class_, _TEXTS["agent_error"])
    quoted = printable(clip(cause.strip(), _QUOTED_BYTES, "tail"))
    message = happened or said
    if quoted:
        message = f"{message}\n\n{quoted}" if "\n" in quoted else f"{message} It said: {quoted}"
    return Failure(class_, message, next_step or step)
