"""Sessions with scripted agents: described in the user's settings, or sending the requests that a test names."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import agentnb
from agentnb import PermissionRequest, Session, Turn
from tests.unit.api.conftest import AGENTS, PATIENCE, start  # noqa: F401 - the fixture is for these tests, too

_ID = re.compile(r'"(?:toolCallId|compactionId)": "')
Describe: TypeAlias = Callable[..., str]


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{json.dumps(key)} = {toml(each)}' for key, each in value.items())} }}"
    return json.dumps(value)


@pytest.fixture
def describe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Describe:
    """Describes ``tests/agents/SCRIPT.py`` in the user's settings; returns the agent's name."""
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path / "config"))

    def write(script: str, *words: str, **fields: Any) -> str:
        command = [sys.executable, str(AGENTS / f"{script}.py"), *words]
        values = {"name": script, "title": script, "command": command, **fields}
        file = tmp_path / f"config/agents/{values['name']}.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{key} = {toml(value)}\n" for key, value in values.items()), encoding="utf-8")
        return str(values["name"])

    return write


class Answer:
    """Gives each permission request the same answer, and keeps the requests."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.requests: list[PermissionRequest] = []

    def __call__(self, request: PermissionRequest) -> str:
        self.requests.append(request)
        return self.answer


class Works:
    """A session with the agent that sends the requests and updates of its prompt."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def turn(self, *requests: tuple[str, Any]) -> Turn:
        """Returns a turn with *requests*; their tool calls get ids that no turn before had."""
        number = len(self.session.turns)
        return self.session.prompt(_ID.sub(rf"\g<0>{number}-", json.dumps(requests))).wait(PATIENCE)

    def answers(self, *requests: tuple[str, Any]) -> list[Any]:
        """Returns the answers that the agent got, in its order."""
        return [json.loads(line) for line in self.turn(*requests).text.splitlines()]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of ``works``."""
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="module")
def shared_session(workspace: Path) -> Iterator[Session]:
    """One session for the tests of a module; its turns take no snapshots of the workspace, which take longest."""
    command = [sys.executable, str(AGENTS / "works.py")]
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AGENTNB_CHANGES", "off")
        with agentnb.start("works", command=command, cwd=workspace) as session:
            yield session


@pytest.fixture
def works(shared_session: Session, workspace: Path) -> Iterator[Works]:
    """The session, in an empty folder; it allows everything until a test changes that."""
    shared_session.permissions = "allow"
    yield Works(shared_session)
    for path in [*workspace.iterdir()]:
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
