"""A kernel as its surroundings see it: code starts sessions, a page asks and acts, a user may be there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import Future
from inspect import isawaitable
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from typing import Any, TypeVar

import msgspec

from agentnb import Session, Turn
from agentnb.agent.catalog import AgentSpec, custom, find
from agentnb.agent.mcp import mcp_servers
from agentnb.host import Host
from agentnb.host.agents.agent_pool import AgentPool, Backoff
from agentnb.host.conversation import Conversation
from agentnb.host.history.restore import read_back, recorder_of, restore, spec_of
from agentnb.host.history.storage import keep_limits
from agentnb.host.intents import carry_out
from agentnb.host.permissions.session_policy import HostPolicy
from agentnb.host.session_options import SessionOptions
from agentnb.policy.audit import AuditLog, Record
from agentnb.policy.store import PolicyFiles
from agentnb.server.request_table import wire_name
from agentnb.server.service import Service
from agentnb.state import (
    ActionOrigin,
    AgentInfo,
    ChangesetState,
    Envelope,
    action_type,
    reduce_changeset,
)
from tests.unit.api.conftest import AGENTS, PATIENCE
from tests.unit.kernel.shell_tools import waited_for

T = TypeVar("T")

CLIENT = ActionOrigin(client_id="page", client_seq=1)


class Kernel:
    """One kernel's host; its sessions begin in *folder*."""

    def __init__(self, host: Host, folder: Path) -> None:
        self.host, self.folder = host, folder

    def start(
        self,
        script: str | None = None,
        *words: str,
        spec: dict[str, Any] | None = None,
        folder: Path | None = None,
        **options: Any,
    ) -> Session:
        """Starts a session with eliza or the agent `script`; *spec* changes the agent's description."""
        described = described_as(script, *words, **(spec or {}))
        if "mcp_servers" in options:
            options["mcp_servers"] = mcp_servers(options["mcp_servers"])
        cwd = folder or self.folder
        return Session(self.host.loop.call(lambda: self.host.open(described, cwd=cwd, **options)))

    def resume(
        self, session: Session | str, script: str | None = None, *words: str, command: Any = None, **options: Any
    ) -> Session:
        """Opens a session of the log again, with the agent that it had, or another one."""
        tab_id = session if isinstance(session, str) else session.tab_id
        stored = read_back(recorder_of(self.host), tab_id)
        spec = spec_of(stored.record) if script is None else described_as(script, *words)
        spec = custom(command, name=spec.name) if command else spec
        made = SessionOptions(spec=spec, cwd=self.folder, **options)
        return Session(self.host.loop.call(lambda: restore(self.host, stored, made)))

    def session(self, uri: str) -> Session:
        """Returns the open session at *uri*."""
        return Session(self.host.loop.call(self.host.find, uri))

    # --- the user and the page ---

    def attend(self, *, here: bool = True) -> None:
        """Attaches a user, or detaches them."""
        self.host.environment.connect(attached=lambda: here)

    def connect(self, **parts: Any) -> None:
        """Connects a shell, settings or editors."""
        self.host.environment.connect(**parts)

    def act(self, session: Session, action: Any, client: str = CLIENT.client_id) -> None:
        """Dispatches *action* on the session's channel, or the chat's, as a page does."""
        uri = session.chat.resource
        channel = uri if action_type(action).startswith("chat/") else uri.removesuffix("/chat")
        self.host.loop.call(carry_out, self.host, channel, action, ActionOrigin(client_id=client, client_seq=1))

    def tell(self, session: Session, action: Any) -> None:
        """Dispatches *action* on the session's channel, as the host does."""
        self.host.loop.call(hosted(self.host, session).dispatch, action)

    def show_notebook(self, path: Path, **shown: Any) -> None:
        """Shows the notebook at *path* in a page, with these cells."""
        from agentnb.server.comm.lab import Lab
        from agentnb.server.comm.open_notebooks import OpenNotebooks
        from tests.unit.server.lab_page import Page

        lab, attached = Lab(), self.host.environment.attached
        self._page = Page(lab)
        self._page.say(path=path.name, **shown)
        self.connect(editors=OpenNotebooks(lab, attached=attached, environment={"JPY_SESSION_NAME": str(path)}))

    def cassette(self, path: Path, mode: str) -> Any:
        """Records what agents say in *path*, or replays it, as long as the context lasts."""
        return self.host.environment.cassette.scope(path, mode)

    def ask(self, method: str, **params: Any) -> Any:
        """Returns the answer to a page's request."""
        service = Service(self.host, lambda _client, _message: None)

        async def answer() -> Any:
            result = service.ask("page", wire_name(method), params)
            result = await result if isawaitable(result) else result
            return msgspec.to_builtins(result) if isinstance(result, msgspec.Struct) else result

        return self.host.loop.submit(answer()).result(PATIENCE)

    def follow(self, uri: str) -> Follower:
        """Follows a change set, as a page does."""
        return self.host.loop.call(Follower, self.host, uri)

    def rejections(self) -> SimpleQueue[str]:
        """Returns the reasons of all rejections from now on."""
        reasons: SimpleQueue[str] = SimpleQueue()

        def hear(_: object, envelope: Envelope) -> None:
            if envelope.rejection_reason:
                reasons.put(envelope.rejection_reason)

        self.host.loop.call(self.host.listen, hear)
        return reasons

    def until(self, session: Session, condition: Callable[[], Any], patience: float = PATIENCE) -> None:
        """Waits, change by change of *session*, until *condition* holds."""
        until(self.host, session, condition, patience)

    def watch(self, session: Session, look: Callable[[], object]) -> None:
        """Calls *look* after each change of *session*."""
        self.host.loop.call(hosted(self.host, session).watch, look)

    def waited_for(self, call: Future[T]) -> T:
        """Returns the result of *call*; this thread runs what agents want meanwhile, as a cell that waits does."""
        return waited_for(self.host.environment.job_queue, call)

    def pair(self, *, is_busy: bool = False) -> None:
        """Lets programs use this kernel, which runs no cell meanwhile."""
        self.be_busy(is_busy=is_busy)
        self.host.loop.submit(self.host.pairing.start()).result(PATIENCE)

    def be_busy(self, *, is_busy: bool) -> None:
        """Runs a cell from now on, or none."""
        self.host.environment.job_queue.is_main_thread_busy = lambda: is_busy
        if is_busy:
            self.host.environment.job_queue.schedule = lambda _call: None

    def unpair(self) -> None:
        self.host.loop.call(self.host.pairing.stop)

    # --- what it tells ---

    def session_of_program(self) -> Session:
        """Returns the conversation of the program that connected first."""
        return Session(self.host.loop.call(lambda: self.host.pairing.connected[0]))

    @property
    def programs(self) -> list[str]:
        """Returns the titles of the connected programs' conversations."""
        return self.host.loop.call(lambda: [each.channels.title for each in self.host.pairing.connected])

    @property
    def settings(self) -> dict[str, Any]:
        """Returns the host's own settings, which every page shows."""
        config = self.host.loop.call(lambda: self.host.root.state.config)
        return {} if config is None else config.values

    @property
    def agents(self) -> tuple[AgentInfo, ...]:
        """Returns the agents that a page offers."""
        return self.host.loop.call(lambda: self.host.root.state.agents)

    def read_settings(self) -> None:
        """Reads the settings again, and tells every page."""
        self.host.loop.call(self.host.take_settings)

    @property
    def audit_problem(self) -> str:
        """Returns why the audit log or its stream could not be written."""
        return str(self.host.policy.audit.problem)

    def default_agent(self) -> str:
        """Returns the default agent, which the page has, too."""
        name = self.host.loop.submit(self.host.default_agent.find()).result(PATIENCE)
        assert self.settings["agent"] == name
        return name

    @property
    def audit(self) -> list[Record]:
        """Returns the decisions of the audit log."""
        return self.host.loop.call(lambda: [*self.host.policy.audit.records])

    @property
    def open_sessions(self) -> list[str]:
        return self.host.loop.call(lambda: list(self.host.conversations))

    def end_in_rewind(self, session: Session, turn: Turn) -> None:
        """Ends as if the kernel were killed while *session* goes back to before *turn*."""
        tracker = hosted(self.host, session).changes
        record = msgspec.structs.replace(tracker.record, rewinding=turn.id)
        self.host.loop.submit(tracker.save(record)).result(PATIENCE)
        self.close()

    def network(self, session: Session) -> object:
        """Returns the hosts that the agent of *session* may reach."""
        return hosted(self.host, session).configuration.network

    def keep_limits(self) -> int:
        """Deletes what the settings no longer keep; returns how many conversations that were."""
        store = recorder_of(self.host).store
        return self.host.loop.submit(keep_limits(store, self.host.stores)).result(PATIENCE)

    @property
    def log_trouble(self) -> str | None:
        """Returns why the log cannot be written."""
        recorder = recorder_of(self.host)
        trouble = self.host.loop.call(lambda: recorder.trouble)
        return None if trouble is None else str(trouble)

    def flush(self) -> None:
        """Waits until the log is written."""
        recorder_of(self.host)

    def close(self) -> None:
        self.host.close()

    # --- the times that tests make shorter ---

    def warm(self, script: str, seconds: float) -> int:
        """Starts an agent early, which waits *seconds* for its first session; returns its process id."""
        agents = AgentPool(self.host.loop, self.host.environment, warm_seconds=seconds)
        made = SessionOptions(spec=described_as(script), cwd=self.folder).configuration(self.host.environment)
        pid: int | None = self.host.loop.submit(agents.warm(made)).result(PATIENCE).pid
        assert pid is not None
        return pid

    def wait_less(self, **seconds: float | None) -> None:
        """Sets the kernel's own limits: `start` and `stop` of agents, `idle` and `progress` of programs."""
        for name, value in seconds.items():
            owner, limit = {
                "start": (self.host.agents, "start_timeout"),
                "stop": (self.host.agents, "stop_patience"),
                "idle": (self.host.pairing, "idle_seconds"),
                "progress": (self.host.pairing, "progress_seconds"),
            }[name]
            self.host.loop.call(setattr, owner, limit, value)

    def restart_soon(self, tries: int) -> None:
        """Lets agents that died restart at once, *tries* times."""
        self.host.agents.backoff = lambda: Backoff(first=0.01, cap=0.05, tries=tries)

    def hurry(self, session: Session, **seconds: float) -> None:
        """Shortens the limits of *session*: `cancel`, `silence`, `extension`, `mentions`."""
        conversation = hosted(self.host, session)
        for name, value in seconds.items():
            owner, limit = {
                "cancel": (conversation.turns, "cancel_grace"),
                "silence": (conversation.inactivity, "seconds"),
                "extension": (conversation.extensions, "seconds"),
                "mentions": (conversation.turns.queue.mentions, "seconds"),
            }[name]
            self.host.loop.call(setattr, owner, limit, value)


