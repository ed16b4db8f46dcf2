"""The agent that bridge-echo drives: a program of its own, prompt on standard input, one JSON object a line out.

It answers with the mail's own words. A line of the mail that begins with ``echo:`` makes it behave like an agent on a
bad day, for tests and for ``agentmail doctor``; every one is bounded and harmless:

    echo: wait 5                 takes 5 seconds (at most 600)
    echo: progress 10            shows 10 steps, one every 50 ms (at most 200)
    echo: tool ls -l             shows a tool call, without running anything
    echo: say some words         answers with these words instead
    echo: silent                 says nothing
    echo: large 300              answers with 300 KiB of text (at most 4096)
    echo: file report.txt words  writes out/report.txt, which goes with the answer
    echo: write notes.txt words  writes notes.txt in the workspace, if the tier allows it
    echo: stubborn               does not end when it is asked to (SIGTERM)
    echo: children 3             leaves 3 processes behind, in sessions of their own (at most 5; each ends in 600 s)
    echo: noise                  prints lines that are no JSON, and half a character
    echo: fail overloaded        ends with a failure of that class
    echo: quota 3600             ends with a used-up quota that is full again in that many seconds
    echo: crash                  ends by a signal in the middle, with words on standard error

Standard library only, and nothing of the bridge: it is started as ``python -I -S agent.py``.
"""

import argparse
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

MOST_DIRECTIVES = 20
LONGEST_WAIT_S = 600.0
MOST_STEPS = 200
MOST_KIB = 4096
MOST_CHILDREN = 5
DIRECTIVE = re.compile(r"^\s*echo:\s*(\S+)[ \t]*(.*)$")
MAIL = re.compile(r"^-----BEGIN MAIL ([0-9a-f]+)-----\n(.*)^-----END MAIL \1-----$", re.MULTILINE | re.DOTALL)
FROM = re.compile(r"^From: ([^\n<,]+)", re.MULTILINE)


