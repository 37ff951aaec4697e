"""The host: one per kernel process; it owns the sessions, the root channel and the agents."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import shlex
import threading
import uuid
from concurrent import futures
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agentnb.agent.catalog import installed, known, run_by
from agentnb.agent.installation import install_words
from agentnb.agent.process import install_line, missing_installer
from agentnb.agent.programs import each_found_once
from agentnb.clock import now_ms
from agentnb.configuration.sources import tell_wrong_variables
from agentnb.credentials import logger
from agentnb.errors import AgentnbError, UnknownSession, UsageError
from agentnb.events.collector import write_down
from agentnb.events.kinds import SESSION_CLOSED, SESSION_OPENED
from agentnb.host import channels
from agentnb.host.agents.agent_pool import AgentPool
from agentnb.host.agents.installs import DefaultAgent, Installs, real_agents
from agentnb.host.changes.changeset_channels import session_of
from agentnb.host.changes.location import changes_folder
from agentnb.host.changes.own_files import OwnFiles
from agentnb.host.changes.workspace_store import WorkspaceStores
from agentnb.host.channels import AGENT, LOOK, PAIRED, PAIRING, SITE, Channel
from agentnb.host.conversation import Conversation
from agentnb.host.environment import Environment, current_environment
from agentnb.host.files.workspace_files import ClientFiles
from agentnb.host.history.recorder import SessionRecorder
from agentnb.host.history.storage import keep_limits
from agentnb.host.loop import HostLoop
from agentnb.host.pairing import KERNEL_ENDED, KernelPairing
from agentnb.host.permissions.session_policy import HostPolicy
from agentnb.host.session_options import SessionOptions
from agentnb.ids import new_id
from agentnb.log.location import log_location, log_place
from agentnb.site_policy import site_policy
from agentnb.state import (
    AgentInfo,
    Envelope,
    RootActiveSessionsChanged,
    RootAgentsChanged,
    RootConfigChanged,
    RootConfigState,
    RootState,
    XSessionRemoved,
    XSessionSet,
    reduce_root,
)

if TYPE_CHECKING:
    from logging import Logger
    from pathlib import Path

    from agentnb.agent.catalog import AgentSpec
    from agentnb.agent.programs import Find
    from agentnb.configuration.sources import Sources
    from agentnb.host.channels import Listener
    from agentnb.state import Action, ActionOrigin

log: Logger = logger("agentnb.host")

ROOT = channels.ROOT
STOP_TIMEOUT = 5.0  # seconds that all agents together get when the kernel ends
LOG_TIMEOUT = 2.0  # seconds that the log then gets to write the rest


class Host:
    """Owns every session of this kernel. Except where said, call it on its own thread."""

    def __init__(
        self,
        loop: HostLoop | None = None,
        *,
        log: Path | None = None,
        place: str = "",
        policy: HostPolicy | None = None,
        environment: Environment | None = None,
    ) -> None:
        self.host_id: str = str(uuid.uuid4())
        self.loop: HostLoop = loop or HostLoop()
        self.environment: Environment = environment or Environment()
        self.agents: AgentPool = AgentPool(self.loop, self.environment)
        self.policy: HostPolicy = policy or HostPolicy()
        self.conversations: dict[str, Conversation] = {}
        self.listeners: list[Listener] = []
        self._closed = self._keeps_limits = False
        self._published: dict[str, tuple[object, ...]] = {}
        infos = agent_infos()
        known = {AGENT: next(real_agents(infos), "")} if log is None else {}  # else the log knows the last used one
        root = RootState(agents=infos, config=_root_config(known | _of_site()))
        self.root: Channel[RootState] = Channel(ROOT, root, reduce_root, self.listeners)
        self.recorder: SessionRecorder | None = (
            None if log is None else SessionRecorder(log, self.host_id, self.loop, place)
        )
        self.installs: Installs = Installs(self.loop, self.policy, self._take_setups)
        own = OwnFiles(log, cassette=lambda: self.environment.cassette.path())  # noqa: PLW0108 - loaded later
        self.stores: WorkspaceStores = WorkspaceStores(None if log is None else changes_folder(), own=own)
        self.default_agent: DefaultAgent = DefaultAgent(self)
        self.pairing: KernelPairing = KernelPairing(self)
        self.client_files: ClientFiles = ClientFiles(self)
        self.plugin_memory: dict[str, Any] = {}
        self.agents.host = self
        self.environment.changed = self._settings_changed
        if self.recorder is not None:
            self.listen(self.recorder.envelope)

    def open(self, spec: AgentSpec, *, cwd: Path, tab_id: str | None = None, **options: Any) -> Conversation:
        """Like :meth:`open_session`; *options* are fields of :class:`SessionOptions`."""
        return self.open_session(SessionOptions(spec=spec, cwd=cwd, **options), tab_id=tab_id)

    def open_session(
        self, options: SessionOptions, *, tab_id: str | None = None, environment: Environment | None = None
    ) -> Conversation:
        """Open a session; its agent starts when needed. *environment* replaces the host's."""
        conversation = Conversation(
            self,
            options.configuration(environment or self.environment),
            tab_id=tab_id or new_id(),
            mode=options.mode,
            title=options.title,
            environment=environment,
        )
        self.adopt(conversation)
        return conversation

    def adopt(self, conversation: Conversation) -> None:
        self.add(conversation)
        SESSION_OPENED.tell(tab=conversation.tab_id, agent=conversation.spec.name, cwd=str(conversation.cwd))
        self.loop.spawn(conversation.changes.prepare())

    def add(self, conversation: Conversation) -> None:
        """Add a conversation, new or restored, to the open ones."""
        self.conversations[conversation.session.uri] = conversation
        if self.recorder is not None and conversation.barred is None:
            self.recorder.add(conversation)
            if not self._keeps_limits:
                self._keeps_limits = True
                self.loop.spawn(self._keep_limits(self.recorder))
        self.summarize(conversation)
        self.root.accept(RootActiveSessionsChanged(active_sessions=len(self.conversations), time=now_ms()))

    def find(self, channel: str) -> Conversation:
        """The conversation whose session, chat or change-set channel is *channel*."""
        uri = session_of(channel.removesuffix("/chat"))
        if uri not in self.conversations:
            message = f"No session has the channel {channel!r}."
            raise UnknownSession(message, hint="It may have been closed; %agents list shows the open ones.")
        return self.conversations[uri]

    def channel(self, uri: str) -> Channel[Any]:
        if uri == ROOT:
            return self.root
        conversation = self.find(uri)
        if uri == conversation.chat.uri:
            return conversation.chat
        if uri == conversation.session.uri:
            return conversation.session
        changeset = conversation.changesets.find(uri)
        if changeset is None:
            raise UnknownSession(f"There is no change set {uri!r}.", hint="The changes of that turn were not tracked.")
        return changeset

    def channel_or_none(self, uri: str) -> Channel[Any] | None:
        try:
            return self.channel(uri)
        except UnknownSession:
            return None

    def forget(self, conversation: Conversation) -> None:
        """Remove a closed conversation from the root channel."""
        uri = conversation.session.uri
        conversation.changes.close()
        if self.conversations.pop(uri, None) is not None:
            self._published.pop(uri, None)
            SESSION_CLOSED.tell(tab=conversation.tab_id, agent=conversation.spec.name)
            self.root.accept(XSessionRemoved(resource=uri, time=now_ms()))
            self.root.accept(RootActiveSessionsChanged(active_sessions=len(self.conversations), time=now_ms()))

    def summarize(self, conversation: Conversation) -> None:
        """Update *conversation*'s title and status in the root channel if they have changed."""
        uri = conversation.session.uri
        if uri not in self.conversations:
            return
        summary = conversation.channels.summary
        title_and_status = (summary.title, summary.status)
        if self._published.get(uri) != title_and_status:
            self._published[uri] = title_and_status
            self.root.accept(XSessionSet(summary=summary, time=now_ms()))

    def take_agents(self, infos: tuple[AgentInfo, ...], sources: Sources | None = None) -> None:
        """Update the agents in the root channel if they have changed."""
        sources, setups = sources or self.environment.sources(), self.installs.setups
        hidden, order = sources["agents_hidden"].value, list(sources["agents_order"].value)
        if (agent := sources["agent"]).source != "default" and agent.value not in order:
            order.insert(0, agent.value)
        agents = tuple(
            replace(info, setup=setups.get(info.provider), hidden=info.provider in hidden or None)
            for info in sorted(
                infos, key=lambda info: order.index(info.provider) if info.provider in order else len(order)
            )
        )
        if agents != self.root.state.agents:
            self.root.accept(RootAgentsChanged(agents=agents))
            self.default_agent.show()

    def take_settings(self) -> None:
        """Tell every page its appearance settings, and the agents and their order, if they have changed."""
        sources = self.environment.sources()
        config = self.root.state.config
        if config is not None and config.values.get(LOOK, {}) != sources.look:
            self.root.accept(RootConfigChanged(config={LOOK: sources.look}))
        if config is not None and config.values.get(SITE) != _of_site().get(SITE):
            self.root.accept(RootConfigChanged(config={SITE: _of_site().get(SITE)}))
        self.take_agents(self.root.state.agents, sources)
        self.default_agent.show()

    def _take_setups(self) -> None:
        """An install has made progress; if one has ended, the agents may have changed."""
        has_ended = any(setup.state in {"done", "checking"} for setup in self.installs.setups.values())
        self.take_agents(agent_infos() if has_ended else self.root.state.agents)

    async def _keep_limits(self, recorder: SessionRecorder) -> None:
        try:
            await keep_limits(recorder.store, self.stores)
        except AgentnbError as error:  # conversations continue; requests to the log report the error
            log.warning("Old sessions were not deleted: %s", error)

    def listen(self, listener: Listener) -> None:
        """Call *listener* with every envelope that any channel accepts."""
        self.listeners.append(listener)

    def reject(self, channel: Channel[Any], action: Action, origin: ActionOrigin, reason: str) -> None:
        """Tell the client that dispatched *action* why it was rejected; the channel's state does not change."""
        index = max(1, channel.index)
        channel.emit(Envelope(channel=channel.uri, index=index, action=action, origin=origin, rejection_reason=reason))

    def _settings_changed(self) -> None:
        """Show the new settings in every open conversation; safe from any thread."""
        with contextlib.suppress(UsageError, RuntimeError):  # a fork and a closed host have no host thread
            self.loop.submit(self._show_settings())

    async def _show_settings(self) -> None:
        for conversation in tuple(self.conversations.values()):
            conversation.show_review()

    def close(self, timeout: float = STOP_TIMEOUT) -> None:
        """Stop every agent, the log and the thread within *timeout* seconds; call it from any thread but the host's."""
        if self._closed or self.loop.forked:
            return
        self._closed = True
        try:
            self.loop.submit(self._stop_all()).result(timeout)
        except (futures.TimeoutError, RuntimeError):
            pass  # the watchdog ends the remaining processes
        finally:
            if self.recorder is not None:
                self.recorder.close(LOG_TIMEOUT)
            self.loop.stop()
            self.stores.close()

    async def _stop_all(self) -> None:
        self.pairing.stop(KERNEL_ENDED)
        await asyncio.gather(self.installs.close(), self.agents.stop_all())
        for conversation in self.conversations.values():
            if conversation.kernel is not None:
                conversation.kernel.close()


