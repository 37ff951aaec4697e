"""The agent: one process that speaks ACP, launched, initialized and shared by sessions, and its capabilities."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agentnb.acp.failure import PROMPT, RESTARTS, login_ways
from agentnb.acp.fields import mapping, objects, text
from agentnb.acp.mcp import METHODS, Served, described
from agentnb.acp.opening import Opening, OpenRequest, Page, SessionOpened, read_page
from agentnb.acp.peer import PATIENCE, Peer
from agentnb.acp.prompt import PromptResult, left_out, prompt_blocks, read_answer
from agentnb.acp.sessions import Sessions, serve
from agentnb.acp.updates import map_session
from agentnb.acp.version2 import VERSION, SecondVersion, initialized, introduction, requested
from agentnb.agent.process import SpawnedAgent, startable
from agentnb.clock import now_ms
from agentnb.distribution import own_info
from agentnb.errors import AgentDied, AgentError, AgentnbError, AgentStartFailed, NotOffered, UsageError
from agentnb.events.kinds import AGENT_INITIALIZED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from agentnb.acp.failure import LoginWay
    from agentnb.acp.peer import Done, SessionListener, Spawn, Tap
    from agentnb.agent.catalog import AgentSpec, Provider
    from agentnb.state import Action, Message

    Chosen = Callable[[tuple[Action, ...]], None]

_ABILITIES = {
    "load": ("open an old session", "Start a new one."),
    "fork": ("copy a session", "Start a new one, and tell it what it needs to know."),
    "list": ("list its sessions", "`agentnb.history()` lists the sessions that agentnb has kept."),
    "delete": ("delete a session", "Delete it with the agent's own program."),
    "logout": ("log out", "Log out with the agent's own program."),
}
"""Each capability in words, and the alternative if an agent does not offer it."""


class AgentCapabilities(dict[str, Any]):
    """The capabilities that an agent reports (ACP ``agentCapabilities``)."""

    def __init__(self, title: str, stated: Mapping[str, Any] | None = None) -> None:
        super().__init__(stated or {})
        self._title = title
        self.prompt: dict[str, Any] = mapping(self.get("promptCapabilities"))
        self.mcp: dict[str, Any] = mapping(self.get("mcpCapabilities"))

    @property
    def takes_pictures(self) -> bool:
        """True if prompts can have pictures (ACP ``promptCapabilities.image``)."""
        return bool(self.prompt.get("image"))

    @property
    def takes_served_mcp(self) -> bool:
        """True if it connects to MCP servers on its own wire (:attr:`agentnb.acp.agent.Agent.served`)."""
        return self.mcp.get("acp") is True

    @property
    def steers(self) -> bool:
        """True if the agent declares that a prompt sent while a turn runs goes into that turn."""
        return any(mapping(each).get("promptQueueing") is True for each in mapping(self.get("_meta")).values())

    def offers(self, ability: str) -> bool:
        """True if the agent has *ability*, one of those that not every agent has."""
        if ability == "load":
            return self.get("loadSession") is True
        if ability == "logout":
            return mapping(self.get("auth")).get("logout") is not None
        name = "additionalDirectories" if ability == "directories" else ability
        return mapping(self.get("sessionCapabilities")).get(name) is not None

    def demand(self, *abilities: str) -> None:
        """Raises unless the agent has one of *abilities* (see :meth:`offers`)."""
        if not any(map(self.offers, abilities)):
            what, instead = _ABILITIES[abilities[-1]]
            raise NotOffered(f"{self._title} does not offer to {what}.", hint=instead)

    def not_taken(self, message: Message) -> list[str]:
        """The labels of *message*'s attachments that the agent cannot take: it gets only their names."""
        return left_out(prompt_blocks(message, self.prompt), message)


