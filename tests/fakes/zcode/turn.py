"""One turn of the stand-in: directives in the mail's text say what it does.

A directive is a line ``zcode-do: WORD …`` of the prompt, of an attached file or of the test's set-up; they run in
order.

    say TEXT · think TEXT · recall · remember WORD · env NAME · files
    tool NAME [ARGUMENT]    call a tool as mode and deny list allow (Bash runs, Write writes ``PATH TEXT``)
    force NAME              start a tool in spite of the deny list, as a newer ZCode could bring one
    child · noise · unknown · split · big BYTES · leave FILE
    mark FILE · wait-for FILE                 leave a sign, wait for one
    deafen                                    ignore every polite signal from here on
    hang [deaf|slow-close|throws]             never end by itself; what SIGTERM then meets
    fail NAME [TIME] · fail-once NAME [TIME]  see failing.py
    end KIND                                  no-result, cut, empty, cancelled, crash, killed, max-turns, lingers,
                                              lingers-loudly (prints after its result)

Without any it answers with the number of this session's turn.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

from .broker import Broker
from .failing import FAILURES, fail, provider_failure, turn_failed
from .setting import Home
from .stream import Stream, usage_of, write_raw

__all__ = ["Terminated", "Turn"]

_DIRECTIVE = re.compile(r"^zcode-do: *(.*?)\s*$", re.MULTILINE)
_SIGNAL_NAMES = {signal.SIGTERM: "SIGTERM", signal.SIGINT: "SIGINT", signal.SIGHUP: "SIGHUP"}


class Terminated(BaseException):
    """A signal to end came in."""

    def __init__(self, number: int):
        self.number = number


class Turn:
    """Runs the directives of one prompt."""

    def __init__(self, home: Home, stream: Stream, broker: Broker, cwd: Path, env: dict[str, str]):
        self._home = home
        self._stream = stream
        self._broker = broker
        self._cwd = cwd
        self._env = env
        self._said: list[str] = []
        self._calls = 0
        self._on_term = ""
        self._ending = ""
        session = home.session(stream.session_id) or {"turns": 0, "remembered": []}
        self._session: dict[str, object] = session
        turns = session.get("turns")
        self._turn_count = (turns if isinstance(turns, int) else 0) + 1

    def run(self, prompt: str, attached: list[str]) -> int:
        """The whole turn; the exit code."""
        stream = self._stream
        self._session |= {"turns": self._turn_count, "directory": str(self._cwd)}
        self._home.save_session(stream.session_id, self._session)
        started: dict[str, object] = {"turnNumber": self._turn_count, "input": prompt[:200], "messageId": "msg_0"}
        stream.event("session.titleUpdated", {"title": prompt[:20]}, turn=False)
        stream.event("turn.started", started)
        stream.event("session.updated", {"messageCount": 2, "toolCount": len(self._broker.offered)})
        stream.event("model.streaming", {"kind": "start"})
        text = "\n".join((prompt, *attached))
        directives = [*self._home.do, *_DIRECTIVE.findall(text)]
        try:
            for directive in directives:
                word, _, rest = directive.partition(" ")
                code = self._do(word, rest)
                if code is not None:
                    return code
        except Terminated as ended:
            return self._terminated(ended.number)
        if not self._said and self._ending != "empty":
            self._say(f"Turn {self._turn_count} of {stream.session_id}.")
        return self._end()

    def _do(self, word: str, rest: str) -> int | None:
        match word:
            case "say":
                self._say(rest)
            case "think":
                self._stream.event("model.streaming", {"kind": "reasoning_delta", "delta": rest})
            case "remember":
                self._remembered().append(rest)
                self._home.save_session(self._stream.session_id, self._session)
            case "recall":
                self._say(f"I remember: {', '.join(self._remembered()) or 'nothing'}.")
            case "env":
                self._say(f"{rest}={self._env.get(rest, '(unset)')}")
            case "files":
                self._say(" ".join(sorted(path.name for path in self._cwd.iterdir())))
            case "tool":
                self._tool(rest)
            case "force":
                self._call(rest, {}, started=True)
            case "child":
                self._child()
            case "noise":
                write_raw(b"AI SDK Warning System: To turn off warning logging, set a global\n\x1b[2mbanner\x1b[0m\n\n")
            case "unknown":
                self._unknown()
            case "split":
                self._split()
            case "big":
                self._result("call_big", "x" * int(rest))
            case "leave":
                self._leave(Path(rest))
            case "mark":
                Path(rest).write_text(str(os.getpid()))
            case "wait-for":
                while not Path(rest).exists():
                    time.sleep(0.01)
            case "deafen":
                _deafen()
            case "hang":
                self._hang(rest)
            case "fail" | "fail-once":
                if word == "fail" or self._home.first_time(directive_key(rest)):
                    return self._fail(rest)
            case "end":
                self._ending = rest
            case _:
                self._say(f"(no such directive: {word})")
        return None

    def _remembered(self) -> list[str]:
        remembered = self._session.setdefault("remembered", [])
        assert isinstance(remembered, list)
        return remembered

    def _say(self, text: str) -> None:
        self._said.append(text)
        self._stream.text(text)

    def _tool(self, words: str) -> None:
        name, _, argument = words.partition(" ")
        verdict = self._broker.judge(name)
        if verdict.absent:
            # [assumed] what a model does that was not given a tool: it says so.
            self._say(f"I have no tool {name}.")
            return
        call = self._call(name, {"argument": argument}, started=verdict.allowed)
        if not verdict.allowed:
            if verdict.asked:
                self._stream.event("permission.requested", {"toolCallId": call, "toolName": name})
                denied = {"toolCallId": call, "reason": verdict.reason, "decision": "deny"}
                self._stream.event("permission.resolved", denied)
            error = {"code": "TOOL_DENIED", "message": verdict.reason}
            self._stream.event("tool.updated", {"toolCallId": call, "error": error, "kind": "error"})
            return
        self._result(call, self._act(name, argument))

    def _call(self, name: str, given: dict[str, str], *, started: bool) -> str:
        self._calls += 1
        call = f"call_{self._calls}"
        self._stream.event(
            "model.streaming", {"kind": "tool_call", "toolCallId": call, "toolName": name, "input": given}
        )
        self._stream.event("tool.updated", {"toolCallId": call, "toolName": name, "input": given, "kind": "scheduled"})
        if started:
            # [assumed] that the name is left out here: the bridge must not rely on it.
            moment = int(time.time() * 1000)
            self._stream.event("tool.updated", {"toolCallId": call, "startedAt": moment, "kind": "started"})
        return call

    def _result(self, call: str, content: str) -> None:
        result = {"success": True, "content": content}
        self._stream.event("tool.updated", {"toolCallId": call, "result": result, "duration": 5, "kind": "result"})

    def _act(self, name: str, argument: str) -> str:
        match name:
            case "Bash":
                done = subprocess.run(
                    ["/bin/sh", "-c", argument], cwd=self._cwd, env=self._env, capture_output=True, check=False
                )
                return done.stdout.decode("utf-8", "replace")
            case "Write":
                path, _, text = argument.partition(" ")
                (self._cwd / path).write_text(text)
                return f"wrote {path}"
            case "Read":
                text = (self._cwd / argument).read_text()
                self._say(f"{argument} says: {text}")
                return text
            case _:
                return "done"

    def _child(self) -> None:
        """A sub-agent's events, raw under its own session id, its end before the parent's [S]."""
        child = f"sess_{uuid.uuid4()}"
        self._stream.event("turn.started", {"turnNumber": 1, "input": "explore"}, session=child)
        delta = {"kind": "text_delta", "delta": "(from the child)"}
        self._stream.event("model.streaming", delta, session=child)
        call: dict[str, object] = {"toolCallId": "child_1", "toolName": "Grep", "input": {}, "kind": "scheduled"}
        self._stream.event("tool.updated", call, session=child)
        self._stream.event("tool.updated", call)
        done = {"response": "(the child's answer)", "resultType": "cancelled", "toolCallCount": 1, "duration": 1}
        self._stream.event("turn.completed", done, session=child)

    def _unknown(self) -> None:
        self._stream.event("checkpoint.created", {"checkpointId": "c1"})
        self._stream.event("something.new", {"deep": {"er": [1, None, {"x": "y"}]}})
        self._stream.event("session.updated", {"ledger": "internal"})
        write_raw(
            b'{"type":"workflow.run.progress","run":{}}\n[1,2,3]\n"text"\n{"payload":7,"sessionId":9,"type":null}\n'
        )

    def _split(self) -> None:
        """A character cut between two writes, and one between two deltas (as JavaScript cuts it)."""
        self._said.append("你好😀")
        line = json.dumps(
            {
                "payload": {"kind": "text_delta", "delta": "你好"},
                "sessionId": self._stream.session_id,
                "type": "model.streaming",
            },
            ensure_ascii=False,
        ).encode()
        cut = line.index("好".encode()) + 1
        for part in (line[:cut], line[cut:] + b"\n"):
            write_raw(part)
        for half in ("\\ud83d", "\\ude00"):
            payload = f'{{"kind":"text_delta","delta":"{half}"}}'
            raw = f'{{"payload":{payload},"sessionId":"{self._stream.session_id}","type":"model.streaming"}}\n'
            write_raw(raw.encode())

    def _leave(self, sign: Path) -> None:
        """A process in a session of its own, as ZCode's shell children are: it survives a kill of the group [X]."""
        code = "import pathlib,os,signal,sys; pathlib.Path(sys.argv[1]).write_text(str(os.getpid())); signal.pause()"
        subprocess.Popen(
            [sys.executable, "-c", code, str(sign)],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while not sign.exists() or not sign.read_text():
            time.sleep(0.01)

    def _hang(self, on_term: str) -> None:
        self._on_term = on_term
        if on_term == "deaf":
            _deafen()
        while True:
            signal.pause()

    def _fail(self, words: str) -> int:
        name, _, moment = words.partition(" ")
        if name in FAILURES:
            text = FAILURES[name].format(home=Path.home(), cwd=self._cwd)
            if name in {"provider", "swap"}:
                return fail(text, prefix="Error: " if name == "swap" else "")
            if name in {"model", "generic"}:
                turn_failed(self._stream, f"{text}.")
            return fail(f"{text} (traceId: {self._stream.trace_id})")
        return fail(provider_failure(self._stream, name, moment or "2099-01-01 00:00:00"))

    def _response(self) -> str:
        return "\n\n".join(self._said)

    def _completed(self, response: str, result_type: str) -> None:
        usage = usage_of("", response)
        self._stream.event("model.streaming", {"kind": "finish"})
        done: dict[str, object] = {"response": response, "tokenCount": 9, "usage": usage, "toolCallCount": self._calls}
        self._stream.event("turn.completed", {**done, "duration": 12, "resultType": result_type})

    def _end(self) -> int:
        stream, response = self._stream, self._response()
        usage = usage_of("", response)
        match self._ending:
            case "no-result":
                return 0
            case "cut":
                self._completed(response, "success")
                write_raw(stream.result_line(response, usage, self._turn_count)[:-9])
                return 0
            case "crash":
                sys.stderr.write("node:internal/process\n  throw new TypeError()\nTypeError: x is not a function\n")
                return 7
            case "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            case "empty":
                response = ""
        kinds = {"cancelled": "cancelled", "max-turns": "error_max_turns"}
        self._completed(response, kinds.get(self._ending, "success"))
        stream.finish(response, usage, self._turn_count)
        if self._ending.startswith("lingers"):
            if self._ending == "lingers-loudly":
                stream.text("(after the result)")
            self._hang("deaf")
        return 0

    def _terminated(self, number: int) -> int:
        """SIGTERM 143 always; whether a result line comes is a race in the original: both endings are here [X]."""
        self._home.record(terminated=number)
        if self._on_term == "throws":
            sys.stderr.write(
                f"Error: CLI received {_SIGNAL_NAMES[signal.Signals(number)]} (traceId: {self._stream.trace_id})\n"
            )
        elif self._on_term == "slow-close":
            time.sleep(2.0)
        else:
            self._completed(self._response(), "cancelled")
            self._stream.finish(self._response(), usage_of("", self._response()), self._turn_count)
        return 128 + number


def _deafen() -> None:
    for number in _SIGNAL_NAMES:
        signal.signal(number, signal.SIG_IGN)


def directive_key(rest: str) -> str:
    """What `fail-once` remembers."""
    return f"fail {rest.partition(' ')[0]}"
