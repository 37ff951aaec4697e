"""One model server for the tests of a module, and sessions of `agentnb local` with it."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb import Session
from agentnb.host import current_host
from tests.unit.host.conftest import until

SERVER = Path(__file__).parents[3] / "agents/model_server.py"


KEY = "sk-very-secret"
"""The API key that the server requires when it speaks as `keyed`."""


class Models:
    """The scripted model server."""

    def __init__(self, ports: dict[str, int]) -> None:
        self.ports = ports

    def url(self, kind: str) -> str:
        """Returns the base URL where it speaks as *kind*."""
        return f"http://127.0.0.1:{self.ports[kind]}/v1"

    def seen(self, text: str) -> list[dict[str, Any]]:
        """Returns the chat requests with *text* in their messages, in order."""
        return [each for each in self._get("/_seen") if text in json.dumps(each["messages"])]

    @property
    def looked_up(self) -> list[str]:
        """Returns the models whose abilities Ollama was asked for."""
        names: list[str] = self._get("/_shown")
        return names

    def pull_all(self) -> None:
        """Pulls again: Ollama's models get other digests."""
        self._get("/_pulled")

    def until_left(self) -> None:
        """Waits until a client has left in the middle of an answer."""
        self._get("/_left")

    def until_begun(self) -> None:
        """Waits until a completion begins that never ends."""
        self._get("/_begun")

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ports['bare']}{path}", timeout=120) as answer:
            return json.load(answer)


@pytest.fixture(scope="module")
def models() -> Iterator[Models]:
    """Runs the scripted model server in a process."""
    with subprocess.Popen([sys.executable, str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield Models(json.loads(process.stdout.readline()))
        process.communicate()


Chat = Callable[..., Session]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("work")


@pytest.fixture(scope="module")
def chat(models: Models, folder: Path) -> Iterator[Chat]:
    """Starts sessions with a model of the server; they share one agent process."""
    with ExitStack() as open_sessions:

        def begin(model: str = "", kind: str = "ollama", **options: Any) -> Session:
            variables = {"AGENTNB_LOCAL_PORTS": str(models.ports[kind])}
            session = agentnb.start("local", **{"cwd": folder, "env": variables, **options})
            open_sessions.callback(session.close)
            if model:
                session.set_option("model", model)
            return session

        yield begin


def until_listed(session: Session, is_so: Callable[[dict[str, str]], bool]) -> dict[str, str]:
    """Waits until the list of models fulfils the condition; returns each description, under an empty name its own."""
    descriptions: dict[str, str] = {}

    def look() -> bool:
        descriptions.clear()
        for option in session.state.config_options or ():
            choices: Any = option["options"]
            descriptions.update(
                {"": str(option["description"])} | {each["name"]: each["description"] for each in choices}
            )
        return is_so(descriptions)

    until(current_host(), session, look)
    return descriptions