def _root_config(known: dict[str, Any]) -> RootConfigState:
    """The host's own settings, which a view shows (AHP ``RootConfigState``)."""
    sessions = {"type": "array", "items": {"type": "string"}, "readOnly": True}
    properties = {PAIRING: {"type": "boolean"}, PAIRED: sessions}
    values = {PAIRED: [], **known} | ({} if site_policy().why_off("pair") else {PAIRING: False})
    return RootConfigState(schema={"type": "object", "properties": properties}, values=values)


def _of_site() -> dict[str, Any]:
    """The administrator's message, for the pages."""
    policy = site_policy()
    text = " ".join((policy.problem,) if policy.problem else policy.messages)
    return {SITE: {"message": text}} if text else {}


def agent_infos() -> tuple[AgentInfo, ...]:
    """The agents of the catalogue for the root channel: those that can be started first, then by rank."""
    find = each_found_once()
    specs = [(spec, installed(spec, find=find) is None) for spec in known()]
    specs.sort(key=lambda each: (each[1], each[0].rank))
    return tuple(_info_of(spec, find, missing=missing) for spec, missing in specs)


def _info_of(spec: AgentSpec, find: Find, *, missing: bool) -> AgentInfo:
    info = AgentInfo(provider=spec.name, display_name=spec.title, description=spec.about or "Installed.", models=())
    if not missing:
        return info
    runner = run_by(spec, find=find)
    install = install_line(spec, find=find)
    run = f"Not installed. Start downloads it with {runner.kind} and runs it." if runner else None
    about = run or _how_to_start(spec, find, install)
    return replace(
        info,
        description=about,
        missing=True,
        install=install,
        can_install=(missing_installer(spec, find=find) is None and install_words(spec) is not None) or None,
        runner=None if runner is None else shlex.join(runner.words),
    )


def _how_to_start(spec: AgentSpec, find: Find, install: str | None) -> str:
    if missing := missing_installer(spec, find=find):
        return f"Not installed. {missing}"
    if install:
        return f"Not installed. In a terminal: {install}"
    return f"Not installed. How to: {spec.homepage}" if spec.homepage else "Not installed."


_lock = threading.Lock()
_current: Host | None = None
_pid = 0

# No fork while another thread holds the lock: the child has no thread to free it.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def _process_host() -> Host:
    if _current is not None:
        current_environment().forget_front_end()
    if current_environment().settings is None:  # otherwise the extension has reported them
        tell_wrong_variables()
    return Host(log=log_location(), place=log_place(), environment=current_environment())


def started_host() -> Host | None:
    """This process's host; None if nothing has needed one yet."""
    return _current if _pid == os.getpid() else None


def current_host() -> Host:
    """This process's host, made at the first call; safe from any thread."""
    global _current, _pid
    with _lock:
        if _current is None or _pid != os.getpid():
            write_down()
            _current, _pid = _process_host(), os.getpid()
            atexit.register(_current.close)
        return _current
