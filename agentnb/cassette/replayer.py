"""An ACP agent over stdio that replays what was recorded, including the agent's requests to the client."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.acp.failure import CASSETTE
from agentnb.acp.fields import mapping
from agentnb.acp.peer import Output, read_input
from agentnb.cassette import file, mcp
from agentnb.cassette.changed_files import keeps_files
from agentnb.cassette.compare import difference, mismatch
from agentnb.cassette.marks import Secrets
from agentnb.cassette.recording import OPENERS, PROMPT, RecordedExchange, WireEvent
from agentnb.cassette.replayed_files import ReplayedFiles
from agentnb.cassette.report import REPORTS, ReplayReport, say
from agentnb.cassette.store import RecordedSessions, ReplayedSession
from agentnb.errors import AgentnbError
from agentnb.rpc import Connection, Dialect, to_error
from agentnb.rpc_message import METHOD_NOT_FOUND, RpcError

if TYPE_CHECKING:
    from pathlib import Path

    Answer = tuple[Any, Exception | None]

GONE = "$/gone"
_CANCEL = "session/cancel"


class ReplayedTurn:
    def __init__(self) -> None:
        self.cancelled: asyncio.Event = asyncio.Event()
        self.asks: dict[int, tuple[WireEvent, asyncio.Future[Answer]]] = {}


class _RecordedError(RpcError):
    """An error that the recorded agent answered with, sent unchanged."""

    def __init__(self, error: Any) -> None:
        super().__init__(CASSETTE, "")
        self._error = error

    def to_json(self) -> Any:
        return self._error


class Replayer:
    """Replays one cassette to one client, on stdin and stdout."""

    def __init__(
        self, store: RecordedSessions | AgentnbError, report: ReplayReport, *, paced: bool, writes: bool
    ) -> None:
        self._store = store
        self._paced = paced
        self._report = report
        self._writes = writes
        self._turns: dict[str, ReplayedTurn] = {}
        self._output = Output(name="agentnb-replay-write")
        self._connection = Connection(
            self._output.write,
            Dialect(repairs=True),
            on_request=self._answer,
            on_notifications=self._take,
            to_error=self._to_error,
        )

    async def run(self) -> None:
        """Replay until the client closes our stdin."""
        ended = asyncio.Event()

        def read(data: bytes) -> None:
            if data:
                self._connection.feed(data)
            else:
                ended.set()

        read_input(read, name="agentnb-replay-read")
        await ended.wait()
        self._connection.close()
        self._output.finish()

    def _take(self, notifications: list[tuple[str, Any]]) -> None:
        for method, params in notifications:
            turn = self._turns.get(str(mapping(params).get("sessionId"))) if method == _CANCEL else None
            if turn is not None:
                turn.cancelled.set()

    def _to_error(self, error: Exception) -> RpcError:
        if not isinstance(error, AgentnbError):
            return to_error(error)
        self._report.mismatch(str(error))
        return RpcError(CASSETTE, str(error), {"kind": type(error).__name__})

    async def _answer(self, method: str, received: Any) -> Any:
        params = mapping(received)
        if isinstance(self._store, AgentnbError):
            raise self._store
        recorded: RecordedExchange | dict[str, Any]
        playing = self._store.playing.get(str(params.get("sessionId"))) or self._store.connected(
            params.get("connectionId")
        )
        if method in OPENERS and (playing is None or method == "session/fork"):
            playing, recorded = self._store.open(method, params)
        elif playing is not None:
            recorded = self._store.request(playing, method, params)
        elif "sessionId" in params:
            raise RpcError(METHOD_NOT_FOUND, f"There is no session {params['sessionId']!r}.")
        else:
            recorded = self._store.outside(method, params)
            playing = ReplayedSession(self._store.connection[0].section, self._store.connection[0].marks)
        return recorded if isinstance(recorded, dict) else await self._play(playing, recorded)

    async def _play(self, playing: ReplayedSession, exchange: RecordedExchange) -> Any:
        """Do what the recorded agent did during *exchange*; returns its answer."""
        turn = ReplayedTurn()
        session = playing.marks.session_id if exchange.method == PROMPT else None
        if session is not None:
            self._turns[session] = turn
            self._report.used(playing.section.session, playing.section.turns.index(exchange) + 1)
        try:
            files = self._files(playing, exchange) if session is not None else None
            # Late events are sent before the answer, so that the order does not depend on timing.
            late = exchange.after if session is not None and not self._paced else []
            if not await self._events(playing, turn, [*exchange.before, *late]):
                return {"stopReason": "cancelled"}
            if not exchange.answered:
                raise mismatch(_never_answered(playing, exchange))
            await self._pause(exchange.delay, turn)
            if files is not None:
                files.end()
        finally:
            if session is not None and self._turns.get(session) is turn:
                del self._turns[session]
        if not late:
            self._connection.spawn(self._events(playing, ReplayedTurn(), exchange.after))  # sent after the answer
        if exchange.error is not None:
            raise _RecordedError(playing.marks.fill(exchange.error))
        return playing.marks.fill(exchange.result)

    def _files(self, playing: ReplayedSession, exchange: RecordedExchange) -> ReplayedFiles | None:
        """Returns the files the recorded agent wrote directly in a turn; None if there are none or they are omitted."""
        if not exchange.files or not self._writes or playing.marks.cwd is None or isinstance(self._store, AgentnbError):
            return None
        files = ReplayedFiles(exchange, playing.marks, self._store.ruled, self._store.left)
        files.begin()
        return files

    async def _events(self, playing: ReplayedSession, turn: ReplayedTurn, events: list[WireEvent]) -> bool:
        """Play *events*; returns False if the client cancelled the turn, which it did not do in the recording."""
        for number, event in enumerate(events):
            if turn.cancelled.is_set() and not _is_cancelled(events[number:]):
                return False
            if event.kind in ("said", "asked"):
                await self._pause(event.delay, turn)
            if event.kind == "said" and event.method == GONE:
                self._output.finish()
                os._exit(1)  # the recorded agent died here
            if event.kind == "said":
                self._connection.notify(event.method, playing.marks.fill(event.params))
            elif event.kind == "asked":
                turn.asks[event.id] = (event, self._request(event.method, playing.marks.fill(event.params)))
            elif event.kind == "answered":
                await self._answered(playing, turn, event)
            elif event.method == _CANCEL:
                await turn.cancelled.wait()
        return not turn.cancelled.is_set() or _is_cancelled(events)

    async def _answered(self, playing: ReplayedSession, turn: ReplayedTurn, recorded: WireEvent) -> None:
        """Wait for today's answer, and compare it with the recorded one."""
        ask, waiting = turn.asks.pop(recorded.id, (None, None))
        if ask is None or waiting is None:
            return
        result, error = await waiting
        if ask.method == "terminal/output":
            result, error = await self._finished(playing, ask, recorded, result, error)
        if ask.method == "terminal/create" and isinstance(result, dict) and isinstance(result.get("terminalId"), str):
            playing.marks.terminal(result["terminalId"])
        if ask.method == mcp.CONNECT and (connection := mcp.connected(result)):
            playing.marks.tools.connections.append(connection)
        if turn.cancelled.is_set() or isinstance(self._store, AgentnbError):
            return
        ruled, clean = self._store.ruled, playing.marks.clean
        then = msgspec.structs.replace(recorded, result=ruled(recorded.result))
        written = self._store.written(str(mapping(ask.params).get("path")))
        differs = difference(ask, then, ruled(clean(result)), error, header=self._store.header, written=written)
        if differs is not None:
            why = "" if error is None else f" It said: {error}"
            text = f"The answer to the agent differs from the recorded one. {playing.marks.fill(differs)}{why}"
            raise mismatch(f"{text}\nWhat the agent did next does not apply to that.")

    async def _finished(
        self, playing: ReplayedSession, ask: WireEvent, recorded: WireEvent, result: Any, error: Any
    ) -> Answer:
        """Wait for a terminal that had ended in the recording, since agents poll until it has."""
        then, now = (mapping(answer).get("exitStatus") for answer in (recorded.result, result))
        if bool(then) == bool(now) or error is not None:
            return result, error
        if now:
            return {name: item for name, item in result.items() if name != "exitStatus"}, error
        params = playing.marks.fill(ask.params)
        await self._request("terminal/wait_for_exit", params)
        return await self._request(ask.method, params)

    def _request(self, method: str, params: Any) -> asyncio.Future[Answer]:
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

        def done(result: Any, error: Exception | None) -> None:
            if not answer.done():
                answer.set_result((result, error))

        self._connection.call(method, params, done)
        return answer

    async def _pause(self, delay: int, turn: ReplayedTurn) -> None:
        if self._paced and delay:
            await asyncio.wait([asyncio.ensure_future(turn.cancelled.wait())], timeout=delay / 1000)