async def set_providers(
    spec: AgentSpec,
    capabilities: Mapping[str, Any],
    env: Mapping[str, str],
    ask: Callable[[str, dict[str, Any]], Awaitable[Any]],
) -> None:
    """Set the providers that the agent's description names.

    Raises:
        AgentStartFailed: If one cannot be set: requests would go elsewhere than the user wants, so the agent does not
            start.
    """
    if not spec.providers:
        return
    if capabilities.get("providers") is None:
        message = f"{spec.title} does not let its model providers be set, as its description requires."
        hint = "Remove [providers] there, or set them as the agent's own documentation says."
        raise AgentStartFailed(message, hint=hint)
    answer = mapping(await ask("providers/list", {}))
    offered = [each.get("providerId") for each in objects(answer.get("providers"))]
    for name, provider in spec.providers.items():
        if name not in offered:
            known = ", ".join(map(str, offered)) or "none"
            raise AgentStartFailed(f"{spec.title} has no model provider {name!r}.", hint=f"It has: {known}.")
        method = "providers/disable" if provider.disabled else "providers/set"
        try:
            await ask(method, _request(spec, name, provider, env))
        except AgentError as error:
            raise AgentStartFailed(f"{error.message} Its provider {name!r} was not set.", hint=error.hint) from error


def _request(spec: AgentSpec, name: str, provider: Provider, env: Mapping[str, str]) -> dict[str, Any]:
    if provider.disabled:
        return {"providerId": name}
    headers = {}
    if provider.token_variable is not None:
        token = env.get(provider.token_variable)
        if not token:
            message = f"{spec.title} was not started: the variable {provider.token_variable} is not set."
            raise AgentStartFailed(message, hint=f"It holds the token of the provider {name!r}.")
        headers["Authorization"] = f"Bearer {token}"
    return {"providerId": name, "apiType": provider.api_type, "baseUrl": provider.base_url, "headers": headers}


PROTOCOL = 1
"""The supported version of the Agent Client Protocol."""

_CLOSE_TIMEOUT = 5.0


