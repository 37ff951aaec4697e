"""A place in the chain that is a component in Python."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

from agentnb.acp.fields import mapping
from agentnb.ids import new_id
from agentnb.kernel.server import ServerAbout, ToolMcpServer
from agentnb.plugins.chain.components.component import overrides
from agentnb.plugins.chain.conductor.chain import DOWN, INITIALIZE, QUIET_SECONDS, UP, ChainPlace, sentence
from agentnb.plugins.chain.conductor.raw_message import RawMessage, encoded, refusal, request, result
from agentnb.rpc_message import CANCELLED, INTERNAL_ERROR, RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from agentnb.plugins.chain.components.component import Component
    from agentnb.plugins.chain.conductor.chain import Way

SESSIONS = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
PROMPT, UPDATE, CANCEL = "session/prompt", "session/update", "session/cancel"
MCP = frozenset({"mcp/connect", "mcp/message", "mcp/disconnect"})


class _ToolServers:
    """The MCP servers of a component, one for each session: a turn that is cancelled ends its own calls only."""

    def __init__(self, component: Component) -> None:
        tools = {tool.name: tool.describe() for tool in component.tools}
        self._component = component
        self._server = ToolMcpServer(self, ServerAbout(component.name, component.name, component.about, tools))
        self._sessions: dict[str, str | None] = {}
        self._opening: dict[Any, str] = {}
        self._connections: dict[str, str] = {}
        self._calls: dict[Any, tuple[asyncio.Task[None], str | None]] = {}

    async def call(self, name: str, arguments: Any) -> dict[str, Any]:
        """See :class:`agentnb.kernel.server.ToolCaller`."""
        tool = next(tool for tool in self._component.tools if tool.name == name)
        return await tool.call(mapping(arguments))

    def added(self, params: dict[str, Any], message: RawMessage) -> dict[str, Any]:
        """Returns the parameters of *message*, which opens a session, with a tool server for that session."""
        self._opening[message.id] = server = new_id()
        self._sessions[server] = params.get("sessionId")
        own = {"type": "acp", "name": self._component.name, "serverId": server, "id": server}
        return {**params, "mcpServers": [*(params.get("mcpServers") or []), own]}

    def opened(self, message: RawMessage, answer: RawMessage) -> None:
        """Assign the server to the session that was opened, or drop it if opening failed."""
        server = self._opening.pop(message.id, None)
        if server is None:
            return
        if answer.error:
            del self._sessions[server]
        else:
            self._sessions[server] = _session_of(message, answer)

    def owns(self, message: RawMessage) -> bool:
        params = message.read_params()
        if message.method == "mcp/connect":
            return _server_of(params) in self._sessions
        return params.get("connectionId") in self._connections

    def begin(self, message: RawMessage, task: asyncio.Task[None]) -> None:
        connection = str(message.read_params().get("connectionId"))
        self._calls[message.id] = task, self._connections.get(connection)
        task.add_done_callback(lambda _: self._calls.pop(message.id, None))

    @property
    def tasks(self) -> set[asyncio.Task[None]]:
        return {task for task, _ in self._calls.values()}

    def cancel(self, request_id: Any) -> None:
        if (call := self._calls.get(request_id)) is not None:
            call[0].cancel()

    def cancel_turn(self, session_id: str) -> None:
        """Cancel the tool calls of the session's turn, even if the agent does not."""
        for task, server in [*self._calls.values()]:
            if server is not None and self._sessions.get(server) == session_id:
                task.cancel()

    async def answer(self, method: str, params: dict[str, Any]) -> Any:
        if method == "mcp/connect":
            connection = new_id()
            self._connections[connection] = _server_of(params)
            return {"connectionId": connection}
        if method == "mcp/disconnect":
            self._connections.pop(str(params.get("connectionId")), None)
            return {}
        return await self._server.request(str(params.get("method")), mapping(params.get("params")))