def _is_cancelled(events: list[WireEvent]) -> bool:
    return any(event.kind == "told" and event.method == _CANCEL for event in events)


def _never_answered(playing: ReplayedSession, exchange: RecordedExchange) -> str:
    """Returns a message about a request that the recorded agent never answered: it died, or the recording broke off."""
    number = next((number for number, turn in enumerate(playing.section.turns, 1) if turn is exchange), None)
    if number is not None:
        return f"The recording stops within turn {number}."
    return f"The recording stops at {exchange.method}: the agent ended, or was stopped, before it answered."


def replay(path: Path, *, agent: str | None = None, launch: int | None = None, paced: bool = False) -> int:
    """Serve one ACP client on stdin and stdout until it closes stdin."""
    report = ReplayReport(path, os.environ.get(REPORTS))
    store: RecordedSessions | AgentnbError
    writes = True
    try:
        writes = keeps_files(os.environ)
        store = RecordedSessions(file.read(path), agent, launch, Secrets(os.environ))
    except AgentnbError as error:
        say(str(error))
        store = error

    async def run() -> None:
        await Replayer(store, report, paced=paced, writes=writes).run()

    asyncio.run(run())
    report.finished()
    if isinstance(store, AgentnbError):
        return 1
    for section, number in store.unused():
        say(f"{path}:{section.turns[number - 1].line}: turn {number} of session {section.session} was not used.")
    return 1 if report.mismatches else 0
