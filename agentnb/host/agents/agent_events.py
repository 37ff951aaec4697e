"""Listens to an agent's updates and requests, answers its extension methods, and lists its customizations.

The user's functions for extension methods run on a few separate threads, within a time limit: they cannot hold up the
host, nor the file reads on the loop's own threads. The threads are daemons: one that hangs does not keep the kernel
from ending.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from agentnb.acp.agent import extension
from agentnb.clock import now_ms
from agentnb.errors import AgentError, AgentnbError, PluginFailed, UsageError
from agentnb.kernel.tools import kernel_tools
from agentnb.plugin_registry import plugins
from agentnb.state import (
    ChatToolCallComplete,
    ChatToolCallReady,
    ChatToolCallStart,
    SessionMetaChanged,
    ToolCallDetails,
    ToolResultTextContent,
    ToolTextContent,
    XConfigOptionsChanged,
    XModeChanged,
    XModesChanged,
    XTerminalExited,
    XToolCallDetailsChanged,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from agentnb.acp.peer import Unsaved
    from agentnb.acp.questions import AcpPermissionRequest, ElicitationAnswer, ElicitationQuestion
    from agentnb.host.channels import SessionChannels
    from agentnb.host.environment import Environment
    from agentnb.host.permissions.permissions import Permissions
    from agentnb.host.session_options import Configuration
    from agentnb.host.turns.inactivity import Inactivity
    from agentnb.host.turns.input_requests import InputRequests
    from agentnb.policy.request import PolicyRequest
    from agentnb.state import Action, ChatState

    Function = Callable[[Any], Any]

THREADS = 4
"""The most functions of one session that run at a time; the others wait, and their time counts meanwhile."""

SECONDS = 60.0
"""Seconds that a function may take."""


class Extensions:
    """The user's functions of one session, by extension method."""

    def __init__(self) -> None:
        self.seconds = SECONDS
        self._functions: dict[str, Function] = {}
        self._threads: list[threading.Thread] = []
        self._work: SimpleQueue[tuple[Future[Any], Function, Any] | None] = SimpleQueue()

    def register(self, method: str, function: Function | None) -> None:
        """Let *function* answer *method* from now on; None removes the function for it."""
        if function is None:
            self._functions.pop(extension(method), None)
        else:
            self._functions[extension(method)] = function

    def answers(self, method: str) -> bool:
        return method in self._functions

    async def answer(self, method: str, params: Any) -> Any:
        """Runs the function for *method* on another thread and returns its result."""
        done: Future[Any] = Future()
        self._work.put((done, self._functions[method], params))
        if len(self._threads) < THREADS:
            thread = threading.Thread(target=self._serve, name="agentnb-extension", daemon=True)
            self._threads.append(thread)
            thread.start()
        try:
            return await asyncio.wait_for(asyncio.wrap_future(done), self.seconds)
        except asyncio.TimeoutError:
            message = f"The function for {method} did not return within {self.seconds:g} s."
            raise AgentError(message, hint="Make it faster, or let it start the work and return.") from None
        except AgentnbError:
            raise
        except Exception as error:
            raise AgentError(f"The function for {method} failed: {type(error).__name__}: {error}") from error

    def close(self) -> None:
        """Remove all functions and end the threads; nobody hears from those that still run."""
        self._functions.clear()
        for _ in self._threads:
            self._work.put(None)

    def _serve(self) -> None:
        while (item := self._work.get()) is not None:
            done, function, params = item
            if not done.set_running_or_notify_cancel():
                continue  # its caller stopped waiting
            try:
                done.set_result(function(params))
            except BaseException as error:  # noqa: BLE001 - told to the agent
                done.set_exception(error)


KERNEL = "kernel"
_READY = {"kind": "ready"}


def customizations(
    configuration: Configuration, environment: Environment, *, asks: bool = False
) -> tuple[dict[str, Any], ...]:
    """Returns the skills, components, tools and MCP servers of a session, as AHP's ``Customization``.

    It reads files of skills: call it on a separate thread.
    """
    rows: list[dict[str, Any]] = []
    for plugin, customizer in plugins().offers("customizers"):
        with contextlib.suppress(PluginFailed), plugins().guard(plugin.name, "customizers"):  # the others still work
            rows += customizer.customizations(configuration, environment, asks=asks)
    if configuration.spec.takes_mcp:
        rows += [_server(KERNEL, *kernel_tools())] if configuration.kernel else []
        rows += [_server(server.name) for server in configuration.components]
    return tuple(sorted(rows, key=lambda each: _ORDER.get(each["id"].partition(":")[0], len(_ORDER))))


