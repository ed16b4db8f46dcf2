"""Children: started, read, written to, waited for and ended, with real processes."""

import asyncio
import os
import signal
import sys
import threading
from pathlib import Path
from uuid import uuid4

import pytest

from .. import process
from ..line_splitter import LineSplitter
from ..process import Child, Line, ProcessError, capture, start
from ..process import __all__ as exported
from ..process_table import system_table
from ..process_tree import TURN_MARKER

ENV = {"PATH": os.environ["PATH"]}
MIB = 1024 * 1024


async def run(code: str, tmp_path: Path, **options: object) -> Child:
    """A child that runs Python `code`."""
    return await start([sys.executable, "-S", "-E", "-c", code], cwd=tmp_path, env=ENV, **options)  # type: ignore[arg-type]


async def lines_of(child: Child, limit_s: float = 20.0) -> list[Line]:
    async with asyncio.timeout(limit_s):
        return [line async for line in child.stdout_lines()]


def test_the_public_names_are_sorted() -> None:
    assert exported == sorted(exported)


async def test_a_child_says_its_lines_and_its_exit_status(tmp_path: Path) -> None:
    async with await run("print('来信'); print('b', end=''); raise SystemExit(3)", tmp_path) as child:
        assert await lines_of(child) == [Line("来信"), Line("b")]
        assert await child.wait() == 3
        assert child.returncode == 3


async def test_a_child_has_exactly_the_environment_directory_and_descriptors_it_is_given(tmp_path: Path) -> None:
    secret = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(secret, True)
    code = "import os; print(sorted(os.environ)); print(os.getcwd()); print(os.getsid(0) == os.getpid());"
    code += f"\ntry: os.fstat({secret}); print('leaked')\nexcept OSError: print('closed')"
    argv = [sys.executable, "-S", "-E", "-c", code]
    env = {"A": "1", "LC_CTYPE": "C.UTF-8"}
    async with await start(argv, cwd=tmp_path, env=env, turn_id=f"turn_{uuid4().hex}") as child:
        lines = [line.text for line in await lines_of(child)]
    os.close(secret)
    assert lines == [str(sorted(["A", "LC_CTYPE", TURN_MARKER])), str(tmp_path.resolve()), "True", "closed"]


async def test_a_line_of_many_mebibytes_arrives_whole(tmp_path: Path) -> None:
    """hermes-agent#31417: the stream reader's 64 KiB limit raised in the middle of a turn."""
    async with await run(f"print('x' * {5 * MIB}); print('after')", tmp_path) as child:
        long, after = await lines_of(child)
    assert (len(long.text), long.clipped, after.text) == (5 * MIB, False, "after")


async def test_a_line_beyond_the_cap_is_clipped_and_the_turn_goes_on(tmp_path: Path) -> None:
    """hermes-agent#31417"""
    async with await run(f"print('x' * {3 * MIB}); print('after')", tmp_path, line_limit=MIB) as child:
        long, after = await lines_of(child)
        assert await child.wait() == 0
    assert (len(long.text), long.clipped, after.text) == (MIB, True, "after")


async def test_characters_that_are_cut_between_two_reads_stay_whole(tmp_path: Path) -> None:
    code = "import os, sys\nfor byte in '来信🙂\\n'.encode(): os.write(1, bytes([byte]))"
    async with await run(code, tmp_path) as child:
        assert await lines_of(child) == [Line("来信🙂")]


async def test_both_outputs_are_drained_at_once(tmp_path: Path) -> None:
    code = f"import sys\nfor i in range(8): sys.stderr.write('e' * {MIB}); sys.stdout.write('o' * {MIB}); print()"
    async with await run(code, tmp_path) as child:
        lines = await lines_of(child)
        assert await child.wait() == 0
        assert child.stderr_tail().endswith("\n" + "e" * (64 * 1024))
    assert [len(line.text) for line in lines] == [MIB] * 8