def show(kind: str, **fields: object) -> None:
    """Print one event."""
    sys.stdout.write(json.dumps({"type": kind, **fields}, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def mail_in(prompt: str) -> tuple[str, str]:
    """The mail's text and its sender's name, as the prompt shows them; all of it when there is no mail in it."""
    found = MAIL.search(prompt)
    body = found[2] if found else prompt
    sender = FROM.search(prompt[: found.start()] if found else "")
    return body.strip("\n"), sender[1].strip() if sender else ""


def number(text: str, most: float) -> float:
    """The number in `text`, between 0 and `most`; 1 when there is none."""
    try:
        value = float(text)
    except ValueError:
        return 1.0
    return 1.0 if math.isnan(value) else min(max(value, 0.0), most)


class Agent:
    """One turn."""

    def __init__(self, tier: str, out: Path, memory: Path | None, session: str | None):
        self.tier = tier
        self.out = out
        self.memory = memory
        self.session = session
        self.words: str | None = None
        self.denied: list[str] = []
        self.calls = 0

    def remember(self) -> int:
        """Go on with the session, or begin one; how many mails it has seen with this one."""
        known: dict[str, object] = {}
        if self.memory is not None:
            try:
                known = json.loads(self.memory.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                known = {}
        resumed = self.session is not None and known.get("session") == self.session
        seen = known.get("mails", 0)
        mails = (seen if resumed and isinstance(seen, int) else 0) + 1
        name = self.session if resumed else f"echo-{os.urandom(6).hex()}"
        show("started", session=name, resumed=resumed)
        if self.memory is not None:
            self.memory.write_text(json.dumps({"session": name, "mails": mails}), encoding="utf-8")
        return mails

    def obey(self, name: str, rest: str) -> bool:
        """Do what a directive says; false when the turn has ended with it."""
        match name:
            case "wait":
                show("status", text=f"waiting {number(rest, LONGEST_WAIT_S):g} s")
                time.sleep(number(rest, LONGEST_WAIT_S))
            case "progress":
                for step in range(1, int(number(rest, MOST_STEPS)) + 1):
                    show("text", text=f"step {step}\n")
                    time.sleep(0.05)
            case "tool":
                self.call("pretend", rest, True, "nothing was run")
            case "say":
                self.words = rest
            case "silent":
                self.words = ""
            case "large":
                self.words = ("echo " * 205)[:1024] * int(number(rest, MOST_KIB))
            case "file":
                self.write("out", self.out, rest, allowed=True)
            case "write":
                self.write("write", Path.cwd(), rest, allowed=self.tier != "plan")
            case "stubborn":
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                show("status", text="not listening to SIGTERM")
            case "children":
                leave_children(int(number(rest, MOST_CHILDREN)))
            case "noise":
                sys.stdout.buffer.write(b'no JSON at all\n{"type": \n[1]\n\xe2\x82\n{"type":"unheard-of"}\n')
                sys.stdout.flush()
            case "fail":
                show("error", failure=rest.strip() or "agent_error", message="The mail asked for a failure.")
                return False
            case "quota":
                until = datetime.now(UTC) + timedelta(seconds=number(rest, 7 * 24 * 3600))
                show("error", failure="quota", message="The quota is used up.", wait_until=until.isoformat())
                return False
            case "crash":
                sys.stderr.write("echo: the mail asked for a crash\n")
                sys.stderr.flush()
                os.kill(os.getpid(), signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
            case _:
                show("status", text=f"unknown directive: {name[:40]}")
        return True

    def write(self, tool: str, folder: Path, rest: str, *, allowed: bool) -> None:
        """Write a file directly in `folder`: never elsewhere, never over a link."""
        name, _, text = rest.partition(" ")
        fit = bool(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}", name))
        if not allowed or not fit:
            self.denied.append(tool)
            self.call(tool, rest, False, "denied by the tier" if fit else "not a plain file name")
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
        try:
            with os.fdopen(os.open(folder / name, flags, 0o644), "w", encoding="utf-8") as file:
                file.write(text + "\n")
        except OSError as error:
            self.call(tool, rest, False, str(error))
        else:
            self.call(tool, rest, True, "written")

    def call(self, tool: str, arguments: str, ok: bool, text: str) -> None:
        """Show a tool call and its result."""
        self.calls += 1
        show("tool", id=f"call-{self.calls}", tool=tool, arguments=arguments[:500])
        show("tool_end", id=f"call-{self.calls}", tool=tool, ok=ok, text=text)

    def turn(self, prompt: str) -> None:
        """Work on the mail in `prompt`."""
        mails = self.remember()
        body, sender = mail_in(prompt)
        lines = body.split("\n")
        directives = [found for line in lines if (found := DIRECTIVE.match(line))][:MOST_DIRECTIVES]
        for found in directives:
            if not self.obey(found[1].lower(), found[2]):
                return
        show("final", text=self.answer(lines, sender, mails), denied=self.denied, mails=mails)

    def answer(self, lines: list[str], sender: str, mails: int) -> str:
        """The mail's own words, and a friendly line around them."""
        if self.words is not None:
            return self.words
        words = "\n".join(line for line in lines if not DIRECTIVE.match(line)).strip("\n")
        quoted = "\n".join(f"> {line}".rstrip() for line in words.split("\n")) if words.strip() else "> (nothing)"
        hello = f"Hello {sender}," if sender else "Hello,"
        again = f" It is mail number {mails} of this conversation." if mails > 1 else ""
        said = f"{hello}\n\nyour mail arrived, and this is what it says:\n\n{quoted}"
        return f"{said}\n\nThat is all I can do: I am the echo.{again}"


def leave_children(count: int) -> None:
    """Start processes that outlive the turn if nobody ends them: in sessions of their own, with no parent left."""
    script = "import os,sys,time\nif os.fork(): os._exit(0)\nos.setsid()\nprint(os.getpid(), flush=True)\n"
    script += f"os.close(1)\ntime.sleep({LONGEST_WAIT_S})\n"
    for _ in range(count):
        started = subprocess.run([sys.executable, "-I", "-S", "-c", script], stdout=subprocess.PIPE, check=False)
        show("status", text=f"left process {started.stdout.decode().strip()} behind")


def main() -> int:
    """Read the prompt, run one turn."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tier", choices=["plan", "workspace", "full"], required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--memory", type=Path)
    parser.add_argument("--session")
    parser.add_argument("--version", action="version", version="echo 1.0.0")
    options = parser.parse_args()
    prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    Agent(options.tier, options.out, options.memory, options.session).turn(prompt)
    return 0


if __name__ == "__main__":
    sys.exit(main())
