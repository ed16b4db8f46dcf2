"""Which tools the stand-in offers, and which calls its mode allows without a permission client.

The registered names and the deny list's effect are [S]; the table of modes is [S rule + I declaration] for Bash, Write,
Edit and WebFetch, and [S] for the rest.
"""

from dataclasses import dataclass

__all__ = ["Broker", "Verdict"]

REGISTERED = (
    *("Read", "Write", "Edit", "Bash", "Glob", "Grep", "WebFetch", "WebSearch", "TodoRead", "TodoWrite"),
    *("EnterPlanMode", "ExitPlanMode", "AskUserQuestion", "SendMessage", "TaskOutput", "TaskStop"),
    *("ReadSessionContext", "ReplyToChannel", "Agent", "Task", "Skill", "js", "CreateWorkflow", "AmendWorkflow"),
)
READS = frozenset({"Read", "Glob", "Grep", "TodoRead", "TodoWrite", "WebFetch", "WebSearch", "ListModels"})
PLAN_REFUSAL = "Plan mode only allows read-only, non-destructive tools"


@dataclass(frozen=True)
class Verdict:
    """`absent`: the tool is not offered. `asked`: there was a permission question. `reason`: why it is denied."""

    allowed: bool
    absent: bool = False
    asked: bool = False
    reason: str = ""


@dataclass(frozen=True)
class Broker:
    """Mode and deny list of a run."""

    mode: str
    deny: tuple[str, ...]

    @property
    def offered(self) -> tuple[str, ...]:
        """The tools that the model is told of."""
        denied = {name.partition("(")[0] for name in self.deny}
        return tuple(name for name in REGISTERED if name not in denied)

    def judge(self, tool: str) -> Verdict:
        """What becomes of a call of `tool`. ``mcp__*`` names are taken to be without annotations."""
        mcp = tool.startswith("mcp__")
        if (not mcp and tool not in self.offered) or (mcp and tool in self.deny):
            return Verdict(False, absent=True)
        if tool in {"CreateWorkflow", "AmendWorkflow"}:
            return Verdict(True)
        if tool == "AskUserQuestion":
            return self._no_client(tool)
        match self.mode:
            case "yolo" | "guarded":
                return Verdict(True)
            case "plan":
                return Verdict(True) if mcp or tool in READS else Verdict(False, reason=PLAN_REFUSAL)
            case _:
                edits = self.mode == "edit" and tool in {"Write", "Edit"}
                return Verdict(True) if tool in READS or edits else self._no_client(tool)

    def _no_client(self, tool: str) -> Verdict:
        return Verdict(False, asked=True, reason=f"No permission client configured for {tool}")