async def test_a_reader_that_is_slow_holds_the_program_back_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fed, enough = 0, asyncio.Event()
    feed = LineSplitter.feed

    def counting(splitter: LineSplitter, chunk: bytes) -> list[Line]:
        nonlocal fed
        fed += len(chunk)
        if fed >= 5 * MIB:
            enough.set()
        return feed(splitter, chunk)

    monkeypatch.setattr(LineSplitter, "feed", counting)
    async with await run(f"for i in range(20): print('x' * {MIB})", tmp_path) as child:
        first = await anext(aiter(child.stdout_lines()))
        await asyncio.wait_for(enough.wait(), 20)
        for _ in range(20):
            await asyncio.sleep(0)
        assert child.returncode is None
        assert fed < 6 * MIB
        rest = await lines_of(child)
    assert [len(line.text) for line in [first, *rest]] == [MIB] * 20


async def test_reading_lines_can_be_left_and_taken_up_again(tmp_path: Path) -> None:
    code = "import sys; print('a', flush=True); sys.stdin.read(); print('b')"
    async with await run(code, tmp_path, stdin="pipe") as child:
        lines = child.stdout_lines()
        assert (await anext(lines)).text == "a"
        waiting = asyncio.ensure_future(anext(lines))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        child.close_stdin()
        assert [line.text for line in await lines_of(child)] == ["b"]


ECHO = "import sys; sys.stdout.write(sys.stdin.read())"


@pytest.mark.parametrize("text", ["", "来信\n", "x" * (3 * MIB)])
async def test_a_prompt_goes_in_by_standard_input(text: str, tmp_path: Path) -> None:
    async with await run(ECHO, tmp_path, stdin=text.encode()) as child:
        assert "\n".join(line.text for line in await lines_of(child)) == text.rstrip("\n")
        assert await child.wait() == 0


async def test_a_prompt_goes_in_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "prompt").write_text("from a file")
    async with await run(ECHO, tmp_path, stdin=tmp_path / "prompt") as child:
        assert await lines_of(child) == [Line("from a file")]
    with pytest.raises(ProcessError, match="input file"):
        await run(ECHO, tmp_path, stdin=tmp_path / "missing")


async def test_without_a_prompt_the_input_is_empty(tmp_path: Path) -> None:
    async with await run(ECHO, tmp_path) as child:
        assert await lines_of(child) == []
        with pytest.raises(BrokenPipeError):
            await child.write(b"x")


async def test_a_program_that_never_reads_its_prompt_is_no_error(tmp_path: Path) -> None:
    async with await run("print('done')", tmp_path, stdin=b"x" * MIB) as child:
        assert await lines_of(child) == [Line("done")]
        assert await child.wait() == 0


async def test_a_conversation_goes_back_and_forth(tmp_path: Path) -> None:
    code = "import sys\nfor line in sys.stdin: print(line.strip() * 2, flush=True)"
    async with await run(code, tmp_path, stdin="pipe") as child:
        lines = child.stdout_lines()
        for word in ("ab", "c" * 200_000):
            await child.write(word.encode() + b"\n")
            assert (await asyncio.wait_for(anext(lines), 20)).text == word * 2
        child.close_stdin()
        assert await child.wait() == 0
        with pytest.raises(BrokenPipeError):
            await child.write(b"too late")


async def test_a_grandchild_that_holds_the_pipe_does_not_hold_up_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """zai-org/feedback#104: the answer is complete when the program ends, not when its daemon does."""
    monkeypatch.setattr(process, "DRAIN_S", 0.05)
    code = "import os, time\nif os.fork() == 0: time.sleep(600)\nprint('answer')"
    async with await run(code, tmp_path) as child:
        assert await asyncio.wait_for(child.wait(), 20) == 0
        assert await lines_of(child) == [Line("answer")]


async def test_what_was_printed_before_the_end_arrives_though_a_grandchild_goes_on_printing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "DRAIN_S", 0.05)
    code = "import os, time\nif os.fork() == 0:\n  while os.write(1, b'noise\\n'): time.sleep(0.001)\nprint('answer')"
    async with await run(code, tmp_path) as child:
        texts = [line.text for line in await lines_of(child)]
    assert "answer" in texts


async def test_the_tail_of_standard_error_starts_with_a_whole_character(tmp_path: Path) -> None:
    async with await run("import sys; sys.stderr.write('信' * 10)", tmp_path, stderr_tail=8) as child:
        await lines_of(child)
        await child.wait()
        await child.kill_tree()
    assert child.stderr_tail().endswith("\n信信")