class Agent(Peer):
    """A launched agent; made by :meth:`launch`."""

    def __init__(self, spec: AgentSpec, tap: Tap | None, spawn: Spawn) -> None:
        self.name: str = spec.title
        """The agent's own name, or the catalogue's if it reports none."""
        self.version: str | None = None
        self.capabilities: AgentCapabilities = AgentCapabilities(spec.title)
        self.steers: bool = spec.steering
        """True if a prompt sent while another runs goes into that turn, as the catalogue or the agent says."""
        self.stopped: bool = False
        self.since: float = 0.0
        self.served: Served = Served(tap)
        self.patience = PATIENCE
        self.sessions: Sessions = Sessions(self._confined_command)
        self._second: SecondVersion | None = None
        super().__init__(
            spec, on_notifications=self._deliver, on_request=self._serve, on_lost=self._lose, tap=tap, spawn=spawn
        )

    @classmethod
    async def launch(
        cls,
        spec: AgentSpec,
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        initialize_timeout: float | None = None,
        tap: Tap | None = None,
        spawn: Spawn = SpawnedAgent.spawn,
    ) -> Agent:
        """Start the agent's process and agree on the protocol (ACP ``initialize``)."""
        whole = {**os.environ, **spec.env, **(env or {})}
        agent = cls(startable(spec, cwd, whole.get("PATH")), tap, spawn)
        try:
            await agent.spawn(cwd, env)
            await agent._initialize(initialize_timeout)
            await set_providers(spec, agent.capabilities, whole, agent.request)
        except BaseException:
            await agent.stop(patience=0)
            raise
        return agent

    @property
    def login_ways(self) -> tuple[LoginWay, ...]:
        """The logins that the agent offers (ACP ``authMethods``)."""
        return login_ways(self.failures.auth_methods, self.spec.own_program)

    async def authenticate(self, method_id: str, timeout: float | None = None) -> None:
        """Log in with one of :attr:`login_ways` (ACP ``authenticate``)."""
        await self.request("authenticate", {"methodId": method_id}, timeout)

    async def logout(self) -> None:
        """Make the agent forget its login (ACP ``logout``)."""
        if not self.capabilities.offers("logout") and self.spec.logout:
            message = f"{self.spec.title} does not offer to log out."
            raise NotOffered(message, hint=f"Type `{self.spec.logout}` in a terminal.")
        self.capabilities.demand("logout")
        await self.request("logout", {})

    async def extend(self, session_id: str, method: str, params: dict[str, Any], timeout: float | None = None) -> Any:
        """Send an extension request (ACP extension methods, ``_name/method``) and wait for its result."""
        return await self.request(extension(method), {"sessionId": session_id, **params}, timeout)

    def tell(self, session_id: str, method: str, params: dict[str, Any]) -> None:
        """Like :meth:`extend`, but sends a notification: there is no answer."""
        if self.closed:
            raise AgentDied(f"{self.spec.title} is gone.", hint=RESTARTS)
        self.notify(extension(method), {"sessionId": session_id, **params})

    async def stop(self, patience: float | None = None) -> None:
        """End the agent and everything it started; listeners of open sessions are notified."""
        self.stopped = True
        await super().stop(self.patience if patience is None else patience)

    # --- its sessions ---

    async def open_session(
        self, request: OpenRequest, listener: SessionListener, timeout: float | None = None
    ) -> SessionOpened:
        """Open a session (ACP ``session/new``, ``session/load``, ``session/resume``, ``session/fork``)."""
        if request.way == "fork":
            self.capabilities.demand("fork")
        able = self.capabilities.mcp
        on_stdio = self.spec.mcp_transport == "stdio" and self.spec.url is None
        cwd = Path(request.cwd)
        servers, unreachable, missing = described(request.mcp_servers, able, cwd, request.path, on_stdio=on_stdio)
        params: dict[str, Any] = {} if request.way == "new" else {"sessionId": request.former}
        params |= {"cwd": self.spec.folder or request.cwd, "mcpServers": servers}
        takes_directories = self.capabilities.offers("directories")
        if request.directories and takes_directories:
            params["additionalDirectories"] = list(request.directories)
        opening = Opening(self, self.sessions, request, params, listener, on_unwanted=self._dismiss)
        return replace(
            await opening.run(timeout),
            unreachable=unreachable,
            missing=missing,
            refused_directories=() if takes_directories else request.directories,
        )

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None) -> Page:
        """Returns one page of the sessions that the agent keeps (ACP ``session/list``)."""
        self.capabilities.demand("list")
        params = {name: value for name, value in (("cwd", cwd), ("cursor", cursor)) if value is not None}
        return read_page(mapping(await self.request("session/list", params)), self.spec.name)

    async def delete_session(self, session_id: str) -> None:
        """Make the agent forget an old session for good (ACP ``session/delete``)."""
        self.capabilities.demand("delete")
        await self.request("session/delete", {"sessionId": session_id})

    def prompt(self, session_id: str, message: Message, done: Callable[[PromptResult], None]) -> None:
        """Start a turn (ACP ``session/prompt``)."""
        params = {"sessionId": session_id, "prompt": prompt_blocks(message, self.capabilities.prompt)}
        self.call("session/prompt", params, lambda result, error: done(read_answer(result, error)))

    def cancel(self, session_id: str) -> None:
        """Ask the agent to end the running turn (ACP ``session/cancel``).

        The host answers the agent's open requests with ``cancelled``; some agents hang otherwise.
        """
        self.notify("session/cancel", {"sessionId": session_id})

    async def set_mode(self, session_id: str, mode_id: str, heard: Chosen) -> None:
        """Choose a mode (ACP ``session/set_mode``); *heard* as in :meth:`set_config_option`."""
        await self.request("session/set_mode", {"sessionId": session_id, "modeId": mode_id}, heard=lambda _: heard(()))

    async def set_config_option(self, session_id: str, config_id: str, value: str | bool, heard: Chosen) -> None:
        """Choose a config option (ACP ``session/set_config_option``, or ``session/set_model`` for older agents).

        *heard* gets the options in the answer, before any update that comes after the answer.
        """
        if config_id == "model" and session_id in self.sessions.with_models:
            model = {"sessionId": session_id, "modelId": value}
            await self.request("session/set_model", model, heard=lambda _: heard(()))
            return
        params: dict[str, Any] = {"sessionId": session_id, "configId": config_id, "value": value}
        if isinstance(value, bool):
            params["type"] = "boolean"
        await self.request(
            "session/set_config_option", params, heard=lambda answer: heard(map_session(mapping(answer), now_ms()))
        )

    async def close_session(self, session_id: str) -> None:
        """Free a session: end its terminals, deliver nothing more, and notify the agent if that is possible."""
        route = self.sessions.forget(session_id)
        if route is not None:
            await route.terminals.close()
        if self.capabilities.offers("close") and not self.closed:
            with contextlib.suppress(AgentnbError):
                await self.request("session/close", {"sessionId": session_id}, _CLOSE_TIMEOUT)

    # --- inside ---

    async def request(
        self,
        method: str,
        params: dict[str, Any],
        timeout: float | None = None,
        heard: Callable[[Any], None] | None = None,
    ) -> Any:
        second = self._second
        if second is None:
            return await super().request(method, params, timeout, heard)
        hear = None if heard is None else lambda answer: heard(second.answered(answer))
        return second.answered(await super().request(*second.translated_request(method, params), timeout, hear))

    def call(self, method: str, params: dict[str, Any], done: Done) -> int:
        second = self._second
        if second is None:
            return super().call(method, params, done)
        if method == PROMPT:
            return super().call(method, params, second.accepted(params, done))
        return super().call(
            *second.translated_request(method, params), lambda result, error: done(second.answered(result), error)
        )

    def _deliver(self, notifications: list[tuple[str, Any]]) -> None:
        if self._second is None:
            self.sessions.deliver(notifications)
            return
        ends = self._second.ended(notifications)
        self.sessions.deliver(self._second.notifications(notifications))
        for done, result, error in ends:
            done(result, error)

    async def _lose(self, reason: AgentnbError) -> None:
        if self._second is not None:
            self._second.lost(reason)
        await self.sessions.lose(reason)

    def _dismiss(self, session_id: str) -> None:
        """Close a session that was opened too late; failures are ignored."""
        if self.capabilities.offers("close"):
            self.call("session/close", {"sessionId": session_id}, lambda *_: None)

    async def _initialize(self, timeout: float | None) -> None:
        answer = mapping(await self.request("initialize", introduction(self.spec, own_info()), timeout))
        version = answer.get("protocolVersion", PROTOCOL)
        if version == VERSION == self.spec.protocol:
            self._second = SecondVersion(self.spec.title)
            answer = initialized(answer)
        elif version != PROTOCOL:
            message = f"{self.spec.title} speaks version {version!r} of the Agent Client Protocol, not {PROTOCOL}."
            hint = "Install a version of the agent that does."
            if version == VERSION:
                hint = "Version 2 is a draft: protocol = 2 in the agent's description tries it."
            raise AgentStartFailed(message, hint=hint)
        info = mapping(answer.get("agentInfo"))
        self.name = text(info.get("title")) or text(info.get("name")) or self.name
        self.version = text(info.get("version"))
        self.capabilities = AgentCapabilities(self.spec.title, mapping(answer.get("agentCapabilities")))
        self.steers = self.steers or self.capabilities.steers
        self.failures.auth_methods = tuple(objects(answer.get("authMethods")))
        self.failures.started = True
        AGENT_INITIALIZED.tell(agent=self.spec.name, pid=self.pid, version=self.version)
        self.since = asyncio.get_running_loop().time()

    def _confined_command(self, command: Sequence[str]) -> list[str]:
        return list(command) if self.process is None else self.process.confined_command(command)

    async def _serve(self, method: str, params: Any) -> Any:
        params = mapping(params)
        if self._second is not None:
            params = requested(method, params)
        if method in METHODS:
            return await self.served.serve(method, params)
        return await serve(method, params, self.sessions, self.spec.capabilities)


def extension(method: str) -> str:
    """Returns *method*; raises unless its name begins with an underscore, as those of extensions do."""
    if not method.startswith("_"):
        raise UsageError(f"{method!r} is not an extension method.", hint="Their names begin with an underscore.")
    return method