_ORDER = {"component": 0, "mcp": 1, "package": 2, "offer": 3}


def decide(action: str, package: str, *, shown: str) -> None:
    """Carry out the user's decision about a package that a plug-in asked about."""
    for plugin, customizer in plugins().offers("customizers"):
        with plugins().guard(plugin.name, "customizers"):
            if customizer.decide(action, package, shown=shown):
                return
    raise UsageError(f"No plug-in has asked about {package!r}.", hint="`agentnb plugins` lists those that work.")


def _server(name: str, *tools: str) -> dict[str, Any]:
    row: dict[str, Any] = {
        "type": "mcpServer",
        "id": f"mcp:{name}",
        "uri": f"agentnb-mcp:/{name}",
        "name": name,
        "state": _READY,
    }
    return {**row, "_meta": {"agentnb": {"tools": list(tools)}}} if tools else row


EXTENSIONS = "extensions"
EXTENSIONS_KEPT = 10
_MODES = (XModeChanged, XModesChanged, XConfigOptionsChanged)
_CALL_SEEN = (ChatToolCallStart, ChatToolCallReady, XToolCallDetailsChanged)


class AgentEvents:
    """Listens to one session's agent (:class:`agentnb.acp.peer.SessionListener`)."""

    def __init__(
        self,
        channels: SessionChannels,
        inactivity: Inactivity,
        permissions: Permissions,
        inputs: InputRequests,
        extensions: Extensions,
        *,
        unsaved: Callable[[str], Unsaved | None],
        lost: Callable[[AgentnbError], None],
        printed: Callable[[str], None],
        mode_changed: Callable[[], None],
    ) -> None:
        self._channels = channels
        self._inactivity = inactivity
        self._permissions = permissions
        self._extensions = extensions
        self._printed = printed
        self._mode_changed = mode_changed
        self.authorize: Callable[[PolicyRequest], Coroutine[Any, Any, PolicyRequest]] = permissions.authorize
        self.refused: Callable[[PolicyRequest, AgentnbError], None] = permissions.refused
        self.opens: Callable[[str, str], bool] = permissions.opens
        self.elicit: Callable[[ElicitationQuestion], Coroutine[Any, Any, ElicitationAnswer]] = inputs.elicit
        self.elicited: Callable[[str], None] = inputs.elicited
        self.answers: Callable[[str], bool] = extensions.answers
        self.unsaved = unsaved
        self.lost = lost

    @property
    def chat(self) -> ChatState:
        return self._channels.chat.state

    @property
    def speaking(self) -> str | None:
        return self._channels.speaking

    def actions(self, actions: Sequence[Action]) -> None:
        self._inactivity.record_activity()
        for action in actions:
            self._channels.dispatch(action)
            if isinstance(action, _CALL_SEEN):
                self._permissions.join(action.tool_call_id)
            if isinstance(action, ChatToolCallComplete):
                self._permissions.mark_unasked(action.tool_call_id)
            if isinstance(action, _MODES):
                self._mode_changed()
            self._permissions.rehearsals.seen(action)
            if isinstance(action, ChatToolCallComplete | XTerminalExited) and (text := self._text_of(action)):
                self._printed(text)

    def _text_of(self, ended: ChatToolCallComplete | XTerminalExited) -> str:
        if isinstance(ended, XTerminalExited):
            terminals = self._channels.chat.state.terminals or ()
            return next((each.output for each in terminals if each.id == ended.terminal_id), "")
        call = self._channels.tool_call(ended.tool_call_id)
        details = (call.details if call is not None else None) or ToolCallDetails()
        pieces = [each.text for each in details.content or () if isinstance(each, ToolTextContent)]
        pieces += [each.text for each in ended.result.content or () if isinstance(each, ToolResultTextContent)]
        raw = details.raw_output
        values = raw.values() if isinstance(raw, dict) else (raw,)
        return "\n".join([*pieces, *(each for each in values if isinstance(each, str))])

    async def permission(self, question: AcpPermissionRequest) -> str | None:
        self._inactivity.record_activity()
        return await self._permissions.request(question)

    def extension(self, method: str, params: Any) -> None:
        """Keep a notification that belongs to no turn, in the session's ``_meta``."""
        meta = self._channels.session.state.meta or {}
        kept = (*meta.get(EXTENSIONS, ()), {"method": method, "params": params})[-EXTENSIONS_KEPT:]
        self._channels.dispatch(SessionMetaChanged(meta={**meta, EXTENSIONS: list(kept)}, time=now_ms()))

    async def extended(self, method: str, params: Any) -> Any:
        self._inactivity.record_activity()
        return await self._extensions.answer(method, params)