async def test_a_polite_signal_comes_first_and_is_enough(tmp_path: Path) -> None:
    code = (
        "import signal, sys, time\nsignal.signal(15, lambda *_: sys.exit(7))\nprint('up', flush=True)\ntime.sleep(600)"
    )
    async with await run(code, tmp_path) as child:
        await anext(aiter(child.stdout_lines()))
        report = await child.kill_tree(signal.SIGTERM, 20.0)
        assert child.returncode == 7
        assert report.killed == ()


async def test_a_polite_call_comes_first_and_is_enough(tmp_path: Path) -> None:
    async with await run("import sys; sys.stdin.read(); sys.exit(9)", tmp_path, stdin="pipe") as child:

        async def abort() -> None:
            child.close_stdin()

        await child.kill_tree(abort, 20.0)
        assert child.returncode == 9


async def test_a_polite_call_that_fails_or_hangs_does_not_save_the_program(tmp_path: Path) -> None:
    async def fail() -> None:
        raise OSError("no connection")

    async def hang() -> None:
        await asyncio.Event().wait()

    for polite in (fail, hang):
        async with await run("import time; time.sleep(600)", tmp_path) as child:
            await child.kill_tree(polite, 0.05)
            assert child.returncode == -signal.SIGKILL


async def test_ending_twice_or_from_two_sides_is_ending_once(tmp_path: Path) -> None:
    child = await run("import time; time.sleep(600)", tmp_path)
    first, second = await asyncio.gather(child.kill_tree(None), child.kill_tree(signal.SIGTERM, 60.0))
    assert first is second
    assert [process.pid for process in first.killed] == [child.pid]
    assert await child.kill_tree() is first
    assert system_table().look(child.pid) is None


async def test_a_caller_that_is_cancelled_still_ends_the_tree(tmp_path: Path) -> None:
    """untether#590"""
    child = await run(
        "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(600)", tmp_path
    )
    await anext(aiter(child.stdout_lines()))
    ending = asyncio.create_task(child.kill_tree(signal.SIGTERM, 0.1))
    await asyncio.sleep(0)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    assert child.returncode == -signal.SIGKILL


async def test_leaving_the_block_ends_the_tree_whatever_was_raised(tmp_path: Path) -> None:
    child = await run("import time; time.sleep(600)", tmp_path)
    with pytest.raises(KeyError):
        async with child:
            raise KeyError
    assert child.returncode == -signal.SIGKILL
    assert "pid" in repr(child)


def open_descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


async def test_no_descriptor_and_no_task_stays_behind(tmp_path: Path) -> None:
    """zai-org/feedback#101: a bridge that runs for weeks must not lose descriptors."""
    before = open_descriptors(), asyncio.all_tasks()
    for code in ("print(1)", "import os, time\nif os.fork() == 0: time.sleep(600)"):
        async with await run(code, tmp_path, stdin=b"x") as child:
            await child.wait()
    with pytest.raises(ProcessError):
        await start(["/no/such/program"], cwd=tmp_path, env=ENV)
    assert (open_descriptors(), asyncio.all_tasks()) == before


async def test_children_are_not_started_from_another_thread(tmp_path: Path) -> None:
    """The kernel's parent-death signal follows the forking thread: a sandbox would die with a worker thread."""
    raised: list[BaseException] = []

    def work() -> None:
        try:
            asyncio.run(run("pass", tmp_path))
        except RuntimeError as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert "main thread" in str(raised[0])


async def test_a_short_program_is_captured_whole(tmp_path: Path) -> None:
    code = "import sys; print('out'); print('out2'); print('err', file=sys.stderr); sys.exit(4)"
    captured = await capture([sys.executable, "-S", "-E", "-c", code], cwd=tmp_path, env=ENV)
    assert (captured.returncode, captured.stdout, captured.stderr) == (4, "out\nout2", "err\n")


async def test_a_short_program_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    code = "print('so far', flush=True); import time; time.sleep(600)"
    captured = await capture([sys.executable, "-S", "-E", "-c", code], cwd=tmp_path, env=ENV, timeout=0.1)
    assert captured.returncode is None
