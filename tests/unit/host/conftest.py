"""A new host for each test, and sessions with scripted agents in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentnb import InputQuestion, Session, Turn
from agentnb.agent import AgentSpec
from agentnb.host import Host
from agentnb.host.environment import Environment
from agentnb.host.session_options import Configuration, SessionOptions
from agentnb.state import SystemNotificationResponsePart
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.kernels import CLIENT, Kernel, hosted, until

__all__ = ["CLIENT", "hosted", "until"]

SOON = 0.5
"""Seconds for a hanging agent to exit when it is stopped; the usual 2.5 would only cost time."""
NewKernel = Callable[..., Kernel]


@pytest.fixture
def host() -> Iterator[Host]:
    """A new host, closed afterwards with its agents."""
    host = Host()
    yield host
    host.close()


@pytest.fixture
def kernel(host: Host, tmp_path: Path) -> Kernel:
    """The same host, as its surroundings see it; its sessions begin in the test's folder."""
    return Kernel(host, tmp_path)


@pytest.fixture
def new_kernel(tmp_path: Path) -> Iterator[NewKernel]:
    """Makes kernels with one log, `place` being the notebook; their sessions begin in the test's folder."""
    kernels: list[Kernel] = []

    def make(folder: Path = tmp_path, place: str = "", log: Path = tmp_path / "log/sessions.db") -> Kernel:
        kernels.append(Kernel(Host(log=log, place=place), folder))
        return kernels[-1]

    yield make
    for kernel in kernels:
        kernel.close()


@pytest.fixture
def impatient(host: Host) -> dict[str, Any]:
    """Returns a `spec` with short timeouts; only the first answer may take as long as the machine needs."""
    host.agents.start_timeout = PATIENCE
    host.agents.stop_patience = SOON
    return {"initialize_timeout": 0.5}


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


def uri_of(session: Session) -> str:
    """Returns the URI of *session* on the host."""
    return session.chat.resource.removesuffix("/chat")


def agent_idle(session: Session) -> bool:
    """True if the agent owes no answer, not even to a cancelled prompt."""
    return session.health().silent is None


def inputs(session: Session) -> list[InputQuestion]:
    """Returns the open input requests."""
    return [each for each in session.questions if isinstance(each, InputQuestion)]


def does(session: Session, *steps: list[Any]) -> Turn:
    """Runs a turn of the agent `writes_files` with these *steps*."""
    return session.prompt(json.dumps(steps)).wait(PATIENCE)


def changes_of(session: Session, turn: Turn | None = None) -> str:
    """Returns the URI of the change set of *turn*, or of the conversation."""
    return f"{uri_of(session)}/changes" + (f"/{turn.id}" if turn else "")


def change(kernel: Kernel, uri: str, operation: str = "undo", **more: Any) -> Any:
    """Undoes a change set, or does another operation, as a page does."""
    return kernel.ask("invokeChangesetOperation", channel=uri, operationId=operation, **more)


def notices(session: Session) -> list[str]:
    """Returns the notices of all turns."""
    parts = [part for turn in session.turns for part in (turn.snapshot.response_parts if turn.snapshot else ())]
    return [str(part.content) for part in parts if isinstance(part, SystemNotificationResponsePart)]
