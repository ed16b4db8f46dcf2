"""One turn of opencode: the conversation with its server from the start to the end, and how it was left."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any

from . import failures
from .events import Asked, Reader, Retry
from .model_choice import choose
from .outcome import Ended, aborted
from .questions import question
from .server import Server, ServerError
from .turn_mode import Rule
from .vendor.bridge_log import rfc3339
from .vendor.process import Child
from .vendor.redact import redact
from .vendor.turn import Decision, Emit, Started, Status, StopSignal, TurnRequest
from .vendor.wire import Failure

__all__ = ["AgentTurn", "Plan", "Times"]

LISTENING = "listening on "
NOBODY = Decision(False, "nobody can be asked in this turn")


@dataclass(frozen=True, slots=True)
class Times:
    """Limits in seconds. `start_s`: until the server is there and has a session. `probe_s`: of a first, repeated
    request. `call_s`: of any other, but the prompt. `abort_s`: from a stop until the turn says how it was left.
    `retries`: how often opencode may try a failing provider again before the bridge, with its longer pauses, does.
    `longest_retry_s`: a provider that wants a longer wait than that is a quota that is used up.
    `last_event_s`: for the events behind the answer. `exit_s`: between its last connection and its end.
    """

    start_s: float = 60.0
    probe_s: float = 3.0
    call_s: float = 30.0
    abort_s: float = 2.0
    retries: int = 3
    longest_retry_s: float = 120.0
    last_event_s: float = 1.0
    exit_s: float = 1.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What the bridge decided for the turn: rules, agent, model (``provider/model``, may be empty), password."""

    rules: list[Rule]
    agent: str
    model: str
    password: str = field(repr=False)