class PythonPlace(ChainPlace):
    def __init__(self, component: Component, name: str) -> None:
        super().__init__(name)
        self.component = component
        self._servers = _ToolServers(component)
        self._sees_all = overrides(component, "on_message")
        self._down = {INITIALIZE}
        if overrides(component, "on_session") or overrides(component, "on_opened") or component.tools:
            self._down |= SESSIONS
        if overrides(component, "on_prompt"):
            self._down |= {PROMPT}
        if component.tools:
            self._down |= {CANCEL}
        self._up = set(MCP) if component.tools else set()
        if overrides(component, "on_update"):
            self._up |= {UPDATE}
        self._waiting: deque[Callable[[], Coroutine[Any, Any, None] | None]] = deque()
        self._working: asyncio.Task[None] | None = None
        self._prompting: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def wants(self, method: str, way: Way) -> bool:
        # later messages must not overtake a prompt that the component is still reading
        return self._sees_all or method in (self._down if way == DOWN else self._up) or (way == DOWN and self._is_busy)

    def take(self, message: RawMessage, way: Way) -> None:
        self._see(message, way)
        if message.method == "$/cancel_request":
            self._servers.cancel(message.read_params().get("requestId"))
            return
        if way == UP:
            self._take_up(message)
            return
        if message.method == CANCEL:
            self._cancel_turn(str(message.read_params().get("sessionId")))
        if self._is_busy:
            self._waiting.append(lambda: self._take_down(message))
        else:
            self._start(self._take_down(message))

    def give_up(self) -> None:
        if self._working is not None:
            self._working.cancel()

    async def finish(self, deadline: float) -> None:
        """See :meth:`ChainPlace.finish`: carries on answers that the component inspects."""
        left = deadline - self.chain.loop.time()
        looked_at = self._tasks - self._servers.tasks - {self._working}
        if looked_at and left > 0:
            await asyncio.wait(looked_at, timeout=min(QUIET_SECONDS, left))

    def close(self) -> None:
        for task in [*self._tasks]:
            task.cancel()
        self._waiting.clear()
        try:
            self.component.close()
        except Exception as error:  # noqa: BLE001 - somebody else's code; the chain ends all the same
            self._note("close", error)

    # --- towards the agent ---

    @property
    def _is_busy(self) -> bool:
        return self._working is not None

    def _start(self, work: Coroutine[Any, Any, None] | None) -> None:
        while work is None and self._waiting:
            work = self._waiting.popleft()()
        if work is None:
            self._working = None
            return
        self._working = self._spawn(work)
        self._working.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._working = None
        if not task.cancelled():
            task.exception()
        self._start(None)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _take_down(self, message: RawMessage) -> Coroutine[Any, Any, None] | None:
        """Pass *message* on; if the component must see it first, returns the coroutine that does so."""
        method = message.method
        if message.is_request and method in SESSIONS and method in self._down:
            return self._open(message)
        if message.is_request and method == PROMPT and method in self._down:
            return self._prompt(message)
        self._pass_on(message, DOWN)
        return None

    async def _open(self, message: RawMessage) -> None:
        params = message.read_params()
        try:
            if overrides(self.component, "on_session"):
                params = _checked(await self.component.on_session(params), dict, "on_session")
        except Exception as error:  # noqa: BLE001 - somebody else's code; whoever opens the session is told
            self._refuse(message, "on_session", error)
            return
        if self.component.tools:
            params = self._servers.added(params, message)
        self._pass_on(RawMessage(method=message.method, id=message.id, params=encoded(params)), DOWN)

    async def _prompt(self, message: RawMessage) -> None:
        params = message.read_params()
        session_id = str(params.get("sessionId"))
        task = asyncio.current_task()
        if task is not None:
            self._prompting[session_id] = task
        try:
            blocks = await self.component.on_prompt(session_id, params.get("prompt") or [])
            params["prompt"] = _checked(blocks, list, "on_prompt")
        except asyncio.CancelledError:
            self.chain.answered(self.index, result(message.id, {"stopReason": "cancelled"}))
            raise
        except Exception as error:  # noqa: BLE001 - somebody else's code; whoever prompts is told
            self._refuse(message, "on_prompt", error)
            return
        finally:
            self._prompting.pop(session_id, None)
        self._pass_on(RawMessage(method=message.method, id=message.id, params=encoded(params)), DOWN)

    def _cancel_turn(self, session_id: str) -> None:
        """Cancel the tool calls of the session's turn, and stop inspecting its prompt."""
        self._servers.cancel_turn(session_id)
        if (task := self._prompting.get(session_id)) is not None:
            task.cancel()

    # --- towards the client ---

    def _take_up(self, message: RawMessage) -> None:
        if message.method == UPDATE and UPDATE in self._up:
            self._update(message)
        elif message.method in MCP and self._servers.owns(message):
            if message.is_request:  # notifications of the MCP client need no action here
                self._servers.begin(message, self._spawn(self._serve(message)))
        else:
            self._pass_on(message, UP)

    def _update(self, message: RawMessage) -> None:
        params = message.read_params()
        try:
            update = self.component.on_update(str(params.get("sessionId")), mapping(params.get("update")))
        except Exception as error:  # noqa: BLE001 - somebody else's code; what the agent says goes on unchanged
            self._note("on_update", error)
            self._pass_on(message, UP)
            return
        if update is not None:
            self._pass_on(request(UPDATE, {**params, "update": update}), UP)

    async def _serve(self, message: RawMessage) -> None:
        try:
            answer = await self._servers.answer(message.method, message.read_params())
        except RpcError as error:
            self.chain.answered(self.index, refusal(message.id, error))
        except asyncio.CancelledError:
            self.chain.answered(self.index, refusal(message.id, RpcError(CANCELLED, "Request cancelled")))
            raise
        else:
            self.chain.answered(self.index, result(message.id, answer))

    # --- both ways ---

    def _pass_on(self, message: RawMessage, way: Way) -> None:
        if not message.is_request:
            self.chain.send(self.index, way, message)
            return

        def done(answer: RawMessage) -> None:
            back = RawMessage(id=message.id, result=answer.result, error=answer.error)
            self._servers.opened(message, back)
            if self._sees_all:
                self._see(back, UP if way == DOWN else DOWN)
            if message.method == INITIALIZE and not back.error and overrides(self.component, "on_initialize"):
                self._spawn(self._initialized(back))
            elif message.method in SESSIONS and not back.error and overrides(self.component, "on_opened"):
                self._spawn(self._opened(message, back))
            else:
                self.chain.answered(self.index, back)

        self.chain.ask(self.index, way, message, done)

    async def _initialized(self, answer: RawMessage) -> None:
        try:
            changed = await self.component.on_initialize(mapping(answer.read_result()))
            whole = result(answer.id, _checked(changed, dict, "on_initialize"))
        except Exception as error:  # noqa: BLE001 - somebody else's code; whoever initializes is told
            self._refuse(answer, "on_initialize", error)
            return
        self.chain.answered(self.index, whole)

    async def _opened(self, message: RawMessage, answer: RawMessage) -> None:
        params = message.read_params()
        try:
            await self.component.on_opened(_session_of(message, answer), params)
        except Exception as error:  # noqa: BLE001 - somebody else's code; whoever opens the session is told
            self._refuse(answer, "on_opened", error)
            return
        self.chain.answered(self.index, answer)

    def _refuse(self, message: RawMessage, hook: str, error: Exception) -> None:
        refused = RpcError(INTERNAL_ERROR, self._note(hook, error), {"component": self.name})
        self.chain.answered(self.index, refusal(message.id, refused))

    def _note(self, hook: str, error: Exception) -> str:
        what = f"failed in {hook}: {type(error).__name__}: {error}"
        self.chain.stray(self.index, what)
        return sentence(f"{self.name} {what}")

    def _see(self, message: RawMessage, way: Way) -> None:
        if self._sees_all:
            sender, receiver = ("client", "agent") if way == DOWN else ("agent", "client")
            try:
                self.component.on_message(sender, receiver, message.line())
            except Exception as error:  # noqa: BLE001 - somebody else's code; the message goes on
                self._note("on_message", error)


def _session_of(message: RawMessage, answer: RawMessage) -> str:
    return str(mapping(answer.read_result()).get("sessionId") or message.read_params().get("sessionId"))


def _server_of(params: dict[str, Any]) -> str:
    return str(params.get("serverId") or params.get("acpId"))


def _checked(value: Any, kind: type, hook: str) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{hook} must return a {kind.__name__}, not {type(value).__name__}")
    return value
