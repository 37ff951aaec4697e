"""Reads both directions of one agent's wire and sorts the messages into exchanges, session by session."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from agentnb.acp.fields import mapping, text
from agentnb.cassette import mcp
from agentnb.cassette.changed_files import recorded_files
from agentnb.cassette.recording import OPENERS, PROMPT, RecordedExchange, Section, WireEvent
from agentnb.rpc_message import Lines, repair_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentnb.acp.peer import ChangedFile
    from agentnb.cassette.proxy import TurnFiles
    from agentnb.rpc_message import RpcMessage

_CROSSING = ("available_commands_update", "usage_update", "prompt_suggestions_update")


class RawSection:
    """One session while it is recorded, before it is cleaned."""

    def __init__(self, agent: str, launch: int, opener: RecordedExchange | None = None) -> None:
        self.section: Section = Section(agent=agent, launch=launch, exchanges=[opener] if opener else [])
        self.session_id: str | None = None
        self.cwd: str | None = text(mapping(opener.params).get("cwd")) if opener is not None else None
        self.prompt: RecordedExchange | None = None
        self.terminals: list[str] = []
        self.servers: dict[str, str] = mcp.served(opener.params if opener else None)
        self.connections: list[str] = []
        self.request_count = 0
        self._last = time.monotonic()

    def delay(self) -> int:
        """Returns the milliseconds since this was last called."""
        now = time.monotonic()
        passed, self._last = now - self._last, now
        return round(passed * 1000)

    def begin(self, exchange: RecordedExchange) -> None:
        self.delay()
        self.section.exchanges.append(exchange)
        if exchange.method == PROMPT:
            self.prompt = exchange

    def add(self, event: WireEvent) -> RecordedExchange | None:
        """Add an event; returns the exchange that it belongs to."""
        earlier = (each for each in reversed(self.section.exchanges) if each.method != mcp.MESSAGE)
        exchange = self._settled(event) or self.prompt or next(earlier, None)
        if exchange is not None:
            self.add_to(exchange, event)
        return exchange

    def _settled(self, event: WireEvent) -> RecordedExchange | None:
        """Returns the exchange for an announcement that can come slightly earlier or later; None to leave it there."""
        kind = event.update.get("sessionUpdate") if event.kind == "said" else None
        exchanges = [each for each in self.section.exchanges if each.method != mcp.MESSAGE]
        first = next((each for each in exchanges if each.method == PROMPT), None)
        if kind == "available_commands_update" and exchanges and (first is None or first is self.prompt):
            return exchanges[0]
        is_withdrawal = event.update.get("suggestions") == []  # it belongs to the turn that it begins
        if kind in _CROSSING and not is_withdrawal and self.prompt is not None and not self.prompt.before:
            before = [each for each in exchanges if each.method == PROMPT][:-1]
            return before[-1] if before else None
        return None

    def add_to(self, exchange: RecordedExchange, event: WireEvent) -> None:
        event.delay = self.delay()
        (exchange.after if exchange.answered else exchange.before).append(event)


class WireTap:
    def __init__(
        self,
        agent: str,
        launch: int = 1,
        on_rest: Callable[[], None] = lambda: None,
        *,
        description: dict[str, Any] | None = None,
        takes_files: bool = False,
        files: TurnFiles | None = None,
    ) -> None:
        self.agent = agent
        self.takes_files = takes_files
        self._files = files
        self.launch = launch
        self.connection: RawSection = RawSection(agent, launch)
        self.connection.section.description = description
        self.sessions: list[RawSection] = []
        self._on_rest = on_rest
        self._from_client, self._from_agent = Lines(), Lines()
        self._open: dict[str, tuple[RawSection, RecordedExchange]] = {}
        self._asks: dict[str, tuple[RawSection, RecordedExchange, WireEvent]] = {}
        self._early: dict[str, list[RpcMessage]] = {}

    def sent(self, data: bytes) -> None:
        """The client has written *data*."""
        for message in repair_messages(self._from_client.feed(data)):
            if isinstance(message.method, str) and message.id is not None:
                self._request(message.method, message)
            elif isinstance(message.method, str):
                self._section(message).add(WireEvent(kind="told", method=message.method, params=message.params))
            elif message.id is not None:
                self._client_answers(message)

    def received(self, data: bytes) -> None:
        """The agent has written *data*."""
        for message in repair_messages(self._from_agent.feed(data)):
            if isinstance(message.method, str):
                self._agent_says(message.method, message)
            elif message.id is not None:
                self._agent_answers(message)

    def served(self, params: dict[str, Any]) -> Callable[[Any, dict[str, Any] | None], None]:
        """Record a request that the agent makes to one of the client's MCP servers on another connection."""
        busy = [section for section in self.sessions if section.prompt is not None]
        section = next(reversed(busy or self.sessions), self.connection)
        section.request_count += 1
        ask = WireEvent(kind="asked", method=mcp.MESSAGE, params=params, id=section.request_count)
        exchange = section.add(ask)

        def answered(result: Any, error: dict[str, Any] | None) -> None:
            if exchange is not None:
                section.add_to(exchange, WireEvent(kind="answered", id=ask.id, result=result, error=error))

        return answered

    def changed_files(self, session_id: str, files: Sequence[ChangedFile], is_own: Callable[[str], bool]) -> None:
        """Record the files that the last turn of the session changed; may be called from another thread."""
        section = self._known({"sessionId": session_id})
        turns = [] if section is None else section.section.turns
        if turns and turns[-1].answered and (rows := recorded_files(files, is_own)):
            turns[-1].files = rows
            self._on_rest()

    def ended(self) -> None:
        """Record that the agent ended without being asked to."""
        for section in self.sessions:
            if section.prompt is not None:
                section.add_to(section.prompt, WireEvent(kind="said", method="$/gone"))
                section.prompt = None
        self._on_rest()

    def _request(self, method: str, message: RpcMessage) -> None:
        exchange = RecordedExchange(method=method, params=message.params)
        if method in OPENERS and (method == "session/fork" or self._known(message.params) is None):
            section = RawSection(self.agent, self.launch, exchange)
            self.sessions.append(section)
            if method != "session/fork":
                section.session_id = text(mapping(message.params).get("sessionId"))
        else:
            section = self._section(message)
            section.begin(exchange)
            if exchange is section.prompt and self._files is not None:
                self._files.begin(exchange, section.cwd)
        self._open[_key(message.id)] = (section, exchange)

    def _agent_answers(self, message: RpcMessage) -> None:
        section, exchange = self._open.pop(_key(message.id), (None, None))
        if section is None or exchange is None:
            return
        exchange.delay = section.delay()
        exchange.answered = True
        exchange.error = message.error
        exchange.result = message.value
        if exchange.method in OPENERS and isinstance(exchange.result, dict):
            self._opened(section, exchange.result)
        if exchange is section.prompt:
            section.prompt = None
            if self._files is not None:
                exchange.files = self._files.end(exchange)
            self._on_rest()

    def _opened(self, section: RawSection, result: dict[str, Any]) -> None:
        section.session_id = text(result.get("sessionId")) or section.session_id
        if section.session_id is not None:
            for message in self._early.pop(section.session_id, ()):
                self._agent_says(str(message.method), message)

    def _agent_says(self, method: str, message: RpcMessage) -> None:
        session = mapping(message.params).get("sessionId")
        is_opening = any(not exchange.answered and exchange.method in OPENERS for _, exchange in self._open.values())
        if isinstance(session, str) and is_opening and self._known(message.params) is None:
            self._early.setdefault(session, []).append(message)
            return
        section = self._section(message)
        if message.id is None:
            section.add(WireEvent(kind="said", method=method, params=message.params))
            return
        section.request_count += 1
        event = WireEvent(kind="asked", method=method, params=message.params, id=section.request_count)
        exchange = section.add(event)
        if exchange is not None:
            self._asks[_key(message.id)] = (section, exchange, event)

    def _client_answers(self, message: RpcMessage) -> None:
        section, exchange, ask = self._asks.pop(_key(message.id), (None, None, None))
        if section is None or exchange is None or ask is None:
            return
        result = message.value
        section.add_to(exchange, WireEvent(kind="answered", id=ask.id, result=result, error=message.error))
        if ask.method == "terminal/create" and (terminal := text(mapping(result).get("terminalId"))):
            section.terminals.append(terminal)
        if ask.method == mcp.CONNECT and (connection := mcp.connected(result)):
            section.connections.append(connection)

    def _known(self, params: Any) -> RawSection | None:
        session = text(mapping(params).get("sessionId"))
        if session is None:
            return None
        return next((section for section in reversed(self.sessions) if section.session_id == session), None)

    def _section(self, message: RpcMessage) -> RawSection:
        return self._known(message.params) or self._tooled(message) or self.connection

    def _tooled(self, message: RpcMessage) -> RawSection | None:
        """Returns the session of an MCP message, which names only a server given to it or a connection to it."""
        server, connection = mcp.addressed(message.method, message.params)
        tooled = [
            section for section in self.sessions if server in section.servers or connection in section.connections
        ]
        busy = [
            section for section in tooled if section.prompt is not None or not section.section.exchanges[0].answered
        ]
        return next(reversed(busy or tooled), None)


def _key(request: Any) -> str:
    """Returns an id as text, since some agents send ids back as text."""
    return str(request)
