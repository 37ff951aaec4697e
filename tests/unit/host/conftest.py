"""A new host for each test, and sessions with scripted agents in it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from msgspec.structs import replace

from agentnb import InputQuestion, Session
from agentnb.agent import AgentSpec
from agentnb.agent.catalog import custom
from agentnb.host import Host
from agentnb.host.conversation import Conversation
from agentnb.host.environment import Environment
from agentnb.host.session_options import Configuration, SessionOptions
from agentnb.state import ActionOrigin
from tests.unit.api.conftest import AGENTS, PATIENCE

CLIENT = ActionOrigin(client_id="page", client_seq=1)
SOON = 0.5
"""Seconds for a hanging agent to exit when it is stopped; the usual 2.5 would only cost time."""
Open = Callable[..., Session]


@pytest.fixture
def host() -> Iterator[Host]:
    """A new host, closed afterwards with its agents."""
    host = Host()
    yield host
    host.close()


@pytest.fixture
def impatient(host: Host) -> dict[str, Any]:
    """Returns a `spec` with short timeouts; only the first answer may take as long as the machine needs."""
    host.agents.start_timeout = PATIENCE
    host.agents.stop_patience = SOON
    return {"initialize_timeout": 0.5}


@pytest.fixture
def attended(host: Host) -> Host:
    """The same host, with a user attached."""
    host.environment.connect(attached=lambda: True)
    return host


@pytest.fixture
def open_session(host: Host, tmp_path: Path) -> Open:
    """Returns a function that opens a session with the agent `script`; `spec` changes its description."""

    def begin(script: str, *args: str, spec: dict[str, Any] | None = None, **options: Any) -> Session:
        described = custom([sys.executable, str(AGENTS / f"{script}.py"), *args], name=script)
        described = replace(described, **(spec or {}))
        return Session(host.loop.call(lambda: host.open(described, cwd=tmp_path, **options)))

    return begin


class Saved:
    """An editor in which these files were saved all the time, by the user or by autosave."""

    def __init__(self, *paths: str, by_itself: bool = False) -> None:
        self._paths, self._by_itself = paths, by_itself

    def unsaved(self, path: str) -> None:
        del path

    def was_saved(self, path: str, since: int, until: int) -> bool:
        return path in self._paths and since <= until

    def was_autosaved(self, path: str, since: int, until: int) -> bool:
        return self._by_itself and self.was_saved(path, since, until)


def configuration(spec: AgentSpec, cwd: Path, env: dict[str, str] | None = None, **options: Any) -> Configuration:
    """Returns the agent's configuration for a session with these *options*."""
    return SessionOptions(spec=spec, cwd=cwd, env=env or {}, **options).configuration(Environment())


def hosted(host: Host, session: Session) -> Conversation:
    """Returns the host's conversation of *session*."""
    return host.loop.call(host.find, session.chat.resource)


def uri_of(session: Session) -> str:
    """Returns the URI of *session* on the host."""
    return session.chat.resource.removesuffix("/chat")


def agent_idle(session: Session) -> bool:
    """True if the agent owes no answer, not even to a cancelled prompt."""
    return session.health().silent is None


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


def inputs(session: Session) -> list[InputQuestion]:
    """Returns the open input requests."""
    return [each for each in session.questions if isinstance(each, InputQuestion)]
