"""An ACP agent over stdio that says what was recorded, and asks the client again for what was asked.

Files, terminals, permissions and questions are real requests to today's client: what they do happens again, under
today's policy. Files that the recorded agent wrote by itself are written here
(:mod:`agentnb.cassette.replayed_files`). Where the answer is another than the recorded one, what the recorded agent did
next does not follow from it; the turn then fails and says so.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.acp.failure import CASSETTE
from agentnb.acp.stdio import Output, read_input
from agentnb.cassette import file, mcp
from agentnb.cassette.changed_files import keeps_files
from agentnb.cassette.compare import difference, mismatch
from agentnb.cassette.marks import Secrets
from agentnb.cassette.recording import OPENERS, PROMPT, Event, Exchange
from agentnb.cassette.replayed_files import ReplayedFiles
from agentnb.cassette.report import REPORTS, Report, say
from agentnb.cassette.store import ReplayedSession, Store
from agentnb.errors import AgentnbError
from agentnb.rpc_message import METHOD_NOT_FOUND, Lines, RpcError, encode, repair_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable
    from pathlib import Path

    from agentnb.rpc_message import RpcMessage

GONE = "$/gone"
_CANCEL = "session/cancel"


class Stdio:
    """Reads and writes messages."""

    def __init__(self) -> None:
        self._output: Output | None = None

    async def serve(self, on_message: Callable[[RpcMessage], None]) -> None:
        """Hand over each message as it comes, until there are no more."""
        self._output = Output(sink=1, name="agentnb-replay-write")
        ended = asyncio.get_running_loop().create_future()
        lines = Lines()

        def take(data: bytes) -> None:
            for message in repair_messages(lines.feed(data) if data else lines.rest()):
                on_message(message)
            if not data and not ended.done():
                ended.set_result(None)

        read_input(take, source=0, name="agentnb-replay-read")
        await ended

    def send(self, messages: Iterable[dict[str, Any]]) -> None:
        """Write *messages* at once."""
        data = b"".join(Lines.frame(encode({"jsonrpc": "2.0", **message})) for message in messages)
        if data and self._output is not None:
            self._output.write(data)

    def flush(self) -> None:
        """Wait until everything is written, or nobody reads it."""
        if self._output is not None:
            self._output.finish()


class Turn:
    """One prompt that is being replayed."""

    def __init__(self) -> None:
        self.cancelled = asyncio.Event()
        self.asks: dict[int, tuple[Event, asyncio.Future[tuple[Any, Any]]]] = {}


class Replayer:
    """Replays one cassette to one client."""

    def __init__(
        self, store: Store | AgentnbError, stdio: Stdio, *, paced: bool, report: Report, writes: bool = True
    ) -> None:
        self._store = store
        self._stdio = stdio
        self._paced = paced
        self._report = report
        self._writes = writes
        self._last_id = 0
        self._waiting: dict[int, asyncio.Future[tuple[Any, Any]]] = {}
        self._turns: dict[str, Turn] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Replay until the client closes our stdin."""
        await self._stdio.serve(self._take)
        for task in tuple(self._tasks):
            task.cancel()
        self._stdio.flush()

    def _take(self, message: RpcMessage) -> None:
        method = message.method
        if isinstance(method, str) and message.id is not None:
            self._keep(self._serve(method, message))
        elif method == _CANCEL and isinstance(message.params, dict):
            turn = self._turns.get(str(message.params.get("sessionId")))
            if turn is not None:
                turn.cancelled.set()
        elif not isinstance(method, str):
            waiting = self._waiting.pop(message.id, None) if isinstance(message.id, int) else None
            if waiting is not None and not waiting.done():
                waiting.set_result((message.value, message.error))

    async def _serve(self, method: str, message: RpcMessage) -> None:
        params = message.params if isinstance(message.params, dict) else {}
        try:
            await self._answer(method, params, message.id)
        except AgentnbError as error:
            self._report.mismatch(str(error))
            problem = {"code": CASSETTE, "message": str(error), "data": {"kind": type(error).__name__}}
            self._stdio.send([{"id": message.id, "error": problem}])
        except RpcError as error:
            self._stdio.send([{"id": message.id, "error": error.to_json()}])

    async def _answer(self, method: str, params: dict[str, Any], request: Any) -> None:
        if isinstance(self._store, AgentnbError):
            raise self._store
        playing = self._store.playing.get(str(params.get("sessionId"))) or self._store.connected(
            params.get("connectionId")
        )
        if method in OPENERS and (playing is None or method == "session/fork"):
            playing, found = self._store.open(method, params)
        elif playing is not None:
            found = self._store.request(playing, method, params)  # type: ignore[assignment]
        elif "sessionId" in params:
            raise RpcError(METHOD_NOT_FOUND, f"There is no session {params['sessionId']!r}.")
        else:
            found = self._store.outside(method, params)  # type: ignore[assignment]
            playing = ReplayedSession(self._store.connection[0].section, self._store.connection[0].marks)
        if isinstance(found, dict):
            self._stdio.send([{"id": request, "result": found}])
        else:
            await self._play(playing, found, request)

    async def _play(self, playing: ReplayedSession, exchange: Exchange, request: Any) -> None:
        turn = Turn()
        session = playing.marks.session_id
        is_prompt = exchange.method == PROMPT and session is not None
        if is_prompt and session is not None:
            self._turns[session] = turn
            self._report.used(playing.section.session, playing.section.turns.index(exchange) + 1)
        try:
            files = self._files(playing, exchange) if is_prompt else None
            # What came late comes before the answer, so that nothing hangs on who is faster.
            late = exchange.after if is_prompt and not self._paced else []
            if not await self._events(playing, turn, [*exchange.before, *late]):
                self._stdio.send([{"id": request, "result": {"stopReason": "cancelled"}}])
                return
            if not exchange.answered:
                raise mismatch(_never_answered(playing, exchange))
            await self._pause(exchange.delay, turn)
            if files is not None:
                files.end()
            self._stdio.send([{"id": request, **_response(playing.marks.fill(_answer_of(exchange)))}])
            if not late:
                await self._events(playing, Turn(), exchange.after)
        finally:
            if is_prompt and session is not None and self._turns.get(session) is turn:
                del self._turns[session]

    def _files(self, playing: ReplayedSession, exchange: Exchange) -> ReplayedFiles | None:
        """The files that the recorded agent wrote by itself in a turn; None where it did not, or they are left out."""
        if not exchange.files or not self._writes or playing.marks.cwd is None or isinstance(self._store, AgentnbError):
            return None
        files = ReplayedFiles(exchange, playing.marks, self._store.ruled, self._store.left)
        files.begin()
        return files

    async def _events(self, playing: ReplayedSession, turn: Turn, events: list[Event]) -> bool:
        """Play *events*; False when the client cancelled the turn, which it did not do when it was recorded."""
        ready: list[dict[str, Any]] = []
        for number, event in enumerate(events):
            if turn.cancelled.is_set() and not _is_cancelled(events[number:]):
                break
            if self._paced and event.kind in ("said", "asked"):
                await self._pause(event.delay, turn)
            if event.kind == "said" and event.method == GONE:
                self._leave(ready)
            if event.kind == "said":
                ready.append({"method": event.method, "params": playing.marks.fill(event.params)})
            elif event.kind == "asked":
                self._ask(playing, turn, event, ready)
            if event.kind in ("answered", "told") or self._paced:
                self._stdio.send(ready)
                ready = []
            if event.kind == "answered":
                await self._answered(playing, turn, event)
            elif event.kind == "told" and event.method == _CANCEL:
                await turn.cancelled.wait()
        else:
            self._stdio.send(ready)
            return not turn.cancelled.is_set() or _is_cancelled(events)
        self._stdio.send(ready)
        return False

    def _ask(self, playing: ReplayedSession, turn: Turn, event: Event, ready: list[dict[str, Any]]) -> None:
        """Ask what the recorded agent asked."""
        params = playing.marks.fill(event.params)
        self._last_id += 1
        waiting: asyncio.Future[tuple[Any, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[self._last_id] = waiting
        turn.asks[event.id] = (event, waiting)
        ready.append({"id": self._last_id, "method": event.method, "params": params})

    async def _answered(self, playing: ReplayedSession, turn: Turn, recorded: Event) -> None:
        """Wait for today's answer, and compare it with the recorded one."""
        ask, waiting = turn.asks.pop(recorded.id, (None, None))
        if ask is None or waiting is None:
            return
        result, error = await waiting
        if ask.method == "terminal/output":
            result, error = await self._output(playing, ask, recorded, result, error)
        if ask.method == "terminal/create" and isinstance(result, dict) and isinstance(result.get("terminalId"), str):
            playing.marks.terminal(result["terminalId"])
        if ask.method == mcp.CONNECT and (connection := mcp.connected(result)):
            playing.marks.tools.connections.append(connection)
        if turn.cancelled.is_set() or isinstance(self._store, AgentnbError):
            return
        ruled, clean = self._store.ruled, playing.marks.clean
        then = msgspec.structs.replace(recorded, result=ruled(recorded.result))
        written = self._store.written(str(ask.params.get("path"))) if isinstance(ask.params, dict) else ()
        differs = difference(ask, then, ruled(clean(result)), clean(error), header=self._store.header, written=written)
        if differs is not None:
            why = f" It said: {error.get('message')}" if isinstance(error, dict) else ""
            text = f"The answer to the agent is not the recorded one. {playing.marks.fill(differs)}{why}"
            raise mismatch(f"{text}\nWhat the agent did next does not follow from that.")

    async def _output(
        self, playing: ReplayedSession, ask: Event, recorded: Event, result: Any, error: Any
    ) -> tuple[Any, Any]:
        """Wait for a terminal that had ended in the recording, since agents ask until it has."""
        then = isinstance(recorded.result, dict) and recorded.result.get("exitStatus")
        now = isinstance(result, dict) and result.get("exitStatus")
        if bool(then) == bool(now) or error is not None:
            return result, error
        if now:
            return {name: item for name, item in result.items() if name != "exitStatus"}, error
        params = playing.marks.fill(ask.params)
        await self._request("terminal/wait_for_exit", params)
        return await self._request(ask.method, params)

    async def _request(self, method: str, params: Any) -> tuple[Any, Any]:
        self._last_id += 1
        waiting: asyncio.Future[tuple[Any, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[self._last_id] = waiting
        self._stdio.send([{"id": self._last_id, "method": method, "params": params}])
        return await waiting

    async def _pause(self, delay: int, turn: Turn) -> None:
        if self._paced and delay:
            await asyncio.wait([asyncio.ensure_future(turn.cancelled.wait())], timeout=delay / 1000)

    def _leave(self, ready: list[dict[str, Any]]) -> None:
        """The recorded agent died here."""
        self._stdio.send(ready)
        self._stdio.flush()
        os._exit(1)

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _is_cancelled(events: list[Event]) -> bool:
    return any(event.kind == "told" and event.method == _CANCEL for event in events)


def _answer_of(exchange: Exchange) -> dict[str, Any]:
    return {"error": exchange.error} if exchange.error is not None else {"result": exchange.result}


def _response(answer: Any) -> dict[str, Any]:
    return dict(answer)


def _never_answered(playing: ReplayedSession, exchange: Exchange) -> str:
    """What to say of a request that the recorded agent did not answer: it died, or the recording was broken off."""
    number = next((number for number, turn in enumerate(playing.section.turns, 1) if turn is exchange), None)
    if number is not None:
        return f"The recording stops within turn {number}."
    return f"The recording stops at {exchange.method}: the agent ended, or was ended, before it answered."


def replay(path: Path, *, agent: str | None = None, launch: int | None = None, paced: bool = False) -> int:
    """Serve one ACP client on stdin and stdout until it closes stdin."""
    report = Report(path, os.environ.get(REPORTS))
    store: Store | AgentnbError
    writes = True
    try:
        writes = keeps_files(os.environ)
        store = Store(file.read(path), agent, launch, Secrets(os.environ))
    except AgentnbError as error:
        say(str(error))
        store = error
    asyncio.run(Replayer(store, Stdio(), paced=paced, report=report, writes=writes).run())
    report.finished()
    if isinstance(store, AgentnbError):
        return 1
    for section, number in store.unused():
        say(f"{path}:{section.turns[number - 1].line}: turn {number} of session {section.session} was not asked for.")
    return 1 if report.mismatches else 0