class AgentTurn:
    """One request on its way to its end. `now` is the epoch in seconds; `secrets` are kept out of what is shown."""

    def __init__(
        self,
        request: TurnRequest,
        plan: Plan,
        emit: Emit,
        stop: StopSignal,
        times: Times,
        *,
        now: Callable[[], float],
        secrets: tuple[str, ...] = (),
    ):
        self._request = request
        self._plan = plan
        self._emit = emit
        self._stop = stop
        self._times = times
        self._now = now
        self._secrets = secrets
        self._reader = Reader()
        self._server: Server | None = None
        self._session: str | None = None
        self._prompted = False
        self._lost = ""
        self._answer: dict[str, Any] | None = None
        self._hopeless: asyncio.Future[Retry] = asyncio.get_running_loop().create_future()
        self._title = f"AgentMail {request.session_id}"
        self._asked: set[str] = set()
        self._heard = asyncio.Event()
        self._idle = asyncio.Event()
        self._aside: set[asyncio.Task[None]] = set()

    async def ended(self, child: Child) -> Ended:
        """Talk to the server until the turn is over; no process of it is left afterwards."""
        try:
            async with child:
                return await self._beside(child)
        finally:
            for task in self._aside:
                task.cancel()
            await asyncio.gather(*self._aside, return_exceptions=True)
            if self._server is not None:
                await self._server.aclose()

    async def _beside(self, child: Child) -> Ended:
        """The turn, until it is over, is stopped, is given up, or its server ends."""
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        reading = asyncio.create_task(_read(child, address))
        working = asyncio.create_task(self._work(address))
        stopping = asyncio.create_task(self._stop.event.wait())
        exiting = asyncio.create_task(child.wait())
        waiting: set[asyncio.Future[Any]] = {working, stopping, exiting, self._hopeless}
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if not working.done() and not exiting.done():
                await self._break_off(working)
            if working.done() and not working.cancelled():
                failure, silent = await self._result(working, child)
                return self._end(failure, silent=silent)
            if self._stop.reason is not None or self._hopeless.done():
                return self._end(None)
            code = await child.wait()
            return self._end(failures.crashed(code, self._said(child)))
        finally:
            for task in (working, stopping, exiting, reading):
                task.cancel()
            await asyncio.wait({working, stopping, exiting, reading})

    async def _result(self, working: "asyncio.Task[Failure | None]", child: Child) -> tuple[Failure | None, bool]:
        """The failure that the work ended with, if any, and whether the server never came up."""
        if self._stop.reason is not None and working.exception() is not None:
            return None, False
        try:
            return working.result(), False
        except TimeoutError:
            return failures.not_started(self._times.start_s, self._said(child)), True
        except ServerError as error:
            if error.status is None:
                # Its connections end a moment before it does.
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._times.exit_s):
                        await child.wait()
                return failures.crashed(child.returncode, self._said(child) or str(error)), False
            return failures.from_text(str(error)), False

    def _end(self, failure: Failure | None, *, silent: bool = False) -> Ended:
        wait_until = None
        unfinished = self._answer is None or aborted(self._answer)
        if failure is None and self._hopeless.done() and self._stop.reason is None and unfinished:
            retry = self._hopeless.result()
            failure = failures.from_retry(retry.message)
            if self._far(retry):
                failure = Failure("quota", failure.message, failure.next_step)
                wait_until = rfc3339(retry.next_ms / 1000)
        native = self._session or self._request.native_session_id
        stopped = self._stop.reason
        return Ended(self._reader, self._answer, failure, native, self._lost, stopped, wait_until, silent)

    async def _work(self, address: "asyncio.Future[str]") -> Failure | None:
        """From the server's first word to the answer of the prompt. Raises TimeoutError when it does not come up."""
        request, plan, times = self._request, self._plan, self._times
        async with asyncio.timeout(times.start_s):
            url = await address
            server = Server(url, plan.password, str(request.workspace), probe_s=times.probe_s, call_s=times.call_s)
            self._server = server
            await server.until_healthy()
            config = await server.configuration()
            model = choose(plan.model, config, await server.providers())
            if isinstance(model, Failure):
                return model
            agents = await server.agents()
            if plan.agent not in agents:
                # Asked for by a wrong name, opencode takes another one, with other rights (opencode#36764).
                return failures.no_agent(plan.agent, agents)
            session = self._session = self._reader.session_id = await self._find_session(server)
            self._keep(asyncio.create_task(self._listen(server)))
            while not self._heard.is_set():
                # The stream is open for a while before events come through it, and no question may be missed.
                await server.rename_session(session, self._title)
                await _within(self._heard, times.probe_s / 10)
        self._emit(Started(session))
        self._prompted = True
        self._answer = await server.prompt(session, request.prompt, agent=plan.agent, model=model)
        # The last events may still be on their way: they are worth a moment, since they are shown.
        await _within(self._idle, times.last_event_s)
        return None

    async def _find_session(self, server: Server) -> str:
        """The session of this turn, under this turn's rules: the known one if it is of this directory."""
        known, here = self._request.native_session_id, str(self._request.workspace)
        if known is not None:
            directory = await server.session_directory(known)
            if directory == here:
                await server.set_rules(known, self._plan.rules)
                return known
            # opencode would run it there, and nobody here would see what it does (opencode#41841).
            self._lost = "opencode has no session of this thread any more, so it began a fresh one."
            if directory is not None:
                self._lost = f"opencode's session of this thread belongs to {directory}, so it began a fresh one."
        return await server.create_session(self._title, self._plan.rules)

    async def _listen(self, server: Server) -> None:
        """Follow the events, over as many connections as it takes."""
        while True:
            async with server.events() as events:
                with suppress(ServerError):
                    for waiting in await server.open_permissions():
                        self._ask_once(server, Asked.read(waiting))
                await self._follow(server, events)

    async def _follow(self, server: Server, events: AsyncIterator[str]) -> None:
        reader = self._reader
        async for data in events:
            for event in reader.feed(data):
                self._emit(event)
            if reader.heard:
                self._heard.set()
            if reader.idle:
                self._idle.set()
            for asked in reader.asked:
                self._ask_once(server, asked)
            for question_id in reader.questions:
                self._keep(asyncio.create_task(_reject(server, question_id)))
            reader.asked.clear()
            reader.questions.clear()
            retry, reader.retry = reader.retry, None
            if retry is not None and self._too_much(retry) and not self._hopeless.done():
                self._hopeless.set_result(retry)

    def _ask_once(self, server: Server, asked: Asked) -> None:
        if asked.id not in self._asked:
            self._asked.add(asked.id)
            self._keep(asyncio.create_task(self._decide(server, asked)))

    async def _decide(self, server: Server, asked: Asked) -> None:
        """Put opencode's question to a person, and tell it what came of it. Silence is no, and the turn goes on."""
        about = question(asked)
        ask = self._request.ask
        if ask is None:
            decision = NOBODY
        else:
            self._emit(Status(f"waits for a person's word (see: agentmail questions): {about.summary}"))
            decision = await ask(about)
        self._emit(Status(f"{'allowed' if decision.allowed else 'refused'} ({decision.why}): {about.summary}"))
        message = f"This was not allowed: {decision.why}. Go on without it, and say in your answer what was left out."
        # A question can be gone: refusing one of several refuses them all.
        with suppress(ServerError):
            await server.reply(asked.id, allowed=decision.allowed, message=message)

    def _too_much(self, retry: Retry) -> bool:
        return retry.attempt > self._times.retries or self._far(retry)

    def _far(self, retry: Retry) -> bool:
        return retry.next_ms / 1000 - self._now() > self._times.longest_retry_s

    async def _break_off(self, working: "asyncio.Task[Failure | None]") -> None:
        """Ask the server to stop: first the turn, so that its session stays in order, then all that it runs."""
        server = self._server
        if server is None or self._session is None:
            return
        with suppress(ServerError):
            await server.abort(self._session)
            await asyncio.wait({working}, timeout=self._times.abort_s)
        with suppress(ServerError):
            await server.dispose()

    def _said(self, child: Child) -> str:
        return redact(child.stderr_tail(), self._secrets)

    def _keep(self, task: "asyncio.Task[None]") -> None:
        self._aside.add(task)


async def _read(child: Child, address: "asyncio.Future[str]") -> None:
    """Take what the server prints, to its end; the address is in a line of it."""
    async with aclosing(child.stdout_lines()) as lines:
        async for line in lines:
            if LISTENING in line.text and not address.done():
                address.set_result(line.text.split(LISTENING, 1)[1].split()[0])


async def _within(event: asyncio.Event, seconds: float) -> None:
    """Return when `event` is set, or after `seconds`."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


async def _reject(server: Server, question_id: str) -> None:
    with suppress(ServerError):
        await server.reject_question(question_id)