def host_with_policy(
    user: Path, folder: Path, *, site: Path | None = None, environment: dict[str, str] | None = None, **options: Any
) -> Host:
    """Makes a host with these policy files, whose audit log is in *folder*."""
    files = PolicyFiles(user, site=None if site is None else (site,))
    log = AuditLog(folder / "data/audit.jsonl")
    return Host(policy=HostPolicy(files, log, {} if environment is None else environment), **options)


class Follower:
    """A client of one change set: its first state, reduced by the actions that follow."""

    def __init__(self, host: Host, uri: str) -> None:
        self.uri = uri
        self.state: ChangesetState = host.channel(uri).state
        self.heard: list[str] = []
        host.listen(self.hear)

    def hear(self, channel: Any, envelope: Envelope) -> None:
        if channel.uri == self.uri:
            self.heard.append(action_type(envelope.action))
            self.state = reduce_changeset(self.state, envelope.action)

    @property
    def rows(self) -> list[tuple[str, Any, Any]]:
        """Returns id, state and lines of each change."""
        entries = ((each.id, (each.meta or {})["agentnb"], each.edit.get("diff")) for each in self.state.files)
        return [(change_id, meta["state"], diff) for change_id, meta, diff in entries]


def described_as(script: str | None, *words: str, **changed: Any) -> AgentSpec:
    """Returns the description of the agent `script`, or of eliza, with these fields *changed*."""
    spec = find("eliza")
    if script is not None:
        spec = custom([sys.executable, str(AGENTS / f"{script}.py"), *words], name=script)
    return msgspec.convert({**msgspec.to_builtins(spec), **msgspec.to_builtins(changed)}, AgentSpec)


def hosted(host: Host, session: Session) -> Conversation:
    """Returns the host's conversation of *session*."""
    return host.loop.call(host.find, session.chat.resource)


def until(host: Host, session: Session, condition: Callable[[], Any], patience: float = PATIENCE) -> None:
    """Waits, change by change of *session*, until *condition* holds."""
    conversation, done = hosted(host, session), Event()

    def look() -> None:
        if condition():
            done.set()

    unwatch = host.loop.call(conversation.watch, look)
    try:
        host.loop.call(look)
        assert done.wait(patience), "it never came to that"
    finally:
        host.loop.call(unwatch)
