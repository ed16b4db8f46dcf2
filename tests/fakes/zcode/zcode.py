#!/usr/bin/env python3
"""A stand-in for the ZCode command line: a program of its own, run as a real child process.

Every behaviour carries where it was learnt: [X] the original's part was executed, [S] read in its source (app 3.15.1,
CLI 0.16.9), [R] recorded by somebody who ran ZCode, [assumed] nobody knows. It is written in Python, not in JavaScript
for Node: ZCode needs a Node with ``node:sqlite``, which the machines that run these tests need not have.

Order of start-up [S]: provider files (0.16.9) → parse → mode → output format → help, version → prompt. See turn.py for
what a prompt can make it do, setting.py for how a test sets it up.
"""

import os
import signal
import sys
import uuid
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.fakes.zcode import dotenv, failing
from tests.fakes.zcode.broker import Broker
from tests.fakes.zcode.parser import Parsed, UsageError, parse
from tests.fakes.zcode.setting import Home
from tests.fakes.zcode.stream import Stream, write_raw
from tests.fakes.zcode.turn import Terminated, Turn

# [assumed] its words, except that it holds "login" and lists an option that is then rejected (zai-org/feedback#600).
HELP = """Usage: zcode [options] [command]

Options:
  -p, --prompt <text>        run one prompt
      --max-turns <n>        limit the turns
      --mode <mode>          build, edit, plan, yolo
Commands:
  login [zai|bigmodel]       sign in
  logout                     sign out
"""
MODES = ("build", "edit", "plan", "yolo", "guarded")
FORMATS = ("text", "json", "stream-json")


def main(argv: list[str]) -> int:
    """Run with the arguments after the program; the exit code."""
    home = Home()
    home.record(argv=argv, cwd=str(Path.cwd()), env=dict(os.environ), pid=os.getpid())
    if home.node_too_old:
        sys.stderr.write("Error [ERR_UNKNOWN_BUILTIN_MODULE]: No such built-in module: node:sqlite\n    at x.js:1\n")
        return 1
    if home.face == "0.16.9" and not Path(os.environ.get("ZCODE_BUILTIN_PROVIDER_CONFIG_FILE", "-")).is_file():
        # [S] a bare message, before any argument is looked at.
        return failing.fail(failing.FAILURES["provider"], prefix="")
    if argv[:1] == ["plugins"]:
        return plugins(home, argv[1:])
    try:
        parsed = parse(argv)
    except UsageError as error:
        sys.stderr.write(f"{error}\n\n{HELP}")
        return 1
    complaint = first_complaint(parsed)
    if complaint is not None:
        return failing.fail(complaint, prefix="")
    if parsed.values.get("help"):
        write_raw(HELP.encode())
        return 0
    if parsed.values.get("version"):
        write_raw(f"{home.face}\n".encode())
        return 0
    if "prompt" not in parsed.values:
        if parsed.positionals:
            sys.stderr.write(f"Unknown command: {parsed.positionals[0]}\n\n{HELP}")
            return 1
        write_raw(HELP.encode())
        return 0
    return run_prompt(home, parsed)


def first_complaint(parsed: Parsed) -> str | None:
    """What is wrong with the values, in the original's order [S]; these come without help."""
    mode = str(parsed.values.get("mode", "yolo"))
    if mode.lower() not in MODES:
        return f"Unsupported --mode value: {mode}. Supported modes: {', '.join(MODES)}."
    if "resume" in parsed.values and "continue" in parsed.values:
        return "--resume and --continue cannot be used together."
    output = str(parsed.values.get("output-format", "text"))
    if output not in FORMATS:
        return f"--output-format must be one of {', '.join(FORMATS)} (received: {output})."
    return None


def plugins(home: Home, argv: list[str]) -> int:
    """``plugins list --json``; the form of its answer is [assumed]."""
    import json

    if argv[:1] != ["list"]:
        sys.stderr.write(f"Unknown command: {' '.join(argv)}\n\n{HELP}")
        return 1
    write_raw(json.dumps({"plugins": home.plugins()}, indent=2).encode() + b"\n")
    return 0


def run_prompt(home: Home, parsed: Parsed) -> int:
    """One headless run, from the prompt's check to the exit code [S]."""
    prompt = str(parsed.values["prompt"])
    if not prompt.strip():
        return failing.fail("--prompt requires non-empty text.", prefix="")
    stream = Stream(f"sess_{uuid.uuid4()}", output_format(parsed))
    if prompt.startswith("/"):
        return command_centre(stream, prompt)
    cwd = Path(str(parsed.values.get("cwd", Path.cwd())))
    if not cwd.is_dir():
        # [S] that it is one line without "Error:"; [assumed] its words.
        return failing.fail(f"Working directory does not exist: {cwd}", prefix="")
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGHUP, end)
    try:
        env = dotenv.load(cwd, os.environ)
    except OSError:
        return failing.fail(failing.FAILURES["dotenv"].format(cwd=cwd))
    home.record(dotenv=True, env=env, pid=os.getpid())
    resume = str(parsed.values.get("resume", ""))
    if resume:
        # An empty id starts a new session silently [X]; an unknown one fails with these words [assumed].
        if home.session(resume) is None:
            return failing.fail(f"{failing.FAILURES['session']} (traceId: {stream.trace_id})")
        stream.session_id = resume
    if home.face == "0.16.5" and not home.has_model_config():
        return failing.fail(failing.FAILURES["config"].format(home=Path.home()))
    if home.face == "0.16.9" and not home.has_default_model():
        failing.turn_failed(stream, "Model creation failed")
        return failing.fail(f"Model creation failed (traceId: {stream.trace_id})")
    mode = str(parsed.values.get("mode", "yolo")).lower()
    broker = Broker(mode, tuple(parsed.deny or ()))
    paths = parsed.values.get("attach", [])
    attached = [Path(path).read_text(errors="replace") for path in paths] if isinstance(paths, list) else []
    return Turn(home, stream, broker, cwd, env).run(prompt, attached)


def output_format(parsed: Parsed) -> str:
    """``--output-format`` wins over ``--json``."""
    return str(parsed.values.get("output-format") or ("json" if parsed.values.get("json") else "text"))


def command_centre(stream: Stream, prompt: str) -> int:
    """A text that starts with a slash never reaches a model [S]: pretty-printed JSON without a type, exit 0."""
    import json

    answer = {"sessionId": stream.session_id, "traceId": stream.trace_id, "response": f"Ran {prompt.split()[0]}"}
    write_raw(json.dumps(answer, indent=2).encode() + b"\n")
    return 0


def end(number: int, _frame: FrameType | None) -> None:
    """Leave the turn where it stands."""
    for ignored in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    raise Terminated(number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
